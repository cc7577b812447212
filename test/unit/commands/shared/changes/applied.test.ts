import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliedPool } from '../../../../../src/commands/shared/changes/applied.ts';
import { LAST_APPLIED } from '../../../../../src/nodepool/spec/annotations.ts';
import type { NodePool, NodePoolSpec, Taint } from '../../../../../src/nodepool/types.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

const gold: Taint = { key: 'tier', value: 'gold', effect: 'NoSchedule' };
const mine: Taint = { key: 'mine', effect: 'NoExecute' };

const declare = (spec: NodePoolSpec, metadata: Partial<NodePool['metadata']> = {}) => ({
  pool: { ...aPool(spec), metadata: { name: 'web', ...metadata } },
  source: 'web.yaml:1',
});
const live = (spec: NodePoolSpec, metadata: object = {}) => aPool(spec, { name: 'web', uid: 'u', ...metadata });
const appliedBy = (file: object) => ({ annotations: { [LAST_APPLIED]: JSON.stringify(file) } });
const ownedBy = (fields: object, operation = 'Apply') => ({
  managedFields: [{ manager: 'flux', operation, fieldsV1: fields }],
});

test('a new pool has the content of its file, and is younger than all others', () => {
  const { pool, isNew, changes } = appliedPool(
    declare({ labels: { a: 'b' }, taints: [gold] }, { labels: { t: 'x' } }),
    undefined,
  );
  assert.deepEqual([isNew, pool.metadata.creationTimestamp], [true, '9999-12-31T23:59:59Z']);
  assert.deepEqual(changes, [
    { path: 'metadata.labels[t]', from: undefined, to: 'x' },
    { path: 'spec.labels[a]', from: undefined, to: 'b' },
    { path: 'spec.taints[tier:NoSchedule]', from: undefined, to: 'gold' },
  ]);
});

test('removes what an earlier apply set and the file no longer has, in spec and metadata', () => {
  const before = { labels: { a: '1', b: '2', edited: 'x' }, taints: [gold], handler: 'runc' };
  const file = {
    metadata: { labels: { team: 'a' } },
    spec: { labels: { a: '1', b: '2' }, taints: [gold], handler: 'runc' },
  };
  const wanted = declare({ labels: { a: '3' } });
  const clientSide = live(before, { labels: { team: 'a', foreign: 'y' }, ...appliedBy(file) });
  const serverSide = live(before, {
    labels: { team: 'a', foreign: 'y' },
    ...ownedBy({
      'f:metadata': { 'f:labels': { 'f:team': {} } },
      'f:spec': {
        'f:labels': { 'f:a': {}, 'f:b': {} },
        'f:taints': { 'k:{"effect":"NoSchedule","key":"tier"}': { '.': {} } },
        'f:handler': {},
      },
    }),
  });
  for (const pool of [clientSide, serverSide]) {
    const { pool: after, changes, kept } = appliedPool(wanted, pool);
    assert.deepEqual(after.spec, { labels: { a: '3', edited: 'x' } });
    // Client-side apply removes a map as a whole.
    assert.deepEqual(after.metadata.labels, pool === serverSide ? { foreign: 'y' } : undefined);
    assert.equal(after.metadata.uid, 'u');
    assert.deepEqual(kept, ['spec.labels[edited]']);
    assert.deepEqual(
      changes.map(({ path, from, to }) => [path, from, to]),
      [
        ...(pool === serverSide ? [] : [['metadata.labels[foreign]', 'y', undefined]]),
        ['metadata.labels[team]', 'a', undefined],
        ['spec.handler', 'runc', undefined],
        ['spec.labels[a]', '1', '3'],
        ['spec.labels[b]', '2', undefined],
        ['spec.taints[tier:NoSchedule]', 'gold', undefined],
      ],
    );
  }
});

test('keeps and names what the file lacks if the pool was not created by apply', () => {
  const created = live(
    { labels: { a: '1', b: '2' }, taints: [gold] },
    ownedBy({ 'f:spec': { 'f:labels': { 'f:b': {} } } }, 'Update'),
  );
  const { pool, changes, kept } = appliedPool(declare({ labels: { a: '1' } }), created);
  assert.deepEqual(pool.spec, { labels: { a: '1', b: '2' }, taints: [gold] });
  assert.deepEqual([changes, kept], [[], ['spec.labels[b]', 'spec.taints[tier:NoSchedule]']]);
});

test('client-side apply replaces a list, server-side apply keeps the taints of others', () => {
  const wanted = declare({ taints: [gold] });
  const taints = { taints: [mine, { ...gold, value: 'old' }] };
  const client = appliedPool(wanted, live(taints, appliedBy({ spec: { taints: [gold] } })));
  assert.deepEqual(client.pool.spec.taints, [gold]);
  const owned = ownedBy({ 'f:spec': { 'f:taints': { 'k:{"effect":"NoSchedule","key":"tier"}': { '.': {} } } } });
  assert.deepEqual(appliedPool(wanted, live(taints, owned)).pool.spec.taints, [gold, mine]);
  const expressions = [{ key: 'a', operator: 'Exists' as const }];
  const atomic = ownedBy({ 'f:spec': { 'f:matchExpressions': {} } });
  assert.deepEqual(appliedPool(declare({}), live({ matchExpressions: expressions }, atomic)).pool.spec, {});
});

test('a file that equals the pool changes nothing, with or without the apply annotation', () => {
  const spec = { labels: { a: '1' }, taints: [gold] };
  const annotations = { [LAST_APPLIED]: JSON.stringify({ metadata: { annotations: {} }, spec }), foreign: 'x' };
  for (const metadata of [{}, { annotations }]) {
    const { isNew, changes, kept } = appliedPool(declare(spec, metadata), live(spec, { annotations }));
    assert.deepEqual([isNew, changes, kept], [false, [], []]);
  }
});

test('values of the file replace unreadable values', () => {
  const unreadable = [
    { field: 'spec.taints[0].key', message: 'x' },
    { field: 'spec.handler', message: 'x' },
  ];
  const { pool } = appliedPool(declare({ taints: [gold] }), { ...live({}), unreadable });
  assert.deepEqual(pool.unreadable, [unreadable[1]]);
});

test('keeps and names what another field manager has set', () => {
  const owner = (manager: string, fields: object, operation = 'Apply') => ({
    manager,
    operation,
    fieldsV1: { 'f:spec': fields },
  });
  const spec = { labels: { a: '1', b: '2', x: '3' }, taints: [gold, mine], handler: 'runc' };
  const argo = owner('argocd-controller', {
    'f:labels': { 'f:a': {}, 'f:b': {} },
    'f:taints': { 'k:{"effect":"NoSchedule","key":"tier"}': {} },
    'f:handler': {},
  });
  const team = owner('team', {
    'f:labels': { 'f:x': {} },
    'f:taints': { 'k:{"effect":"NoExecute","key":"mine"}': {} },
  });
  const result = (file: NodePoolSpec, ...managedFields: object[]) => {
    const { changes, kept } = appliedPool(declare(file), live(spec, { managedFields }));
    return [changes.flatMap(({ path, to }) => (to === undefined ? path : [])), kept];
  };
  const theirs = ['spec.labels[x]', 'spec.taints[mine:NoExecute]'];
  for (const owners of [
    [argo, team],
    [team, argo],
  ]) {
    assert.deepEqual(result({ labels: { a: '1' }, taints: [gold] }, ...owners), [
      ['spec.handler', 'spec.labels[b]'],
      theirs,
    ]);
    assert.deepEqual(result({ taints: [gold] }, ...owners), [
      ['spec.handler', 'spec.labels[a]', 'spec.labels[b]'],
      theirs,
    ]);
  }
  // Shared with a create: nobody removes it alone.
  const created = owner('kubectl-create', { 'f:labels': { 'f:b': {} }, 'f:handler': {} }, 'Update');
  assert.deepEqual(result({ labels: { a: '1' }, taints: [gold] }, argo, team, created), [
    [],
    ['spec.handler', 'spec.labels[b]', ...theirs],
  ]);
  // A file that nobody has applied yet.
  assert.deepEqual(result({ labels: { a: '1' } }, team), [
    [],
    ['spec.handler', 'spec.labels[b]', 'spec.labels[x]', 'spec.taints[mine:NoExecute]', 'spec.taints[tier:NoSchedule]'],
  ]);
});
