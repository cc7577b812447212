import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoolIndex } from '../../../../src/nodepool/membership/membership.ts';
import { FINALIZER, TAKEOVER_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { both, gpu, ownership, worker } from './two-pools.ts';

test('the default selector is the role label with an empty value', () => {
  const index = [worker];
  assert.equal(ownership(index, aNode({ labels: { 'node-role.kubernetes.io/worker': '' } })).owner, 'worker');
  assert.equal(ownership(index, aNode({ labels: { 'node-role.kubernetes.io/worker': 'true' } })).owner, undefined);
  assert.equal(ownership(index, aNode({ labels: { 'node-role.kubernetes.io/workers': '' } })).owner, undefined);
});

test('every pair of a selector must match; an empty selector matches nothing', () => {
  const pool = aPool({ nodeSelector: { a: '1', b: '2' } });
  assert.equal(ownership([pool], aNode({ labels: { a: '1' } })).owner, undefined);
  assert.equal(ownership([pool], aNode({ labels: { b: '2', a: '1' } })).owner, 'worker');
  assert.equal(ownership([aPool({ nodeSelector: {} })], aNode({ labels: { a: '1' } })).owner, undefined);
});

test('a pool with an unreadable selector keeps its nodes, and gets no others', () => {
  const unknown = (field: string) => ({ ...worker, unreadable: [{ field, message: 'wrong' }] });
  const labels = { 'node-role.kubernetes.io/worker': '', gpu: 'yes' };
  const held = aNode({ labels: { gpu: 'yes' }, record: recordOf({ pool: 'worker' }) });
  for (const field of ['spec', 'spec.nodeSelector', 'spec.nodeSelector[a]']) {
    assert.deepEqual(ownership([unknown(field)], aNode({ labels })), { owner: undefined, conflicting: [] }, field);
    assert.deepEqual(ownership([unknown(field), gpu], held), { owner: 'worker', conflicting: ['gpu'] }, field);
  }
  const deleted = { ...unknown('spec'), metadata: { ...worker.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  assert.deepEqual(ownership([deleted], held), { owner: undefined, conflicting: [] });
  // Other invalid fields leave the selector readable.
  assert.deepEqual(ownership([unknown('spec.taints')], held), { owner: undefined, conflicting: [] });
});

test('the older pool gets the node, in any order of the list', () => {
  for (const pools of [
    [worker, gpu],
    [gpu, worker],
  ]) {
    assert.deepEqual(ownership(pools, aNode({ labels: both })), { owner: 'gpu', conflicting: ['worker'] });
  }
});

test('of two pools of the same age, the smaller name gets the node', () => {
  const b = aPool({ nodeSelector: { x: '' } }, { name: 'b' });
  const a = aPool({ nodeSelector: { x: '' } }, { name: 'a' });
  assert.deepEqual(ownership([b, a], aNode({ labels: { x: '' } })), { owner: 'a', conflicting: ['b'] });
});

test("the pool in the node's record keeps the node against an older pool", () => {
  const node = aNode({ labels: both, record: recordOf({ pool: 'worker' }) });
  assert.deepEqual(ownership([worker, gpu], node), { owner: 'worker', conflicting: ['gpu'] });
});

test('the pool in the record loses a node that no longer matches', () => {
  const node = aNode({ labels: { gpu: 'yes' }, record: recordOf({ pool: 'worker' }) });
  assert.deepEqual(ownership([worker, gpu], node), { owner: 'gpu', conflicting: [] });
});

test('a pool that is being deleted neither keeps nor gets nodes, and causes no conflict', () => {
  const dying = { ...gpu, metadata: { ...gpu.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  const node = aNode({ labels: both, record: recordOf({ pool: 'gpu' }) });
  assert.deepEqual(ownership([worker, dying], node), { owner: 'worker', conflicting: [] });
});

test('a pool with an invalid spec keeps its nodes, and gets no others', () => {
  const broken = { ...gpu, spec: { ...gpu.spec, labels: { 'bad key!': 'x' } } };
  assert.deepEqual(ownership([worker, broken], aNode({ labels: both })), { owner: 'worker', conflicting: [] });
  const held = aNode({ labels: both, record: recordOf({ pool: 'gpu' }) });
  assert.deepEqual(ownership([worker, broken], held), { owner: 'gpu', conflicting: ['worker'] });
});

test('a pool with an invalid selector keeps its nodes, and gets no others', () => {
  const meets = (operator: string, ...values: string[]) => ({ matchExpressions: [{ key: 'size', operator, values }] });
  for (const spec of [
    meets('Gt', '4Gi'),
    meets('In'),
    meets('Exists', 'x'),
    meets('Near', '4'),
    { matchExpressions: [] },
    { nodeSelector: {} },
    { nodeSelector: { 'a b': 'x' } },
    { nodeSelector: { size: '8' }, matchExpressions: [] },
  ]) {
    const broken = aPool(spec, { name: 'big' });
    const labels = { size: '8' };
    const held = aNode({ labels, record: recordOf({ pool: 'big' }) });
    const text = JSON.stringify(spec);
    assert.deepEqual(ownership([broken], held), { owner: 'big', conflicting: [] }, text);
    assert.deepEqual(ownership([broken], { ...held, labels: {} }), { owner: 'big', conflicting: [] }, text);
    assert.deepEqual(ownership([broken], aNode({ labels })), { owner: undefined, conflicting: [] }, text);
    const dying = { ...broken, metadata: { ...broken.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
    assert.equal(ownership([dying], held).owner, undefined, text);
  }
});

test('an inherited pool owns labels and taints that equal its spec', () => {
  const inherited = aPool(
    { labels: { tier: 'gold', team: 'a' }, taints: [taint('dedicated=x:NoSchedule')] },
    { finalizers: [FINALIZER], status: { status: 200, nodeCount: 1 } },
  );
  const labels = { 'node-role.kubernetes.io/worker': '', tier: 'gold', team: 'b' };
  const node = aNode({ labels, taints: [taint('dedicated=x:NoSchedule')] });
  const { record } = new PoolIndex([inherited]).ownership(node);
  assert.deepEqual([...(record?.labels ?? [])], [['tier', { value: 'gold' }]]);
  assert.deepEqual([...(record?.taints ?? [])], [['dedicated:NoSchedule', { value: 'x' }]]);

  const ours = { ...inherited, status: { status: 200, nodeCount: 1, observedGeneration: 1 } };
  assert.equal(new PoolIndex([ours]).ownership(node).record, undefined);
  const marked = (takeover: string) => {
    return { ...inherited, metadata: { ...inherited.metadata, annotations: { [TAKEOVER_ANNOTATION]: takeover } } };
  };
  const recorded = [node, aNode({ name: 'b', labels, record: recordOf({ pool: 'worker' }) })];
  assert.equal(new PoolIndex([marked('finished')]).ownership(node).record, undefined);
  assert.equal(
    new PoolIndex([inherited], recorded).ownership(node).record,
    undefined,
    'one with records has all it held',
  );
  assert.ok(new PoolIndex([marked('started')], recorded).ownership(node).record, 'unless it was stopped half-way');
});
