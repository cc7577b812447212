/** SIGKILL at any moment: the next process repeats the work and reaches the same state. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from './child.ts';
import { converged, type Test, useFaultEnv } from './fault-env.ts';
import { limitWrites } from './limit-writes.ts';
import { assertNeverBack, createsAndDeletes, snapshot } from './oracle.ts';
import { row } from './row.ts';
import { begin } from './runs.ts';
import { CREATES_AND_DELETES, change } from './scenario.ts';

const testEnv = useFaultEnv();

/** Runs the changes and kills the process after the response to its Nth write; false if it writes less often. */
async function killAfter(t: Test, writes: number): Promise<boolean> {
  const run = await begin(testEnv, t);
  const { proxy, model, child, wanted, mark } = run;
  const limit = limitWrites(proxy, writes);
  await change(model);
  const end = performance.now() + QUIET_MS;
  while (!limit.reached() && performance.now() < end) await sleep(1);
  const kills = limit.reached();
  if (kills) await child.end('SIGKILL');
  limit.undo();
  const ofFirst = proxy.requests.length;
  if (kills) await startChild(t, proxy).synced();
  const context = `killed after write ${writes}`;
  await converged(model, proxy);
  assert.deepEqual(await snapshot(testEnv.cluster()), wanted, context);
  assert.deepEqual(await createsAndDeletes(testEnv.cluster(), mark), CREATES_AND_DELETES, context);
  assertNeverBack(proxy.requests.slice(0, ofFirst));
  assertNeverBack(proxy.requests.slice(ofFirst));
  return kills;
}

/** Without a write for this long after the changes there is no Nth one. */
const QUIET_MS = 3_000;

row(
  {
    fault: 'killed half-way',
    how: 'SIGKILL after the Nth write response, for every N',
    holds: 'same end state after a restart, no extra create or delete',
    timeout: 500_000,
  },
  async (t, facts) => {
    let kills = 0;
    for (let wasKilled = true; wasKilled; ) {
      const ends: (() => unknown)[] = [];
      t.after(() => Promise.all(ends.map(end => end())));
      wasKilled = await killAfter({ after: end => ends.unshift(end) }, kills + 1);
      for (const end of ends.splice(0)) await end();
      await testEnv.clean();
      if (wasKilled) kills += 1;
    }
    facts.kills = kills;
    assert.ok(kills >= 15, `${kills} kills`);
  },
);
