import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderWhy } from '../../../../../src/commands/shared/describe/print-why.ts';
import { whyNode } from '../../../../../src/commands/shared/describe/why.ts';
import type { Node } from '../../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';
import { plain } from '../../../print/fixtures.ts';

const NAME = 'ip-10-0-1-15.eu-west-1.compute.internal';

function deps(node: Node, ...pools: ReturnType<typeof aPool>[]) {
  const find = async (name: string) => (name === node.name ? node : undefined);
  const nodes = {
    get: find,
    list: async () => [node],
    fieldSetters: async () => undefined,
    serverTime: () => new Date(0),
  };
  return { cluster: { pools: { listCoerced: async () => pools }, nodes } };
}

test('prints what the pool set, what is missing, and what it waits for', async () => {
  const worker = (more: Parameters<typeof aPool>[0] = {}) =>
    aPool({ nodeSelector: { pool: 'worker' }, labels: { tier: 'gold', team: 'a' }, ...more }, { name: 'worker' });
  const node = aNode({
    name: NAME,
    labels: { pool: 'worker', team: 'a' },
    record: recordOf({ pool: 'worker', labels: { team: 'a', tier: 'gold' } }),
  });
  const text = async (pool = worker(), pools: string[] = []) =>
    renderWhy(
      await whyNode('ip-10-0-1-15', pools, deps(node, pool, aPool({ nodeSelector: { x: 'y' } }, { name: 'x' }))),
      plain,
    );
  const all = await text();
  assert.equal(
    all,
    `node ${NAME} is in pool worker

pool worker: owns the node
  = pool=worker  the node has this label
  the pool set team=a
  + label tier=gold  (drift)
  \`kubectl nodepool reconcile worker\` makes these changes

pool x: does not match
  ! x=y  the node does not have this label`,
  );
  assert.equal(await text(worker(), ['worker']), all.slice(0, all.indexOf('\n\npool x')));
  assert.match(
    await text(worker({ paused: true })),
    /\n {2}pool worker is paused; to resume: `kubectl nodepool rollout resume worker`\n/,
  );
  // The turns of other nodes are not read.
  const rolledOut = { labels: { tier: 'new', team: 'a' }, rollout: { maxConcurrent: 1 } };
  assert.match(
    await text(worker(rolledOut)),
    /\n {2}`kubectl nodepool reconcile worker` makes these changes once it is the node's turn in the rollout\n/,
  );
});

test('names values that nearly match, and the right order of arguments', async () => {
  const node = aNode({ name: NAME, labels: { pool: 'workers' } });
  const some = deps(node, aPool({ nodeSelector: { pool: 'worker' } }, { name: 'worker' }));
  const text = renderWhy(await whyNode(NAME, ['worker'], some), plain);
  assert.match(text, /\n {2}! pool=worker {2}the node has pool=workers; the selector requires pool=worker$/);
  await assert.rejects(whyNode('worker', [NAME], some), {
    next: `write the node first: \`kubectl nodepool why ${NAME} worker\``,
  });
  await assert.rejects(whyNode('worker', [], some), { message: 'node "worker" not found: it is a pool' });
  await assert.rejects(whyNode(NAME, ['workr'], some), {
    message: 'nodepool "workr" not found; did you mean "worker"?',
  });
});
