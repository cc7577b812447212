import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { createLimiter } from '../../../../src/controller/limiter.ts';
import type { ClusterPort, NodesClient } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { throttledError } from '../../../../src/reconciler/outcome.ts';
import { patchedNode } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { aNodeWriter, emptyNodeOutcome } from '../reconciler-options.ts';

const collect = globalThis.gc;
afterEach(() => {
  globalThis.gc = collect;
});

const GOLD = { tier: 'gold' };
const NAMES = Array.from({ length: 60 }, (_, at) => `n${at + 10}`);

/** Reconciles a pool of 60 nodes whose first 40 fail with the error. */
async function settle(error: NodepoolError) {
  const nodes = NAMES.map(name => aNode({ name, uid: name, labels: { 'node-role.kubernetes.io/worker': '' } }));
  const state = new ClusterState(
    [aPool({ labels: { tier: 'gold' } }, { name: 'worker', finalizers: [FINALIZER] })],
    nodes,
    [],
  );
  const patchNode: NodesClient['patch'] = async (name, patch) => {
    if (NAMES.indexOf(name) < 40) throw error;
    const node = patchedNode(state.node(name) ?? assert.fail(), patch);
    return { kind: 'written', node: { ...node, resourceVersion: '9' } };
  };
  const cluster = { nodes: { patch: patchNode } } as ClusterPort;
  const outcome = emptyNodeOutcome();
  await aNodeWriter(cluster, state, { limitObjects: createLimiter(4) }).apply('worker', outcome);
  const untried = outcome.failures.filter(({ message }) => message.endsWith('was not tried'));
  return { written: outcome.moves.length, untried: untried.length };
}

test('refused nodes do not block others, however many come first', async () => {
  const denied = new NodepoolError('cluster', 'cannot patch Node: a webhook denied the request');
  assert.deepEqual(await settle(denied), { written: 20, untried: 0 });
});

test('stops when the server does not answer', async () => {
  const { written, untried } = await settle(new NodepoolError('cluster', 'no route', undefined, { isGeneral: true }));
  assert.equal(written, 0);
  assert.ok(untried > 40, `${untried} were not tried`);
});

test('errors repeated without a request do not block other nodes', async () => {
  const error = new NodepoolError('cluster', 'no route', undefined, { isGeneral: true });
  assert.deepEqual(await settle(throttledError({ error, ms: 1 })), { written: 20, untried: 0 });
});

test('counts members that differ or failed; with caches, only those that failed', () => {
  const role = { 'node-role.kubernetes.io/worker': '' };
  const nodes = ['a', 'b', 'c'].map(name => aNode({ name, uid: name, labels: { ...role, ...(name === 'c' && GOLD) } }));
  const state = new ClusterState(
    [aPool({ labels: GOLD }, { name: 'worker' })],
    [...nodes, aNode({ name: 'other' })],
    [],
  );
  const failures = [{ message: 'no', node: 'c' }, { message: 'no RuntimeClass' }];
  assert.deepEqual(aNodeWriter({} as ClusterPort, state).differing('worker', failures), ['a', 'b', 'c']);
  assert.deepEqual(aNodeWriter({} as ClusterPort, state, { hasCaches: true }).differing('worker', failures), ['c']);
});

test('counts nodes that cannot be written as due, so that the status is no success', () => {
  const role = { 'node-role.kubernetes.io/worker': '' };
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`l${index}`, 'x']));
  const nodes = [
    aNode({ name: 'large', labels: { ...role, ...many } }),
    aNode({ name: 'new', labels: role }),
    aNode({ name: 'done', labels: role, record: recordOf({ pool: 'worker' }) }),
  ];
  const state = new ClusterState([aPool({ unmanaged: 'Remove' }, { finalizers: [FINALIZER] })], nodes, []);
  const due = (only?: Set<string>) => aNodeWriter({} as ClusterPort, state, only && { only }).notApplied('worker');
  assert.deepEqual(due(new Set(['done'])), ['large', 'new']);
  assert.deepEqual(due(), [], 'all of them are to be written: what fails is in the status');
});

test('collects garbage during a rollout in progress, not after a complete one', () => {
  let collections = 0;
  globalThis.gc = (async () => {
    collections++;
  }) as typeof globalThis.gc;
  const labels = { 'node-role.kubernetes.io/worker': '', ...GOLD };
  const record = recordOf({ pool: 'worker', labels: GOLD });
  const nodes = NAMES.map(name => aNode({ name, uid: name, labels, record }));
  const reconcile = (tier: string) => {
    const state = new ClusterState([aPool({ labels: { tier }, rollout: {} }, { name: 'worker' })], nodes, []);
    const poolNodes = aNodeWriter({} as ClusterPort, state);
    // All of the heap in the end, at 480 KiB each time: half of it is collected, or 14 MiB.
    const reconciles = Math.ceil(process.memoryUsage().heapTotal / (480 * 1024)) + 30;
    for (let at = 0; at < reconciles; at++) poolNodes.rollout('worker');
    return collections;
  };
  assert.equal(reconcile('gold'), 0);
  assert.ok(reconcile('silver') > 0);
});

test('after the signal a node is not written again, and counts as not written', async () => {
  const node = aNode({ labels: { 'node-role.kubernetes.io/worker': '' } });
  const state = new ClusterState([aPool({ labels: GOLD }, { finalizers: [FINALIZER] })], [node], []);
  const stopping = new AbortController();
  let patches = 0;
  const patch: NodesClient['patch'] = async () => {
    patches++;
    stopping.abort();
    return { kind: 'conflict' };
  };
  const outcome = emptyNodeOutcome();
  await aNodeWriter({ nodes: { patch, get: async (_name: string) => node } } as ClusterPort, state, {
    limitObjects: createLimiter(1),
    hasCaches: true,
    signal: stopping.signal,
  }).apply('worker', outcome);
  assert.deepEqual([patches, outcome], [1, { moves: [], failures: [], unwritten: 1 }]);
});
