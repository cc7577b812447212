/** The index of pools: inheritance, age, shared labels, and its other queries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoolIndex, sameOwnership } from '../../../../src/nodepool/membership/membership.ts';
import { FINALIZER, TAKEOVER_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { both, gpu, ownership, worker } from './two-pools.ts';

test('an inherited pool owns taints with its value; a missing value equals the empty one', () => {
  const status = { status: 200, nodeCount: 1 };
  const taints = ['a=1:NoSchedule', 'b=1:NoSchedule', 'c:NoExecute', 'd=1:NoExecute', 'e:NoExecute'].map(taint);
  const inherited = aPool({ taints }, { finalizers: [FINALIZER], status });
  const labels = { 'node-role.kubernetes.io/worker': '' };
  const live = [
    taint('a=1:NoSchedule'),
    taint('b=2:NoSchedule'),
    { ...taint('c:NoExecute'), value: '' },
    taint('e:NoExecute'),
  ];
  const { record } = new PoolIndex([inherited]).ownership(aNode({ labels, taints: live }));
  assert.deepEqual(
    [...(record?.taints ?? [])],
    [
      ['a:NoSchedule', { value: '1' }],
      ['c:NoExecute', { value: '' }],
      ['e:NoExecute', { value: '' }],
    ],
  );
  const bare = aPool({}, { finalizers: [FINALIZER], status });
  const nothing = new PoolIndex([bare]).ownership(aNode({ labels, taints: live })).record;
  assert.deepEqual(nothing, {
    pool: 'worker',
    labels: new Map(),
    taints: new Map(),
    annotations: new Map(),
    startup: new Map(),
  });
});

test('inherits a pool only with finalizer and status, and only on nodes without a record', () => {
  const status = { status: 200, nodeCount: 1 };
  const labels = { 'node-role.kubernetes.io/worker': '', tier: 'gold' };
  const recordBy = (pool: Parameters<typeof aPool>[1], record?: string) =>
    new PoolIndex([aPool({ labels: { tier: 'gold' } }, pool)]).ownership(
      aNode({ labels, ...(record === undefined ? {} : { record }) }),
    ).record;
  assert.equal(recordBy({ finalizers: [FINALIZER], status })?.pool, 'worker');
  assert.equal(recordBy({ finalizers: [FINALIZER] }), undefined);
  assert.equal(recordBy({ finalizers: ['other'], status }), undefined);
  assert.equal(recordBy({ status }), undefined);
  assert.equal(recordBy({ finalizers: [FINALIZER], status }, 'not json'), undefined);
});

test('a record ends the inheritance of an unmarked pool only on nodes that match the pool', () => {
  const role = { 'node-role.kubernetes.io/worker': '' };
  const pool = aPool({ labels: { tier: 'gold' } }, { finalizers: [FINALIZER], status: { status: 200, nodeCount: 1 } });
  const started = { ...pool, metadata: { ...pool.metadata, annotations: { [TAKEOVER_ANNOTATION]: 'started' } } };
  const recorded = (labels: Record<string, string>) =>
    aNode({ name: 'forged', labels, record: recordOf({ pool: 'worker' }) });
  const other = aNode({ name: 'other', labels: { ...role, tier: 'gold' } });
  const isInherited = (of: typeof pool, node: ReturnType<typeof aNode>) =>
    new PoolIndex([of], [node, other]).isInherited('worker');
  assert.equal(isInherited(pool, recorded({})), true, 'a node that is no member changes nothing for others');
  assert.equal(isInherited(pool, recorded(role)), false);
  assert.equal(isInherited(started, recorded(role)), true, 'nor does any node once the pool is marked');
});

test('treats a pool that was never stored as the oldest', () => {
  const { creationTimestamp: _, ...metadata } = worker.metadata;
  const fresh = { ...worker, metadata };
  for (const pools of [
    [fresh, gpu],
    [gpu, fresh],
  ]) {
    for (const labels of [both, Object.fromEntries(Object.entries(both).toReversed())]) {
      assert.deepEqual(ownership(pools, aNode({ labels })), { owner: 'worker', conflicting: ['gpu'] });
    }
  }
});

test('distinguishes pools that share one label of their selectors', () => {
  const [a, b] = ['a', 'b'].map(name => aPool({ nodeSelector: { rack: '1', row: name } }, { name }));
  assert.ok(a && b);
  assert.equal(ownership([a, b], aNode({ labels: { rack: '1', row: 'b' } })).owner, 'b');
  assert.equal(ownership([a, b], aNode({ labels: { rack: '1', row: 'c' } })).owner, undefined);
});

test('affectsMembership is true only for labels in a selector', () => {
  const index = new PoolIndex([worker, aPool({ nodeSelector: { gpu: 'yes', rack: '1' } }, { name: 'gpu' })]);
  for (const key of ['node-role.kubernetes.io/worker', 'gpu', 'rack']) {
    assert.equal(index.affectsMembership({ other: 'x', [key]: null }), true, key);
  }
  assert.equal(index.affectsMembership({ other: 'x' }), false);
  assert.equal(index.affectsMembership({}), false);
});

test('errors() returns the errors of the spec, and an empty list for an unknown pool', () => {
  const index = new PoolIndex([aPool({ handler: 'NO' }), gpu]);
  assert.deepEqual(
    index.errors('worker').map(({ field }) => field),
    ['spec.handler'],
  );
  assert.deepEqual([index.errors('gpu'), index.errors('nobody')], [[], []]);
});

test('sameOwnership is false only when UID, generation, deletion or observedGeneration differ', () => {
  const pool = aPool({}, { finalizers: [FINALIZER], status: { status: 200, nodeCount: 1 } });
  const { metadata, status } = pool;
  assert.equal(
    sameOwnership(pool, { ...pool, metadata: { ...metadata, resourceVersion: '9', labels: { a: 'b' } } }),
    true,
  );
  const others = [
    { ...pool, metadata: { ...metadata, uid: 'another' } },
    { ...pool, metadata: { ...metadata, generation: 2 } },
    { ...pool, metadata: { ...metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } },
    { ...pool, status: { status: 200, nodeCount: 1, ...status, observedGeneration: 1 } },
  ];
  for (const other of others) assert.equal(sameOwnership(pool, other), false, JSON.stringify(other));
});

test('pools with expressions keep their nodes, and each label in an expression affects membership', () => {
  const spec = { matchExpressions: [{ key: 'spot', operator: 'DoesNotExist' }] };
  const rest = aPool(spec, { name: 'rest', creationTimestamp: '2025-01-01T00:00:00Z' });
  assert.deepEqual(ownership([gpu, rest], aNode()), { owner: 'rest', conflicting: [] });
  assert.deepEqual(ownership([gpu, rest], aNode({ labels: { gpu: 'yes', spot: '' } })), {
    owner: 'gpu',
    conflicting: [],
  });
  assert.deepEqual(ownership([gpu, rest], aNode({ labels: { gpu: 'yes' } })), { owner: 'rest', conflicting: ['gpu'] });
  const held = aNode({ labels: { gpu: 'yes' }, record: recordOf({ pool: 'gpu' }) });
  assert.deepEqual(ownership([gpu, rest], held), { owner: 'gpu', conflicting: ['rest'] });
  const index = new PoolIndex([gpu, rest]);
  assert.deepEqual([index.affectsMembership({ spot: '' }), index.affectsMembership({ other: '' })], [true, false]);
});

test('a pool with an unknown operator keeps its nodes, and gets no others', () => {
  const later = aPool({ matchExpressions: [{ key: 'a', operator: 'Near', values: ['b'] }] }, { name: 'later' });
  assert.equal(ownership([later], aNode({ record: recordOf({ pool: 'later' }) })).owner, 'later');
  assert.equal(ownership([later], aNode({ labels: { a: 'b' } })).owner, undefined);
});
