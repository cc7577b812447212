/** What a write that fails in the end did before: it is told, and told once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimiter } from '../../../src/controller/limiter.ts';
import { FINALIZER, type Node } from '../../../src/nodepool/types.ts';
import { patchedNode } from '../../../src/reconciler/node-plan.ts';
import { type NodeOutcome, PoolNodes } from '../../../src/reconciler/pool-nodes.ts';
import type { ClusterPort } from '../../../src/reconciler/ports.ts';
import { View } from '../../../src/reconciler/view.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const a = aPool({ labels: { tier: 'a' } }, { name: 'a', uid: 'a', finalizers: [FINALIZER] });
const b = aPool({ labels: { tier: 'b' } }, { name: 'b', uid: 'b', finalizers: [FINALIZER] });
/** Leaves pool a for pool b. */
const node = aNode({
  labels: { 'node-role.kubernetes.io/b': '', tier: 'a' },
  record: recordOf({ pool: 'a', labels: { tier: 'a' } }),
});

/** @param answer to the patch, after `stored` of what it asks for */
function begin(answer: (stored: Node, attempt: number, view: View) => Node) {
  const view = new View([a, b], [node], []);
  let attempt = 0;
  const patchNode: ClusterPort['patchNode'] = async (name, patch) => {
    await new Promise(setImmediate);
    const stored = patchedNode(view.node(name) ?? assert.fail(), patch);
    attempt++;
    return { kind: 'written', node: answer({ ...stored, resourceVersion: String(7 + attempt) }, attempt, view) };
  };
  const cluster = { patchNode } as ClusterPort;
  const nodes = new PoolNodes({
    cluster,
    view,
    limit: createLimiter(4),
    sleep: async () => {},
    clock: new FakeClock(),
  });
  const outcome = (): NodeOutcome => ({ moves: [], failures: [], unwritten: 0 });
  return { nodes, outcome };
}

const told = ({ moves }: NodeOutcome) => moves.map(({ node, from, to }) => `${node}: ${from} to ${to}`);

test('two pools wait for one write that the server alters: both have the failure, one has the move', async () => {
  const { nodes, outcome } = begin(stored => ({ ...stored, labels: { ...stored.labels, tier: 'x' } }));
  const [first, second] = [outcome(), outcome()];
  await Promise.all([nodes.settle('a', first), nodes.settle('b', second)]);
  assert.deepEqual([first.failures.length, second.failures.length], [1, 1]);
  assert.deepEqual([told(first), told(second)], [['n1: a to b'], []]);
  assert.ok(first.retryAfterMs !== undefined && first.retryAfterMs === second.retryAfterMs);
});
