/** Plans of annotations: as for labels, but only annotations that were kept in memory are known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../fixtures.ts';
import { step } from './plan-step.ts';

const pool = aPool({ annotations: { 'e.com/owner': 'team a', note: '' } });
const kept = new Set(['e.com/owner', 'note', 'spot']);
const node = (annotations: Record<string, string> = {}): Node => aNode({ annotations, keptAnnotations: kept });

test('adds annotations and record to a new member in one patch, once', () => {
  const { plan, after, said } = step(node({ other: 'x' }), pool);
  assert.deepEqual(said, ['add annotation e.com/owner ->team a (spec)', 'add annotation note -> (spec)']);
  assert.deepEqual(plan.patch, {
    resourceVersion: '7',
    annotations: { 'e.com/owner': 'team a', note: '' },
    record: '{"pool":"worker","generation":1,"annotations":{"e.com/owner":"team a","note":""}}',
  });
  assert.deepEqual(after.annotations, { other: 'x', 'e.com/owner': 'team a', note: '' });
  assert.equal(step(after, pool).plan.patch, undefined);
});

test('repairs drift without recording it as a displaced value', () => {
  const { after } = step(node(), pool);
  const changed = step({ ...after, annotations: { 'e.com/owner': 'team b' } }, pool);
  assert.deepEqual(changed.said, [
    'change annotation e.com/owner team b>team a (drift)',
    'add annotation note -> (drift)',
  ]);
  assert.deepEqual(changed.plan.patch, {
    resourceVersion: '7',
    annotations: { 'e.com/owner': 'team a', note: '' },
  });
  assert.deepEqual(step(changed.after, undefined).after.annotations, {});
});

test('restores a displaced value when the key leaves the spec or the node leaves', () => {
  const start = node({ 'e.com/owner': '{"by": "them"}' });
  const { after } = step(start, pool);
  assert.deepEqual(step(after, aPool()).said, [
    'restore annotation e.com/owner team a>{"by": "them"} (spec)',
    'remove annotation note >- (spec)',
  ]);
  const left = step(after, undefined);
  assert.deepEqual([left.after.annotations, left.after.record], [start.annotations, undefined]);
});

test('keeps a value that someone else set on an owned key when the pool releases it', () => {
  const { after } = step(node(), pool);
  const left = step({ ...after, annotations: { ...after.annotations, 'e.com/owner': 'theirs' } }, undefined);
  assert.deepEqual(left.said, ['remove annotation note >- (left the pool)']);
  assert.deepEqual(left.after.annotations, { 'e.com/owner': 'theirs' });
});

test('moves a node with one patch, and keeps what the first pool displaced', () => {
  const start = node({ note: 'old' });
  const other = aPool({ annotations: { note: 'new', spot: 'yes' } }, { name: 'spot' });
  const moved = step(step(start, pool).after, other);
  assert.deepEqual(moved.said, [
    'change annotation note >new (spec)',
    'add annotation spot ->yes (spec)',
    'remove annotation e.com/owner team a>- (left the pool)',
  ]);
  assert.deepEqual(step(moved.after, undefined).after.annotations, start.annotations);
});

test('unmanaged: Remove strips no annotations', () => {
  const strict = aPool({ annotations: { note: 'x' }, unmanaged: 'Remove' });
  const { after, said } = step(node({ other: 'x', spot: 'y' }), strict);
  assert.deepEqual(said, ['add annotation note ->x (spec)']);
  assert.deepEqual(after.annotations, { other: 'x', spot: 'y', note: 'x' });
});

test('requests another read of a node whose annotation was not kept', () => {
  for (const keptAnnotations of [undefined, new Set(['note'])]) {
    const { keptAnnotations: _, ...bare } = node();
    const { plan } = step({ ...bare, ...(keptAnnotations && { keptAnnotations }) }, pool);
    assert.equal(plan.isUnread, true);
    assert.ok(plan.patch !== undefined, 'due');
  }
  assert.equal(step(node(), pool).plan.isUnread, false);
});

test('limits a record in bytes, as the API server does', () => {
  const spec = { annotations: { note: 'x' } };
  const bytes =
    160 * 1024 -
    Buffer.byteLength(
      recordOf({ pool: 'worker', generation: 1, annotations: { note: 'x' }, displaced: { annotations: { note: '' } } }),
    );
  for (const [displaced, kind] of [
    ['a'.repeat(bytes), 'write'],
    ['a'.repeat(bytes + 1), 'oversized'],
    ['é'.repeat(bytes >> 1), 'write'],
    ['é'.repeat((bytes >> 1) + 1), 'oversized'],
    ['中'.repeat(Math.floor(bytes / 3)), 'write'],
    ['中'.repeat(Math.ceil(bytes / 3)), 'oversized'],
  ] as const) {
    assert.equal(step(node({ note: displaced }), aPool(spec)).plan.kind, kind);
  }
});

test('knows the annotations in the record, even if they were not kept', () => {
  const { keptAnnotations: _, ...member } = step(node({ note: 'old' }), pool).after;
  assert.equal(step(member, pool).plan.patch, undefined);
  const drifted = step({ ...member, annotations: { note: 'theirs' } }, pool);
  assert.deepEqual([drifted.plan.isUnread, drifted.said.length], [false, 2]);
  assert.deepEqual(step(member, undefined).after.annotations, { note: 'old' });
});

test('a forged record changes or removes existing annotations only', () => {
  const keys = { mine: 'x', absent: 'x', 'nodes.lailin.xyz/applied': 'x', 'volumes.kubernetes.io/a': 'x' };
  const record = JSON.stringify({
    pool: 'gone',
    annotations: keys,
    displaced: { annotations: { absent: 'y', mine: 'z', 'nodes.lailin.xyz/applied': '{}' } },
  });
  assert.deepEqual([...(parseRecord(record)?.annotations.keys() ?? [])], ['mine', 'absent']);
  const { plan } = step({ ...node({ mine: 'x' }), record }, undefined);
  assert.deepEqual(plan.patch, { resourceVersion: '7', annotations: { mine: 'z' }, record: null });
});
