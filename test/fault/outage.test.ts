/** The API server is unavailable for a minute, with writes in flight. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../e2e/watching.ts';
import { isLook, isReconcileWrite, isWatch } from './asked.ts';
import { useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { drop } from './treatments.ts';

const testEnv = useFaultEnv({ own: true });
const AWAY_MS = 60_000;
const [FIRST_MS, CAP_MS] = [800, 15_000];

row(
  {
    fault: 'server errors and outages',
    how: 'the API server is stopped for 60 s after half of the changes',
    holds: 'requests are retried after 0.8 s to 30 s; same end state, no extra create or delete',
    timeout: 240_000,
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, model, child } = run;
    let [writes, dropped] = [0, 0];
    const undo = proxy.onRequest(asked => {
      if (!isReconcileWrite(asked)) return undefined;
      writes += 1;
      if (writes <= 5) return undefined;
      dropped += 1;
      return drop;
    });
    await change(model);
    await eventually('some writes failed', () => dropped >= 3);
    await testEnv.cluster().stopApiserver();
    undo();
    const from = performance.now();
    await sleep(AWAY_MS);
    const away = proxy.requests.filter(({ at }) => at >= from);
    await testEnv.cluster().startApiserver();
    const back = performance.now();
    await judge(testEnv, run, 100_000);
    facts.recoveredAfterSeconds = Math.round((performance.now() - back) / 1000);

    for (const path of ['/api/v1/nodes', '/apis/nodes.lailin.xyz/v1/nodepools']) {
      const attempts = away.filter(asked => (isWatch(asked) || isLook(asked)) && asked.path === path).length;
      assert.ok(attempts >= 5 && attempts <= 8, `${attempts} attempts at ${path}`);
      facts[`attemptsAt ${path.split('/').at(-1)}`] = attempts;
    }
    assert.ok(away.length < 300, `${away.length} attempts in 60 s`);
    facts.attemptsIn60s = away.length;
    assertBackoff(child.lines(/ nodes: .*next attempt in/));
    assert.notDeepEqual(delays(child.lines(/ nodes: .*next/)), delays(child.lines(/ nodepools: .*next/)), 'no jitter');
  },
);

const delays = (lines: string[]) => lines.map(line => Number(/next attempt in ([\d.]+) s/.exec(line)?.[1]) * 1000);

/** Each delay is that of its step plus jitter of up to 100 %; the log has tenths of a second. */
function assertBackoff(lines: string[]): void {
  delays(lines).forEach((delay, index) => {
    const base = Math.min(FIRST_MS * 2 ** index, CAP_MS);
    assert.ok(delay >= base - 50 && delay <= 2 * base + 50, `delay ${index + 1} is ${delay} ms`);
  });
}
