import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Item } from '../../../src/controller/store.ts';
import type { Node, NodePool, RuntimeClass } from '../../../src/nodepool/types.ts';
import { EventHandlers } from '../../../src/reconciler/event-handlers.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
let state: ClusterState;
let handlers: EventHandlers;
let enqueued: string[];
let later: string[];
let deleted: string[];

beforeEach(() => {
  state = new ClusterState([], [], []);
  [enqueued, later, deleted] = [[], [], []];
  handlers = new EventHandlers({
    state,
    enqueue: pool => enqueued.push(pool),
    enqueueLater: pool => later.push(pool),
    onNodeDeleted: (pool, node) => deleted.push(`${pool}/${node}`),
  });
});

const nodeItem = (node: Node): Item<Node> => ({ ...node, key: node.name, object: node });
function metaItem<T extends NodePool | RuntimeClass>(object: T): Item<T> {
  const { name, uid = '', resourceVersion = '' } = object.metadata;
  return { key: name, uid, resourceVersion, object };
}
const seen = (node: Node) => handlers.node({ type: 'added', item: nodeItem(node) });
const seenPool = (pool: NodePool) => handlers.pool({ type: 'added', item: metaItem(pool) });
const gone = <T>(item: Item<T>) => ({ type: 'deleted', tombstone: { kind: 'final', item } }) as const;

/** The keys enqueued since the last call, each once. */
function reported(): string[] {
  const names = [...new Set(enqueued)].sort();
  enqueued = [];
  return names;
}

function pool(name: string, resourceVersion = '5', metadata: Partial<NodePool['metadata']> = {}): NodePool {
  return aPool({}, { name, uid: `uid-${name}`, resourceVersion, ...metadata });
}

function start(): void {
  seenPool(pool('one'));
  seenPool(pool('two'));
  seen(aNode({ name: 'a', labels: role('one'), record: recordOf({ pool: 'one' }) }));
  handlers.start();
  reported();
}

test('enqueues nothing before start(), which enqueues every pool, including deleted pools in records', () => {
  seenPool(pool('one'));
  seen(aNode({ name: 'a', record: recordOf({ pool: 'gone' }) }));
  assert.deepEqual(reported(), []);
  handlers.start();
  assert.deepEqual(reported(), ['gone', 'one']);
});

test('enqueues the old and the new pool of a node that moves', () => {
  start();
  seen(aNode({ name: 'a', resourceVersion: '8', labels: role('two'), record: recordOf({ pool: 'one' }) }));
  assert.deepEqual(reported(), ['one', 'two']);
});

test('enqueues nothing for a change that affects no pool, and stores the new resourceVersion', () => {
  start();
  seen(aNode({ name: 'a', resourceVersion: '8', labels: role('one'), record: recordOf({ pool: 'one' }) }));
  assert.deepEqual(reported(), []);
  assert.equal(state.node('a')?.resourceVersion, '8');
});

test('enqueues the pool of a node that becomes NotReady', () => {
  start();
  const labels = role('one');
  seen(aNode({ name: 'a', resourceVersion: '8', labels, record: recordOf({ pool: 'one' }), ready: false }));
  assert.deepEqual(reported(), ['one']);
});

test('enqueues nothing for the event of its own write or for older events', () => {
  start();
  const written = aNode({ name: 'a', resourceVersion: '9', labels: { ...role('one'), tier: 'gold' } });
  state.setNode(written);
  assert.deepEqual(reported(), ['one'], 'the answer itself may say something new');
  seen({ ...written });
  seen(aNode({ name: 'a', resourceVersion: '8', labels: role('two') }));
  assert.deepEqual(reported(), []);
  assert.deepEqual(state.node('a'), written);
});

test('reports the old node as deleted when a node is recreated, and ignores late events', () => {
  start();
  const another = aNode({ name: 'a', uid: 'another', resourceVersion: '8', labels: role('two') });
  seen(another);
  assert.deepEqual([reported(), deleted], [['one', 'two'], ['one/a']]);
  seen(aNode({ name: 'a', resourceVersion: '7', labels: role('one') }));
  state.removeNode('a', aNode({ name: 'a' }).uid);
  handlers.node(gone(nodeItem(aNode({ name: 'a' }))));
  assert.deepEqual([reported(), deleted, state.node('a')], [[], ['one/a'], another]);
});

test('ignores a response that is older than an event', () => {
  start();
  const edited = pool('one', '9', { generation: 2 });
  seenPool(edited);
  state.setPool(pool('one', '8'));
  assert.equal(state.pool('one'), edited);
  const made = pool('one', '12', { uid: 'another' });
  handlers.pool(gone(metaItem(edited)));
  seenPool(made);
  state.setPool(pool('one', '8'));
  state.removePool('one', edited.metadata.uid);
  assert.equal(state.pool('one'), made);
  handlers.node(gone(nodeItem(aNode({ name: 'a' }))));
  state.setNode(aNode({ name: 'a', resourceVersion: '7' }));
  assert.equal(state.node('a'), undefined);
});

test('enqueues the same pools for a response as for an event', () => {
  start();
  seenPool({ ...pool('three'), spec: { nodeSelector: { zone: 'b' } } });
  reported();
  state.setNode(
    aNode({
      name: 'a',
      resourceVersion: '9',
      labels: { ...role('one'), zone: 'b' },
      record: recordOf({ pool: 'one' }),
    }),
  );
  assert.deepEqual(reported(), ['one', 'three']);
  state.setPool(pool('one', '9', { deletionTimestamp: '2026-02-01T00:00:00Z' }));
  assert.deepEqual(reported(), ['one', 'three']);
  state.removeNode('a', aNode({ name: 'a' }).uid);
  assert.deepEqual([reported(), deleted], [['one', 'three'], ['one/a']]);
});

test('enqueues the pool that held a deleted node, and ignores deletions of an earlier node', () => {
  start();
  handlers.node(gone(nodeItem(aNode({ name: 'a', uid: 'earlier' }))));
  assert.deepEqual([reported(), deleted], [[], []]);
  handlers.node(gone(nodeItem(aNode({ name: 'a' }))));
  assert.deepEqual([reported(), deleted], [['one'], ['one/a']]);
  assert.equal(state.node('a'), undefined);
});

test('enqueues pools that share nodes with an added or deleted pool', () => {
  start();
  seenPool({ ...pool('three'), spec: { nodeSelector: role('one') } });
  assert.deepEqual(reported(), ['one', 'three']);
  handlers.pool(gone(metaItem({ ...pool('three'), spec: {} })));
  assert.deepEqual(reported(), ['one', 'three']);
  assert.equal(state.pool('three'), undefined);
});

test('enqueues only the pool itself when someone else writes its metadata or status', () => {
  start();
  seenPool(pool('one', '6', { labels: { a: 'b' } }));
  assert.deepEqual(reported(), ['one']);
  seenPool(pool('one', '6', { labels: { a: 'b' } }));
  assert.deepEqual(reported(), []);
});

test('enqueues the pool that a RuntimeClass names, if the pool exists', () => {
  start();
  const runtimeClass = (name: string, resourceVersion: string): RuntimeClass => {
    return { metadata: { name, uid: `uid-${name}`, resourceVersion }, handler: 'runc' };
  };
  handlers.runtimeClass({ type: 'added', item: metaItem(runtimeClass('node-pool-one', '3')) });
  assert.deepEqual(reported(), ['one']);
  handlers.runtimeClass({ type: 'added', item: metaItem(runtimeClass('node-pool-none', '3')) });
  handlers.runtimeClass({ type: 'added', item: metaItem(runtimeClass('gvisor', '3')) });
  assert.deepEqual(reported(), []);
  handlers.runtimeClass(gone(metaItem(runtimeClass('node-pool-one', '4'))));
  assert.deepEqual(reported(), ['one']);
  handlers.runtimeClass(gone(metaItem(runtimeClass('node-pool-one', '4'))));
  assert.deepEqual(reported(), [], 'we deleted it ourselves');
});

test('enqueues the owner of the node of a pod with a delay, and nothing before start()', () => {
  seenPool(aPool({}, { name: 'one' }));
  seen(aNode({ name: 'a', labels: role('one') }));
  seen(aNode({ name: 'free' }));
  handlers.pod('a');
  assert.deepEqual(later, []);
  handlers.start();
  reported();
  for (const node of ['a', 'free', 'unknown']) handlers.pod(node);
  assert.deepEqual(later, ['one']);
  assert.deepEqual(reported(), []);
});
