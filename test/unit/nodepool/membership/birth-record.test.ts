/** What a node got when it registered counts as applied by its pool, until the first write replaces the birth record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { birthRecordIn, recordIn } from '../../../../src/nodepool/membership/birth-record.ts';
import { PoolIndex } from '../../../../src/nodepool/membership/membership.ts';
import { formatRecord } from '../../../../src/nodepool/plan/record.ts';
import {
  BORN_ANNOTATION,
  FINALIZER,
  type Node,
  type NodePool,
  RECORD_ANNOTATION,
} from '../../../../src/nodepool/types.ts';
import { aNode, aPool, taint } from '../fixtures.ts';
import { YOUNG } from '../plan/plan-step.ts';
import { planMerge } from '../plan/plan-view.ts';

const SPEC = {
  nodeSelector: { group: 'a' },
  labels: { tier: 'gold', kept: 'x' },
  taints: [taint('dedicated=a:NoSchedule')],
  annotations: { note: 'n' },
};
const KEPT = { keptAnnotations: new Set(['note']) };
const BIRTH = {
  pool: 'worker',
  since: '2026-01-01T00:00:00Z worker',
  labels: { tier: 'gold' },
  taints: { 'dedicated:NoSchedule': 'a' },
  annotations: { note: 'n' },
};

/** Registered with the label kept=x, which the pool has too. */
function born(node: Partial<Node> = {}, birth: object = BIRTH): Node {
  return aNode({
    labels: { group: 'a', kept: 'x', tier: 'gold' },
    taints: [taint('dedicated=a:NoSchedule')],
    annotations: { note: 'n' },
    ...KEPT,
    record: JSON.stringify(birth),
    birthRecord: 'record',
    ...node,
  });
}

function plan(node: Node, ...pools: NodePool[]) {
  const index = new PoolIndex(pools, [node]);
  const { record, owner } = index.ownership(node);
  return planMerge(
    node,
    record,
    pools.find(({ metadata }) => metadata.name === owner),
    [],
    false,
    {},
    YOUNG,
  );
}

const bare = aNode({ labels: { group: 'a', kept: 'x' }, ...KEPT });

test('the first write of a node with a birth record replaces it by the usual record', () => {
  const { changes, patch, previous, owner } = plan(born(), aPool(SPEC));
  const expected = plan(bare, aPool(SPEC)).patch?.record;
  assert.deepEqual(changes, []);
  assert.deepEqual(patch, { resourceVersion: '7', record: expected, dropsBirthRecord: true });
  assert.match(expected ?? '', /"displaced":\{"labels":\{"kept":"x"\}\}/);
  assert.deepEqual([previous, owner], [undefined, 'worker'], 'it joins');
});

test('treats a key that changed after birth as set by somebody else, and displaces its value', () => {
  const node = born({ labels: { group: 'a', kept: 'x', tier: 'theirs' }, taints: [taint('dedicated=b:NoSchedule')] });
  const { patch } = plan(node, aPool(SPEC));
  const { birthRecord: _birthRecord, record: _record, annotations: _annotations, ...same } = node;
  const expected = plan({ ...same, annotations: {} }, aPool(SPEC)).patch;
  assert.deepEqual(
    [patch?.labels, patch?.taints, patch?.record],
    [expected?.labels, expected?.taints, expected?.record],
  );
});

test('removes keys that left the spec after birth, and keeps what the node had before', () => {
  const { patch } = plan(born(), aPool({ nodeSelector: { group: 'a' }, labels: { kept: 'y' } }));
  assert.deepEqual(patch?.labels, { kept: 'y', tier: null });
  assert.deepEqual([patch?.taints, patch?.annotations], [[], { note: null }]);
  assert.match(patch?.record ?? '', /"displaced":\{"labels":\{"kept":"x"\}\}/);
});

test('keeps a startup taint of the birth until it is lifted, and does not set it again', () => {
  const startup = { ...taint('init:NoSchedule'), until: { nodeCondition: 'AgentReady' } };
  const pool = aPool({ ...SPEC, startupTaints: [startup] });
  const birth = { ...BIRTH, startup: { 'init:NoSchedule': '' } };
  const dedicated = taint('dedicated=a:NoSchedule');
  const node = born({ taints: [dedicated, taint('init:NoSchedule')] }, birth);
  const held = plan(node, pool).patch;
  assert.equal(held?.taints, undefined);
  assert.match(held?.record ?? '', /"startup":\{"init:NoSchedule":""\}/);
  const lifted = plan({ ...node, conditions: ['AgentReady'] }, pool).patch;
  const removed = plan({ ...node, taints: [dedicated] }, pool).patch;
  assert.deepEqual([lifted?.taints, removed?.taints], [[dedicated], undefined]);
  for (const { record } of [lifted, removed].flatMap(patch => patch ?? [])) {
    assert.match(record ?? '', /"startup":\{"init:NoSchedule":null\}/);
  }
  const given = plan({ ...node, labels: {} }, pool).patch;
  assert.deepEqual([given?.taints, given?.record], [[], null]);
});

test('a node that leaves before the first reconcile loses what its birth record set', () => {
  for (const pools of [[], [aPool({ ...SPEC, nodeSelector: { group: 'b' } })]]) {
    const { patch, previous } = plan(born(), ...pools);
    assert.deepEqual(patch?.labels, { tier: null });
    assert.deepEqual([patch?.taints, patch?.annotations], [[], { note: null }]);
    assert.deepEqual([patch?.record, patch?.dropsBirthRecord, previous], [null, true, 'worker']);
  }
});

test('another pool that takes the node records no displaced values from the birth record', () => {
  const other = aPool({ ...SPEC, labels: { tier: 'silver' } }, { name: 'other' });
  const { patch } = plan(born(), other);
  assert.deepEqual(patch?.labels, { tier: 'silver' });
  assert.equal(patch?.record?.includes('displaced'), false);
});

test('the pool in the birth record keeps the node against an older pool', () => {
  const older = aPool(SPEC, { name: 'older', creationTimestamp: '2020-01-01T00:00:00Z' });
  const index = new PoolIndex([older, aPool(SPEC)], []);
  assert.deepEqual(index.ownership(born()).owner, 'worker');
  assert.deepEqual(index.ownership(bare).owner, 'older');
});

test('a forged birth record claims only keys that are on the node, and adds none', () => {
  const forged = {
    pool: 'worker',
    labels: { absent: 'x', kept: 'y', __proto__: 'x', constructor: 'x', 'not valid': 'x', gone: null },
    taints: { 'dedicated:NoSchedule': 'other', 'none:NoExecute': '' },
    annotations: { [RECORD_ANNOTATION]: 'x', [BORN_ANNOTATION]: 'x' },
    displaced: {
      labels: { kept: 'forged', 'node-role.kubernetes.io/admin': '' },
      taints: { 'dedicated:NoSchedule': 'z' },
    },
  };
  const { patch } = plan(born({}, forged));
  assert.deepEqual(patch, { resourceVersion: '7', record: null, dropsBirthRecord: true });
});

test('ignores an unreadable birth record, and removes it with the first write', () => {
  for (const record of ['', '{', '[]', '{"pool":3}', 'x'.repeat(200_000)]) {
    const node = born({ record });
    const { patch } = plan(node, aPool(SPEC));
    const displaced = '"displaced":{"labels":{"kept":"x","tier":"gold"},"taints":{"dedicated:NoSchedule":"a"}';
    assert.ok(patch?.record?.includes(displaced), patch?.record ?? '');
    assert.equal(patch?.dropsBirthRecord, true);
    assert.equal(plan(node).patch, undefined);
  }
});

test('ignores a birth record without a pool: the node joins with startup taints', () => {
  const annotations = { [BORN_ANNOTATION]: '{"since":"2026-01-01T00:00:00Z older","labels":{}}' };
  assert.deepEqual([recordIn(annotations), birthRecordIn(annotations)], [undefined, { birthRecord: 'unused' }]);
  const node: Node = { ...bare, ...birthRecordIn(annotations) };
  const pool = aPool({ ...SPEC, startupTaints: [taint('init:NoSchedule')] });
  const expected = plan(bare, pool).patch;
  assert.ok(expected?.taints?.some(({ key }) => key === 'init'));
  assert.deepEqual(plan(node, pool).patch, { ...expected, dropsBirthRecord: true });
  assert.equal(plan(node).patch, undefined);
});

test('ignores a birth record beside a record, and removes it with the next record write', () => {
  const record = formatRecord(new PoolIndex([aPool(SPEC)], []).ownership(born()).record ?? assert.fail('no record'));
  assert.deepEqual(birthRecordIn({ [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: 'x' }), { birthRecord: 'unused' });
  assert.equal(recordIn({ [RECORD_ANNOTATION]: record, [BORN_ANNOTATION]: 'x' }), record);
  const node = born({ record, birthRecord: 'unused', labels: { group: 'a', tier: 'gold' } });
  const { patch } = plan(node, aPool(SPEC));
  assert.deepEqual([patch?.labels, patch?.dropsBirthRecord], [{ kept: 'x' }, true]);
});

test('prefers a birth record to an empty record, which is valid on its own', () => {
  const [empty, birth] = [{ [RECORD_ANNOTATION]: '' }, '{"pool":"worker","labels":{}}'];
  assert.equal(recordIn({ ...empty, [BORN_ANNOTATION]: birth }), birth);
  assert.deepEqual(birthRecordIn({ ...empty, [BORN_ANNOTATION]: birth }), { birthRecord: 'record' });
  for (const waiting of [{}, { [BORN_ANNOTATION]: '{"since":"2026-01-01T00:00:00Z older"}' }]) {
    assert.equal(recordIn({ ...empty, ...waiting }), '');
  }
});

test('a birth record does not mark an inherited pool as reconciled', () => {
  const inherited = aPool(SPEC, { finalizers: [FINALIZER], status: { status: 200, nodeCount: 1 } });
  assert.equal(new PoolIndex([inherited], [born()]).isInherited('worker'), true);
  assert.equal(new PoolIndex([inherited], [born({ birthRecord: 'unused' })]).isInherited('worker'), false);
});
