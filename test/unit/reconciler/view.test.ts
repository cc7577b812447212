import assert from 'node:assert/strict';
import { test } from 'node:test';
import { View } from '../../../src/reconciler/view.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
const names = (nodes: { name: string }[]) => nodes.map(node => node.name).sort();

test('members, held and lost nodes follow what is put in', () => {
  const worker = aPool({}, { name: 'worker' });
  const other = aPool({}, { name: 'other', creationTimestamp: '2026-02-01T00:00:00Z' });
  const view = new View(
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
  assert.deepEqual(names(view.members('worker')), ['a', 'b']);
  assert.deepEqual(names(view.held('worker')), ['a', 'b', 'c']);
  assert.deepEqual(names(view.lost('other').map(({ node }) => node)), ['b']);
  assert.deepEqual(view.poolNames(), ['gone', 'other', 'worker']);

  view.setNode(aNode({ name: 'a', labels: role('other') }));
  assert.deepEqual([names(view.members('worker')), names(view.members('other'))], [['b'], ['a']]);
  view.removeNode('d', aNode({ name: 'd' }).uid);
  assert.deepEqual(view.poolNames(), ['other', 'worker']);
  view.removePool('worker', worker.metadata.uid);
  assert.deepEqual(names(view.members('other')), ['a', 'b']);
});

test('a pool whose selector changed claims anew; a new status does not', () => {
  const pool = aPool({}, { name: 'worker' });
  const view = new View([pool], [aNode({ name: 'a', labels: role('worker') })], []);
  const claim = view.claim('a');
  view.setPool({ ...pool, status: { status: 200, nodeCount: 1, observedGeneration: 1 } });
  assert.equal(view.claim('a'), claim, 'the claim is the same object: nothing was computed again');
  view.setPool({ ...pool, metadata: { ...pool.metadata, generation: 2 }, spec: { nodeSelector: { other: 'x' } } });
  assert.deepEqual(view.members('worker'), []);
});

test('what the server has when it is asked outweighs the removals before that, and not those since', () => {
  const pool = aPool({}, { name: 'worker', resourceVersion: '5' });
  const view = new View([pool], [], []);
  const before = view.moment();
  view.removePool('worker', pool.metadata.uid);
  view.setPool(pool);
  assert.equal(view.pool('worker'), undefined, 'a cache that is behind');
  view.setPool(pool, before);
  assert.equal(view.pool('worker'), undefined, 'an answer that was asked for before');
  view.setPool(pool, view.moment());
  assert.ok(view.pool('worker'));
  const later = { ...pool, metadata: { ...pool.metadata, resourceVersion: '6' } };
  view.setPool(later);
  assert.equal(view.pool('worker')?.metadata.resourceVersion, '6', 'a cache is believed again');
});

/** What an observer of the view is told. */
function observed(...args: ConstructorParameters<typeof View>) {
  const view = new View(...args);
  const told: string[] = [];
  view.observe({
    concerned: names => told.push(...names),
    nodeGone: (node, holder) => told.push(`${node} of ${holder} is gone`),
  });
  return { view, told: () => [...new Set(told.splice(0))].sort() };
}

const runtimeClass = (pool: string, resourceVersion: string, uid = 'rc') => ({
  metadata: { name: `node-pool-${pool}`, uid, resourceVersion },
  handler: 'runc',
});

test('RuntimeClasses: the first list, changes, and removals of the one that is known', () => {
  const [known, later] = [runtimeClass('worker', '5'), runtimeClass('worker', '6')];
  const { view, told } = observed([aPool()], [], [known]);
  assert.equal(view.runtimeClass('node-pool-worker'), known);
  view.setRuntimeClass({ ...known });
  assert.deepEqual(told(), [], 'the same version again');
  view.setRuntimeClass(later);
  assert.deepEqual(told(), ['worker']);
  view.setRuntimeClass(known);
  assert.equal(view.runtimeClass('node-pool-worker'), later, 'an older version is not taken');
  view.removeRuntimeClass('node-pool-worker', 'another');
  assert.equal(view.runtimeClass('node-pool-worker'), later);
  view.removeRuntimeClass('node-pool-worker', 'rc');
  assert.equal(view.runtimeClass('node-pool-worker'), undefined);
  assert.deepEqual(told(), ['worker']);
  view.setRuntimeClass(runtimeClass('nobody', '7', 'other'));
  view.setRuntimeClass({ ...runtimeClass('x', '7', 'third'), metadata: { name: 'gvisor', uid: 'third' } });
  assert.deepEqual(told(), [], 'of no pool that is known');
  assert.deepEqual(names([...view.runtimeClasses()].map(({ metadata }) => metadata)), ['gvisor', 'node-pool-nobody']);
});

test('the nodes that a pool matches are those with its membership labels, whoever owns them', () => {
  const [worker, zone] = [aPool(), aPool({ nodeSelector: { zone: 'a' } }, { name: 'zone', uid: 'zone' })];
  const nodes = [
    aNode({ name: 'a', labels: role('worker') }),
    aNode({ name: 'b', labels: { ...role('worker'), zone: 'a' } }),
    aNode({ name: 'c', record: recordOf({ pool: 'worker' }) }),
  ];
  const view = new View([worker, zone], nodes, []);
  assert.deepEqual([names(view.matching(worker)), names(view.matching(zone))], [['a', 'b'], ['b']]);
  assert.deepEqual([view.members('zone'), view.held('zone')], [[], []], 'a node of another pool is neither');
  assert.deepEqual(view.lost('worker'), []);
  const [lost] = view.lost('zone');
  assert.deepEqual([lost?.node.name, lost?.owner], ['b', worker]);
});

test('a node that goes concerns the pools that it had to do with, and the holder of its record hears of it', () => {
  const [worker, other] = [aPool(), aPool({}, { name: 'other', uid: 'other' })];
  const node = aNode({ labels: role('other'), record: recordOf({ pool: 'worker' }) });
  const { view, told } = observed([worker, other], [node], []);
  view.removeNode('n1', 'another');
  assert.deepEqual(told(), []);
  view.removeNode('n1', node.uid);
  assert.deepEqual(told(), ['n1 of worker is gone', 'other', 'worker']);
});

test('a pool that is deleted concerns itself and the pools that share a node with it', () => {
  const [worker, other] = [aPool(), aPool({}, { name: 'other', uid: 'other' })];
  const { view, told } = observed([worker, other], [aNode({ labels: { ...role('worker'), ...role('other') } })], []);
  view.removePool('other', 'other');
  assert.deepEqual(told(), ['other', 'worker']);
  view.setPool({ ...worker, metadata: { ...worker.metadata, labels: { a: 'b' }, resourceVersion: '9' } });
  assert.deepEqual(told(), ['worker'], 'a change that moves no node concerns the pool alone');
});

test('a pool whose selector changes concerns those that it shared a node with before, too', () => {
  const [worker, zone] = [aPool(), aPool({ nodeSelector: { zone: 'a' } }, { name: 'zone', uid: 'zone' })];
  const nodes = [
    aNode({ labels: { ...role('worker'), zone: 'a' } }),
    aNode({ name: 'n2', labels: { ...role('third'), zone: 'b' } }),
  ];
  const { view, told } = observed([worker, zone, aPool({}, { name: 'third', uid: 'third' })], nodes, []);
  const metadata = { ...zone.metadata, generation: 2, resourceVersion: '9' };
  view.setPool({ ...zone, spec: { nodeSelector: { zone: 'b' } }, metadata });
  assert.deepEqual(told(), ['third', 'worker', 'zone']);
});

test('a status that was about to be written is no news; with anything else of the pool changed, it is', () => {
  const status = { status: 200, nodeCount: 1, observedGeneration: 1 } as const;
  const pool = aPool({}, { resourceVersion: '5', status: { ...status, nodeCount: 0 } });
  const set = (metadata: object, now = status as NonNullable<typeof pool.status>) => {
    const { view, told } = observed([pool], [], []);
    view.expectStatus('worker', status);
    view.setPool({ ...pool, status: now, metadata: { ...pool.metadata, resourceVersion: '6', ...metadata } });
    return told();
  };
  assert.deepEqual(set({}), []);
  assert.deepEqual(set({ managedFields: [{ manager: 'us' }] }), [], 'who wrote it is told by managedFields');
  assert.deepEqual(set({ labels: { a: 'b' } }), ['worker']);
  assert.deepEqual(set({ finalizers: ['example.com/hold'] }), ['worker']);
  assert.deepEqual(set({}, { ...status, nodeCount: 7 }), ['worker'], 'another status');
});

test('an expected status of a pool that was not known does not hide the pool', () => {
  const status = { status: 200, nodeCount: 1 } as const;
  const { view, told } = observed([], [], []);
  view.expectStatus('worker', status);
  view.setPool(aPool({}, { resourceVersion: '6', status }));
  assert.deepEqual(told(), ['worker']);
});

test('a new version of a node that differs in nothing else concerns nobody', () => {
  const node = aNode({ labels: role('worker'), record: recordOf({ pool: 'worker' }) });
  const { view, told } = observed([aPool()], [node], []);
  view.setNode({ ...node, resourceVersion: '8' });
  assert.deepEqual([told(), view.node('n1')?.resourceVersion], [[], '8']);
  view.setNode({ ...node, resourceVersion: '9', ready: false });
  assert.deepEqual(told(), ['worker']);
});
