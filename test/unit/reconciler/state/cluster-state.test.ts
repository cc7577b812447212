import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodePlan } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
const names = (nodes: { name: string }[]) => nodes.map(node => node.name).sort();

test('updates members, managed and lost nodes with each change', () => {
  const worker = aPool({}, { name: 'worker' });
  const other = aPool({}, { name: 'other', creationTimestamp: '2026-02-01T00:00:00Z' });
  const state = new ClusterState(
    [worker, other],
    [
      aNode({ name: 'a', labels: role('worker') }),
      aNode({ name: 'b', labels: { ...role('worker'), ...role('other') } }),
      aNode({ name: 'c', record: recordOf({ pool: 'worker' }) }),
      aNode({ name: 'd', record: recordOf({ pool: 'gone' }) }),
      aNode({ name: 'e' }),
    ],
    [],
  );
  assert.deepEqual(names(state.members('worker')), ['a', 'b']);
  assert.deepEqual(names(state.managedNodes('worker')), ['a', 'b', 'c']);
  assert.deepEqual(names(state.lost('other').map(({ node }) => node)), ['b']);
  assert.deepEqual(state.poolNames(), ['gone', 'other', 'worker']);

  state.setNode(aNode({ name: 'a', labels: role('other') }));
  assert.deepEqual([names(state.members('worker')), names(state.members('other'))], [['b'], ['a']]);
  state.removeNode('d', aNode({ name: 'd' }).uid);
  assert.deepEqual(state.poolNames(), ['other', 'worker']);
  state.removePool('worker', worker.metadata.uid);
  assert.deepEqual(names(state.members('other')), ['a', 'b']);
});

test('ownership changes with the selector of a pool, not with its status', () => {
  const pool = aPool({}, { name: 'worker' });
  const state = new ClusterState([pool], [aNode({ name: 'a', labels: role('worker') })], []);
  const ownership = state.ownership('a');
  state.setPool({ ...pool, status: { status: 200, nodeCount: 1, observedGeneration: 1 } });
  assert.equal(state.ownership('a'), ownership, 'the ownership is the same object: nothing was computed again');
  state.setPool({ ...pool, metadata: { ...pool.metadata, generation: 2 }, spec: { nodeSelector: { other: 'x' } } });
  assert.deepEqual(state.members('worker'), []);
});

test('a live read overrides deletes before the request, not those after it', () => {
  const pool = aPool({}, { name: 'worker', resourceVersion: '5' });
  const state = new ClusterState([pool], [], []);
  const before = state.beginRead();
  state.removePool('worker', pool.metadata.uid);
  state.setPool(pool);
  assert.equal(state.pool('worker'), undefined, 'a cache that is behind');
  state.setPool(pool, before);
  assert.equal(state.pool('worker'), undefined, 'an answer that was asked for before');
  state.setPool(pool, state.beginRead());
  assert.ok(state.pool('worker'));
  const later = { ...pool, metadata: { ...pool.metadata, resourceVersion: '6' } };
  state.setPool(later);
  assert.equal(state.pool('worker')?.metadata.resourceVersion, '6', 'a cache is believed again');
});

/** The calls to an observer of the state. */
function observed(...args: ConstructorParameters<typeof ClusterState>) {
  const state = new ClusterState(...args);
  const reported: string[] = [];
  state.observe({
    concerned: names => reported.push(...names),
    nodeGone: (node, holder) => reported.push(`${node} of ${holder} is gone`),
  });
  return { state, reported: () => [...new Set(reported.splice(0))].sort() };
}

const runtimeClass = (pool: string, resourceVersion: string, uid = 'rc') => ({
  metadata: { name: `node-pool-${pool}`, uid, resourceVersion },
  handler: 'runc',
});

test('tracks RuntimeClasses from the first list through changes and deletes', () => {
  const [known, later] = [runtimeClass('worker', '5'), runtimeClass('worker', '6')];
  const { state, reported } = observed([aPool()], [], [known]);
  assert.equal(state.runtimeClass('node-pool-worker'), known);
  state.setRuntimeClass({ ...known });
  assert.deepEqual(reported(), [], 'the same version again');
  state.setRuntimeClass(later);
  assert.deepEqual(reported(), ['worker']);
  state.setRuntimeClass(known);
  assert.equal(state.runtimeClass('node-pool-worker'), later, 'an older version is not taken');
  state.removeRuntimeClass('node-pool-worker', 'another');
  assert.equal(state.runtimeClass('node-pool-worker'), later);
  state.removeRuntimeClass('node-pool-worker', 'rc');
  assert.equal(state.runtimeClass('node-pool-worker'), undefined);
  assert.deepEqual(reported(), ['worker']);
  state.setRuntimeClass(runtimeClass('nobody', '7', 'other'));
  state.setRuntimeClass({ ...runtimeClass('x', '7', 'third'), metadata: { name: 'gvisor', uid: 'third' } });
  assert.deepEqual(reported(), [], 'of no pool that is known');
  assert.deepEqual(names([...state.runtimeClasses()].map(({ metadata }) => metadata)), ['gvisor', 'node-pool-nobody']);
});

test('nodesMatching() returns nodes with the membership labels of a pool, whoever owns them', () => {
  const [worker, zone] = [aPool(), aPool({ nodeSelector: { zone: 'a' } }, { name: 'zone', uid: 'zone' })];
  const nodes = [
    aNode({ name: 'a', labels: role('worker') }),
    aNode({ name: 'b', labels: { ...role('worker'), zone: 'a' } }),
    aNode({ name: 'c', record: recordOf({ pool: 'worker' }) }),
  ];
  const state = new ClusterState([worker, zone], nodes, []);
  assert.deepEqual([names(state.matching(worker)), names(state.matching(zone))], [['a', 'b'], ['b']]);
  assert.deepEqual([state.members('zone'), state.managedNodes('zone')], [[], []], 'a node of another pool is neither');
  assert.deepEqual(state.lost('worker'), []);
  const [lost] = state.lost('zone');
  assert.deepEqual([lost?.node.name, lost?.owner], ['b', worker]);
});

test('a deleted node affects its related pools, including the pool in its record', () => {
  const [worker, other] = [aPool(), aPool({}, { name: 'other', uid: 'other' })];
  const node = aNode({ labels: role('other'), record: recordOf({ pool: 'worker' }) });
  const { state, reported } = observed([worker, other], [node], []);
  state.removeNode('n1', 'another');
  assert.deepEqual(reported(), []);
  state.removeNode('n1', node.uid);
  assert.deepEqual(reported(), ['n1 of worker is gone', 'other', 'worker']);
});

test('a deleted pool affects itself and pools that share a node with it', () => {
  const [worker, other] = [aPool(), aPool({}, { name: 'other', uid: 'other' })];
  const { state, reported } = observed(
    [worker, other],
    [aNode({ labels: { ...role('worker'), ...role('other') } })],
    [],
  );
  state.removePool('other', 'other');
  assert.deepEqual(reported(), ['other', 'worker']);
  state.setPool({ ...worker, metadata: { ...worker.metadata, labels: { a: 'b' }, resourceVersion: '9' } });
  assert.deepEqual(reported(), ['worker'], 'a change that moves no node concerns the pool alone');
});

test('a pool with a new selector also affects pools that shared a node with it before', () => {
  const [worker, zone] = [aPool(), aPool({ nodeSelector: { zone: 'a' } }, { name: 'zone', uid: 'zone' })];
  const nodes = [
    aNode({ labels: { ...role('worker'), zone: 'a' } }),
    aNode({ name: 'n2', labels: { ...role('third'), zone: 'b' } }),
  ];
  const { state, reported } = observed([worker, zone, aPool({}, { name: 'third', uid: 'third' })], nodes, []);
  const metadata = { ...zone.metadata, generation: 2, resourceVersion: '9' };
  state.setPool({ ...zone, spec: { nodeSelector: { zone: 'b' } }, metadata });
  assert.deepEqual(reported(), ['third', 'worker', 'zone']);
});

test('a paused pool that changes affects the pools whose nodes wait for it, as their labels would make them join', () => {
  const first = aPool({ nodeSelector: { s1: '1' }, labels: { s2: '1' } }, { name: 'first', uid: 'uid-first' });
  const paused = aPool({ nodeSelector: { s2: '1' }, paused: true }, { name: 'paused', resourceVersion: '1' });
  // It leaves a pool that set s1 and is gone: with s2 and without s1, it only matches the paused pool.
  const node = aNode({ labels: { s1: '1' }, record: recordOf({ pool: 'gone', labels: { s1: '1' } }) });
  const next = { ...paused.metadata, generation: 2, resourceVersion: '2' };
  const changes: ((state: ClusterState) => void)[] = [
    state => state.setPool({ ...paused, metadata: next, spec: { ...paused.spec, paused: false } }),
    state => state.setPool({ ...paused, metadata: next, spec: { ...paused.spec, nodeSelector: { s3: '1' } } }),
    state => state.setPool({ ...paused, metadata: { ...next, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    state => state.removePool('paused', paused.metadata.uid),
  ];
  for (const change of changes) {
    const state = new ClusterState([first, paused], [node], []);
    assert.equal(nodePlan(state, 'n1')?.kind, 'paused');
    const concerned: string[] = [];
    state.observe({ concerned: pools => void concerned.push(...pools), nodeGone() {} });
    change(state);
    assert.equal(nodePlan(state, 'n1')?.kind, 'write');
    assert.ok(concerned.includes('first'));
  }
});

test('an expected status affects no pool, unless the pool has another change', () => {
  const status = { status: 200, nodeCount: 1, observedGeneration: 1 } as const;
  const pool = aPool({}, { resourceVersion: '5', status: { ...status, nodeCount: 0 } });
  const set = (metadata: object, now = status as NonNullable<typeof pool.status>) => {
    const { state, reported } = observed([pool], [], []);
    state.expectStatus('worker', status);
    state.setPool({ ...pool, status: now, metadata: { ...pool.metadata, resourceVersion: '6', ...metadata } });
    return reported();
  };
  assert.deepEqual(set({}), []);
  assert.deepEqual(set({ managedFields: [{ manager: 'us' }] }), [], 'who wrote it is in managedFields');
  assert.deepEqual(set({ labels: { a: 'b' } }), ['worker']);
  assert.deepEqual(set({ finalizers: ['example.com/hold'] }), ['worker']);
  assert.deepEqual(set({}, { ...status, nodeCount: 7 }), ['worker'], 'another status');
});

test('an expected status of an unknown pool does not hide the pool', () => {
  const status = { status: 200, nodeCount: 1 } as const;
  const { state, reported } = observed([], [], []);
  state.expectStatus('worker', status);
  state.setPool(aPool({}, { resourceVersion: '6', status }));
  assert.deepEqual(reported(), ['worker']);
});

test('a new resourceVersion alone affects no pool', () => {
  const node = aNode({ labels: role('worker'), record: recordOf({ pool: 'worker' }) });
  const { state, reported } = observed([aPool()], [node], []);
  state.setNode({ ...node, resourceVersion: '8' });
  assert.deepEqual([reported(), state.node('n1')?.resourceVersion], [[], '8']);
  state.setNode({ ...node, resourceVersion: '9', ready: false });
  assert.deepEqual(reported(), ['worker']);
});
