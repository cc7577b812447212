/** SIGKILL after each write: the next process repeats the work and reaches the same state. */
import assert from 'node:assert/strict';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { startChild } from './child.ts';
import { differences } from './expected.ts';
import { type Test, useFaultEnv } from './fault-env.ts';
import { limitWrites } from './limit-writes.ts';
import { assertNeverBack, auditMark, writes } from './oracle.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';

const testEnv = useFaultEnv();
const NAMES = ['a', 'b', 'c'];

/**
 * Starts the watch and kills it after the response to its first write, or to so many, until one finds all done; returns how
 * many were killed. Each has a proxy of its own: a request of a killed process that is read late is none of the next one.
 */
async function killAfterEach(t: Test, isDone: () => Promise<boolean>, limit = (_kills: number) => 1): Promise<number> {
  for (let kills = 0; ; kills++) {
    assert.ok(kills < 100, 'each does something');
    const proxy = await testEnv.proxy(t);
    const { reached } = limitWrites(proxy, limit(kills));
    const child = startChild(t, proxy);
    await eventually('it writes, or all is done', async () => reached() || (await isDone()));
    await child.end('SIGKILL');
    await proxy.stop();
    assertNeverBack(proxy.requests);
    if (!reached()) return kills;
  }
}

row(
  {
    fault: 'killed during its writes',
    how: 'SIGKILL after each response to a write',
    holds: 'same end state, no extra create or delete',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    await run.child.end('SIGKILL');
    await change(run.model);
    const isDone = async () => (await differences(run.model)).length === 0;
    // The first write of each may be an Event of the same state.
    facts.kills = await killAfterEach(t, isDone, kills => 1 + (kills % 3));
    assert.ok(facts.kills >= 8, `${facts.kills} kills`);
    await startChild(t, run.proxy).synced();
    await judge(testEnv, run);
  },
);

const tiersOf = async () =>
  (await testEnv.revisions()).map(({ data }) => (data as { spec: NodePoolSpec }).spec.labels?.tier);

/** Every node has the spec, and the status says so. */
const isRolledOut = (tier: string) => async () => {
  const pool = await testEnv.getPool('web');
  const progress = pool?.status?.conditions?.find(({ type }) => type === 'Progressing');
  const isObserved = pool?.status?.observedGeneration === pool?.metadata.generation;
  if (!isObserved || progress?.reason !== 'RolloutComplete') return false;
  const tiers = await Promise.all(NAMES.map(async name => (await testEnv.node(name)).metadata.labels.tier));
  return tiers.every(each => each === tier);
};

/** The writes of revisions since then. */
async function revisionWrites(mark: number): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [write, count] of Object.entries(await writes(testEnv.cluster(), mark))) {
    const [verb = '', resource] = write.split(' ');
    if (resource === 'controllerrevisions') found[verb] = (found[verb] ?? 0) + count;
  }
  return found;
}

row(
  {
    fault: 'killed during its writes',
    how: 'SIGKILL after each response to a write, while a spec is rolled out and undone',
    holds: 'each spec is one revision; ten earlier revisions are kept; none is written twice',
  },
  async (t, facts) => {
    await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', { rollout: {}, handler: 'runc', labels: { tier: '0' } });
    for (let at = 0; at < 11; at++) {
      await testEnv.edit('web', { spec: { labels: { tier: String(at) } } });
      await testEnv.reconcile();
    }
    await testEnv.edit('web', { spec: { rollout: { maxConcurrent: 1, settleSeconds: 0 } } });
    const before = (await tiersOf()).map(String);
    const mark = await auditMark(testEnv.cluster());
    await testEnv.edit('web', { spec: { labels: { tier: 'new' } } });
    const kills = await killAfterEach(t, isRolledOut('new'));
    assert.deepEqual(await tiersOf(), [...before.slice(1), 'new']);
    assert.deepEqual(await revisionWrites(mark), { create: 1, delete: 1 });

    const undone = await auditMark(testEnv.cluster());
    const tier = before.at(-1) ?? '';
    assert.equal((await cli(testEnv.cluster(), ['rollout', 'undo', 'web'])).code, 0);
    facts.kills = kills + (await killAfterEach(t, isRolledOut(tier)));
    assert.deepEqual(await tiersOf(), [...before.slice(1, -1), 'new', tier]);
    assert.deepEqual(await revisionWrites(undone), { patch: 1 });
    assert.ok(facts.kills >= 10, `${facts.kills} kills`);
  },
);
