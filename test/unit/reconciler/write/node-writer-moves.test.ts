/** Earlier writes of a call that fails in the end are reported once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimiter } from '../../../../src/controller/limiter.ts';
import type { ClusterPort, NodesClient } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { FINALIZER, type Node } from '../../../../src/nodepool/types.ts';
import { patchedNode } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import type { NodeOutcome } from '../../../../src/reconciler/write/node-writer.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { aNodeWriter, emptyNodeOutcome } from '../reconciler-options.ts';

const a = aPool({ labels: { tier: 'a' } }, { name: 'a', uid: 'a', finalizers: [FINALIZER] });
const b = aPool({ labels: { tier: 'b' } }, { name: 'b', uid: 'b', finalizers: [FINALIZER] });
/** Leaves pool a for pool b. */
const node = aNode({
  labels: { 'node-role.kubernetes.io/b': '', tier: 'a' },
  record: recordOf({ pool: 'a', labels: { tier: 'a' } }),
});

/** @param answer the response to the patch, of which `stored` was applied */
function begin(answer: (stored: Node, attempt: number, state: ClusterState) => Node) {
  const state = new ClusterState([a, b], [node], []);
  let attempt = 0;
  const patchNode: NodesClient['patch'] = async (name, patch) => {
    await new Promise(setImmediate);
    const stored = patchedNode(state.node(name) ?? assert.fail(), patch);
    attempt++;
    return { kind: 'written', node: answer({ ...stored, resourceVersion: String(7 + attempt) }, attempt, state) };
  };
  const cluster = { nodes: { patch: patchNode } } as unknown as ClusterPort;
  const nodes = aNodeWriter(cluster, state, { limitObjects: createLimiter(4), hasCaches: true });
  return { nodes, outcome: emptyNodeOutcome };
}

const reports = ({ moves }: NodeOutcome) => moves.map(({ node, from, to }) => `${node}: ${from} to ${to}`);

test('returns the failure of an altered write to both waiting pools, and the move to one', async () => {
  const { nodes, outcome } = begin(stored => ({ ...stored, labels: { ...stored.labels, tier: 'x' } }));
  const [first, second] = [outcome(), outcome()];
  await Promise.all([nodes.apply('a', first), nodes.apply('b', second)]);
  assert.deepEqual([first.failures.length, second.failures.length], [1, 1]);
  assert.deepEqual([reports(first), reports(second)], [['n1: a to b'], []]);
  assert.ok(first.retryAfterMs !== undefined && first.retryAfterMs === second.retryAfterMs);
});

/** Pool b after the first write, so that another write is due. */
function edit(state: ClusterState): void {
  state.setPool({ ...b, spec: { labels: { tier: 'b', more: 'x' } }, metadata: { ...b.metadata, generation: 2 } });
}

test('reports a write together with the error of a later attempt', async () => {
  const refusal = new NodepoolError('cluster', 'cannot patch Node: forbidden', 'ask', {
    items: ['x'],
    isTransient: true,
  });
  const { nodes, outcome } = begin((stored, attempt, state) => {
    if (attempt > 1) throw refusal;
    edit(state);
    return stored;
  });
  const result = outcome();
  await nodes.apply('b', result);
  assert.deepEqual(reports(result), ['n1: a to b']);
  assert.deepEqual(
    result.moves[0]?.changes.map(({ key, to }) => [key, to]),
    [['tier', 'b']],
  );
  assert.deepEqual(result.failures, [{ message: refusal.oneLine, next: 'ask', node: 'n1' }]);
  assert.equal(result.retryAfterMs, undefined);
});

test('reports a write before a write that the server alters', async () => {
  const { nodes, outcome } = begin((stored, attempt, state) => {
    if (attempt === 1) edit(state);
    return attempt === 1 ? stored : { ...stored, labels: { ...stored.labels, more: 'y' } };
  });
  const result = outcome();
  await nodes.apply('b', result);
  assert.deepEqual(reports(result), ['n1: a to b']);
  assert.deepEqual(
    result.moves[0]?.changes.map(({ key, to }) => [key, to]),
    [['tier', 'b']],
  );
  assert.equal(result.failures.length, 1);
  assert.ok(result.retryAfterMs);
});
