/** manifests/born-in-pool.yaml gives nodes the slots of their pool as they register, and reconcile takes them over. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply, BIRTH_RECORD, inForce, markOf, OLDER_AND_YOUNGER, POLICY, RECORD, recordOf } from './birth.ts';
import { GROUP, TAINT } from './kubelet.ts';
import { condition, type LiveNode, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const { cluster } = testEnv;
const applyAll = () => apply(cluster(), POLICY, 'manifests/protect-records.yaml', 'manifests/protect-membership.yaml');
const select = (group: string) => ({ nodeSelector: { [GROUP]: group } });
const without = async () => {
  await raw(cluster()).expect(
    'DELETE',
    '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/born-in-pool.nodes.lailin.xyz',
  );
};

const SPEC: NodePoolSpec = {
  ...select('one'),
  labels: { tier: 'gold', 'example.com/a.b': '' },
  taints: [TAINT, { key: 'bare', effect: 'PreferNoSchedule' }],
  annotations: { note: 'a "quoted" \\ line\nnext\ttab ü {"labels":{"x":"y"}}', 'example.com/Upper': '', empty: '' },
};

test('a node registers complete, keeps its own settings, and reconcile writes only the record', {
  skip,
}, async () => {
  await applyAll();
  await testEnv.pool('one', SPEC);
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const own = {
    labels: { [GROUP]: 'one', tier: 'mine' },
    annotations: { empty: 'not' },
    taints: [
      { ...TAINT, value: 'mine' },
      { key: 'other', effect: 'NoExecute' },
    ] as const,
  };
  await testEnv.nodes({ name: 'a', labels: { [GROUP]: 'one' } }, { name: 'b', ...own }, { name: 'c' });
  const [a, b, c] = [await testEnv.node('a'), await testEnv.node('b'), await testEnv.node('c')];
  assert.deepEqual([a.metadata.labels.tier, a.metadata.labels['example.com/a.b']], ['gold', '']);
  for (const [key, value] of Object.entries(SPEC.annotations ?? {})) assert.equal(a.metadata.annotations?.[key], value);
  assert.deepEqual(taintsOf(a), ['dedicated=pci:NoSchedule', 'bare:PreferNoSchedule']);
  assert.deepEqual([b.metadata.labels.tier, b.metadata.annotations?.empty], ['mine', 'not']);
  assert.deepEqual(taintsOf(b), ['dedicated=mine:NoSchedule', 'other:NoExecute', 'bare:PreferNoSchedule']);
  assert.deepEqual([BIRTH_RECORD in (c.metadata.annotations ?? {}), taintsOf(c)], [false, []]);

  const [summary] = await testEnv.reconcile();
  assert.equal(summary?.outcome?.status?.status, 200);
  const [joined] = (await testEnv.events('one')).filter(({ reason }) => reason === 'NodeJoined');
  assert.match(joined?.note ?? '', /\ba\b.*\bb\b/, 'both join');
  const reconciled = await testEnv.node('a');
  const [{ [RECORD]: _record, ...after }, { [BIRTH_RECORD]: _mark, ...before }] = [
    reconciled.metadata.annotations ?? {},
    a.metadata.annotations ?? {},
  ];
  assert.deepEqual(
    [after, reconciled.metadata.labels, reconciled.spec.taints],
    [before, a.metadata.labels, a.spec.taints],
  );
  const records = [recordOf(reconciled), recordOf(await testEnv.node('b'))];
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.resourceVersion, reconciled.metadata.resourceVersion);

  // The record is that of a node that did not register into the pool.
  await without();
  await raw(cluster()).deleteAll('/api/v1/nodes');
  await gone();
  await testEnv.nodes({ name: 'a', labels: { [GROUP]: 'one' } }, { name: 'b', ...own });
  await testEnv.reconcile();
  assert.deepEqual([recordOf(await testEnv.node('a')), recordOf(await testEnv.node('b'))], records);
});

/** Resolves once the server no longer evaluates the policy. */
async function gone(): Promise<void> {
  const body = nodeObject({ name: 'probe', labels: { [GROUP]: 'one' } });
  for (;;) {
    const born = (await raw(cluster()).expect('POST', '/api/v1/nodes?dryRun=All', body)) as LiveNode;
    if (markOf(born) === undefined) return;
  }
}

test('removes with the pool what it set at birth, and restores what was there before', {
  skip,
}, async () => {
  await applyAll();
  await testEnv.pool('one', SPEC);
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const names = ['deleted', 'left', 'edited', 'changed', 'reconciled'];
  await testEnv.nodes(
    ...names.map(name => ({ name, labels: { [GROUP]: 'one', theirs: 'x' }, annotations: { empty: 'theirs' } })),
  );
  const clean = async (name: string, more: { labels?: object; taints?: string[] } = {}) => {
    const { metadata, spec } = await testEnv.node(name);
    const [{ tier, theirs }, { note, empty, [BIRTH_RECORD]: birthRecord, [RECORD]: record }] = [
      metadata.labels,
      metadata.annotations ?? {},
    ];
    assert.deepEqual(
      [{ tier, theirs }, note, empty, birthRecord, record, taintsOf({ metadata, spec })],
      [{ tier: undefined, theirs: 'x', ...more.labels }, undefined, 'theirs', undefined, undefined, more.taints ?? []],
      name,
    );
  };
  // The node leaves before any reconcile.
  await testEnv.patchNode('left', { metadata: { labels: { [GROUP]: null } } });
  // Somebody changes what was given: theirs from now on.
  await testEnv.patchNode('changed', {
    metadata: { labels: { tier: 'theirs', [GROUP]: null } },
    spec: { taints: [{ ...TAINT, value: 'theirs' }] },
  });
  const { items } = (await raw(cluster()).expect('GET', '/api/v1/nodes')) as { items: LiveNode[] };
  assert.equal(items.filter(node => markOf(node) !== undefined).length, names.length);
  await testEnv.reconcile();
  await clean('left');
  await clean('changed', { labels: { tier: 'theirs' }, taints: ['dedicated=theirs:NoSchedule'] });
  // The spec changes between birth and first reconcile: what left it goes, what changed is changed.
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/edited');
  await testEnv.nodes({ name: 'edited', labels: { [GROUP]: 'one', theirs: 'x' }, annotations: { empty: 'theirs' } });
  await testEnv.edit('one', { spec: { labels: { tier: 'silver', 'example.com/a.b': null }, taints: [TAINT] } });
  await testEnv.reconcile();
  const edited = await testEnv.node('edited');
  assert.deepEqual(
    [edited.metadata.labels.tier, 'example.com/a.b' in edited.metadata.labels, taintsOf(edited)],
    ['silver', false, ['dedicated=pci:NoSchedule']],
  );
  assert.equal(JSON.stringify(recordOf(edited)).includes('gold'), false);

  await raw(cluster()).expect('DELETE', '/api/v1/nodes/deleted');
  await testEnv.nodes({ name: 'deleted', labels: { [GROUP]: 'one', theirs: 'x' }, annotations: { empty: 'theirs' } });
  assert.ok(markOf(await testEnv.node('deleted')));
  await testEnv.delete(['one']);
  for (const name of ['deleted', 'edited', 'reconciled']) await clean(name);
});

test('the older pool gets the node in any order of evaluation, without settings of the younger', {
  skip,
}, async () => {
  await applyAll();
  // The order of evaluation is the server's: with both orders of names, one of the two is evaluated last.
  const spec = (value: string): NodePoolSpec => ({
    ...select('both'),
    labels: { shared: value, [`only-${value}`]: '' },
    taints: [
      { key: 'shared', value, effect: 'NoSchedule' },
      { key: `only-${value}`, effect: 'NoExecute' },
    ],
    annotations: { shared: value, [`only-${value}`]: value },
  });
  for (const [older, younger] of OLDER_AND_YOUNGER) {
    await testEnv.clean();
    await testEnv.pool(older, spec(older));
    await testEnv.pool(younger, spec(younger), { younger: true });
    await testEnv.pool('later', { nodeSelector: { shared: older }, labels: { 'only-later': '' } }, { younger: true });
    await inForce(testEnv, older, { [GROUP]: 'both' });
    await inForce(testEnv, 'later', { shared: older });
    await testEnv.nodes({ name: 'n', labels: { [GROUP]: 'both' } });
    const node = await testEnv.node('n');
    assert.equal(markOf(node)?.pool, older);
    assert.deepEqual(
      Object.keys(node.metadata.labels).filter(key => /shared|only/.test(key)),
      [`only-${older}`, 'shared'],
    );
    assert.deepEqual(taintsOf(node), [`shared=${older}:NoSchedule`, `only-${older}:NoExecute`]);
    const { [BIRTH_RECORD]: _mark, ...annotations } = node.metadata.annotations ?? {};
    assert.deepEqual(
      Object.keys(annotations).filter(key => /shared|only/.test(key)),
      [`only-${older}`, 'shared'],
    );
    await testEnv.reconcile();
    const after = await testEnv.node('n');
    assert.deepEqual([after.metadata.labels, after.spec], [node.metadata.labels, node.spec]);
    assert.equal((recordOf(after) as { pool: string }).pool, older);
    assert.match(condition(await testEnv.getPool(younger), 'Conflict').message, new RegExp(`n .*${older}`));
  }
});
