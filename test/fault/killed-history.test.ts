/** SIGKILL while the watch keeps a revision of a new spec, or raises that of one that is undone. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { cli } from '../cluster/harness.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { startChild } from './child.ts';
import { type Test, useFaultEnv } from './fault-env.ts';
import { limitWrites } from './limit-writes.ts';
import { auditMark, writes } from './oracle.ts';
import { row } from './row.ts';

const testEnv = useFaultEnv();
const NAMES = ['a', 'b', 'c'];
const QUIET_MS = 2_000;

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

/** Kills the watch after the response to its Nth write; false if it writes less often. */
async function killAfter(t: Test, most: number, tier: string, change: () => Promise<unknown>): Promise<boolean> {
  const proxy = await testEnv.proxy(t);
  const child = startChild(t, proxy);
  await child.synced();
  await sleep(300);
  const { undo, reached } = limitWrites(proxy, most);
  await change();
  const end = performance.now() + QUIET_MS;
  while (!reached() && performance.now() < end) await sleep(1);
  const kills = reached();
  if (kills) await child.end('SIGKILL');
  undo();
  const next = kills ? startChild(t, proxy) : child;
  await eventually('it is rolled out', isRolledOut(tier));
  await next.end();
  return kills;
}

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
    fault: 'killed half-way',
    how: 'SIGKILL after the Nth write response, for every N, while a spec is rolled out and undone',
    holds: 'each spec is one revision, ten former ones are kept, and none is created, raised or deleted twice',
    timeout: 500_000,
    slow: true,
  },
  async (t, facts) => {
    await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
    const rollout = { maxConcurrent: 1, settleSeconds: 0 };
    await testEnv.pool('web', { rollout: {}, handler: 'runc', labels: { tier: '0' } });
    for (let at = 0; at < 11; at++) {
      await testEnv.edit('web', { spec: { labels: { tier: String(at) } } });
      await testEnv.reconcile();
    }
    await testEnv.edit('web', { spec: { rollout } });
    let wanted = (await tiersOf()).map(String);
    let kills = 0;
    for (const isUndo of [false, true]) {
      for (let most = 1; ; most++) {
        const ends: (() => unknown)[] = [];
        t.after(() => Promise.all(ends.map(end => end())));
        const mark = await auditMark(testEnv.cluster());
        const [tier, change] = isUndo
          ? [wanted.at(-2) ?? '', () => cli(testEnv.cluster(), ['rollout', 'undo', 'web'])]
          : [`new-${most}`, () => testEnv.edit('web', { spec: { labels: { tier: `new-${most}` } } })];
        const wasKilled = await killAfter({ after: end => ends.unshift(end) }, most, tier, change);
        for (const end of ends.splice(0)) await end();
        wanted = isUndo ? [...wanted.filter(each => each !== tier), tier] : [...wanted.slice(1), tier];
        const context = `${isUndo ? 'undone' : 'rolled out'}, killed after write ${most}`;
        assert.deepEqual(await tiersOf(), wanted, context);
        const expected = isUndo ? { patch: 1 } : { create: 1, delete: 1 };
        assert.deepEqual(await revisionWrites(mark), expected, context);
        if (!wasKilled) break;
        kills += 1;
      }
    }
    facts.kills = kills;
    assert.ok(kills >= 10, `${kills} kills`);
  },
);
