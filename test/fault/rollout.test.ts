/** Rollouts and pauses while `reconcile --watch` is killed: the state is on the nodes and the pool. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodePoolStatus, RolloutStrategy } from '../../src/nodepool/types.ts';
import { sampleRollout } from '../e2e/rollout-samples.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { type Asked, isReconcileWrite } from './asked.ts';
import { startChild } from './child.ts';
import { type Test, useFaultEnv } from './fault-env.ts';
import { limitWrites } from './limit-writes.ts';
import { row } from './row.ts';
import { holdWatches } from './streams.ts';
import { drop, loseAnswer } from './treatments.ts';

const testEnv = useFaultEnv();
const namesOf = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);

function progressOf(status: NodePoolStatus | undefined): string {
  const { reason = '', message = '' } = status?.conditions?.find(({ type }) => type === 'Progressing') ?? {};
  return `${reason}: ${message}`;
}
const progress = async () => progressOf((await testEnv.getPool('web'))?.status);

/** Not the revision of the new spec. */
const isNodeWrite = (asked: Asked) => isReconcileWrite(asked) && asked.path.startsWith('/api/v1/nodes/');

async function begin(count: number, rollout?: RolloutStrategy) {
  await testEnv.nodes(...namesOf(count).map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' }, ...(rollout === undefined ? {} : { rollout }) });
  await testEnv.reconcile();
}

/**
 * Starts `reconcile --watch` and kills it after so many writes. Each has a proxy of its own: one that reads a request
 * of a killed process late would count it as a write of the next one, which then never reaches the number.
 */
async function killAfter(t: Test, writes: number, isCounted?: (asked: Asked) => boolean, ms = 40_000): Promise<void> {
  const proxy = await testEnv.proxy(t);
  const { reached } = limitWrites(proxy, writes, isCounted);
  const child = startChild(t, proxy);
  await child.synced();
  await eventually(`${writes} writes`, reached, ms, async () => [await progress(), child.log()]);
  await child.end('SIGKILL');
  await proxy.stop();
}

row(
  {
    fault: 'killed during its writes',
    how: 'SIGKILL after each write of a rollout',
    holds: 'the canary is first; never more than maxConcurrent nodes change at once; each node is written once',
  },
  async (t, facts) => {
    const [count, canary, maxConcurrent, settleSeconds] = [8, 1, 2, 1];
    await begin(count, { canary, maxConcurrent, settleSeconds });
    const samples = await sampleRollout(t, testEnv.cluster(), '2', settleSeconds);
    await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
    let kills = 0;
    const isDone = async () => {
      const { metadata, status } = (await testEnv.getPool('web')) ?? assert.fail();
      return status?.observedGeneration === metadata.generation && /^RolloutComplete/.test(progressOf(status));
    };
    while (!(await isDone())) {
      await killAfter(t, 1, undefined, 8_000);
      kills += 1;
      assert.ok(kills < 100, await progress());
    }
    await eventually('the watch has seen them', () => samples.changed() === count);
    assert.equal(samples.writes(), count);
    assert.ok(samples.most() <= maxConcurrent, `${samples.most()} in flight`);
    assert.deepEqual(samples.order().slice(0, canary), ['n0']);
    assert.ok(samples.afterCanary(canary) >= settleSeconds * 1000, 'the others waited for the canary');
    Object.assign(facts, { kills, inFlight: samples.most() });
  },
);

row(
  {
    fault: 'killed during its writes',
    how: 'a pool is paused during its writes; SIGKILL before and after it is resumed',
    holds: 'no node is written during the pause; drift is reported; later the same end state',
  },
  async (t, facts) => {
    const [count, first] = [8, 3];
    await begin(count);
    const samples = await sampleRollout(t, testEnv.cluster(), '2', 0);
    const proxy = await testEnv.proxy(t);
    await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
    await killAfter(t, first, isNodeWrite);
    await eventually('the watch has seen that', () => samples.changed() === first);
    await testEnv.edit('web', { spec: { paused: true } });
    // Its only write is the status.
    await killAfter(t, 1);
    assert.match(await progress(), /^Paused: .*5 of 8 nodes wait for its changes/);
    const paused = startChild(t, proxy, '--resync', '1s');
    await paused.synced();
    await testEnv.patchNode('n0', { metadata: { labels: { tier: 'drifted' } } });
    await eventually('drift is told', async () => /6 of 8 nodes wait/.test(await progress()));
    await sleep(2_500);
    // Those of the first process, and the drift.
    assert.equal(samples.writes(), first + 1);
    await paused.end('SIGKILL');
    await testEnv.edit('web', { spec: { paused: null } });
    await killAfter(t, 1);
    const last = startChild(t, proxy);
    await eventually('all are changed', () => samples.changed() === count);
    await eventually('it is told', async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === count);
    assert.equal(samples.writes(), count + 2, 'one write a node, the drift and its repair');
    await last.end();
    facts.kills = 4;
  },
);

row(
  {
    fault: 'response lost',
    how: 'every response to a write in a rollout is dropped, and the watch of nodes is held',
    holds: 'the node counts as in progress; never more than maxConcurrent nodes change at once',
  },
  async (t, facts) => {
    const [count, settleSeconds] = [4, 4];
    await begin(count, { maxConcurrent: 1, settleSeconds });
    const samples = await sampleRollout(t, testEnv.cluster(), '2', settleSeconds);
    const proxy = await testEnv.proxy(t);
    const child = startChild(t, proxy, '--resync', '1s');
    await child.synced();
    const isOfNode = ({ path }: Asked) => path === '/api/v1/nodes/n0';
    const held = holdWatches(proxy, ({ path }) => path === '/api/v1/nodes');
    // Reads of the node fail as well, and then do not.
    const undo = proxy.onRequest(asked =>
      isOfNode(asked) ? (isReconcileWrite(asked) ? loseAnswer : drop) : undefined,
    );
    await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
    await eventually('the write fails', () => child.lines(/web failed/).length > 0);
    const lost = proxy.requests.filter(asked => isOfNode(asked) && isReconcileWrite(asked)).length;
    await sleep(1_500);
    assert.deepEqual(samples.order(), ['n0']);
    undo();
    held.release();
    await eventually('all are changed', () => samples.changed() === count, 90_000);
    assert.equal(samples.most(), 1);
    assert.equal(samples.writes(), count);
    Object.assign(facts, { lost, inFlight: samples.most() });
  },
);
