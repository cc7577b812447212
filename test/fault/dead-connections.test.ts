/** Idle connections go silent without a FIN or RST. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { converged, useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';

const testEnv = useFaultEnv();
/** As with client-go, whose ping ends all streams of a dead connection after 45 s. */
const MAX_TOGETHER_S = 50;

row(
  {
    fault: 'connections that go silent',
    slow: true,
    how: 'all connections get no more data, then nodes and pools are edited',
    holds: 'the pools converge within 50 s; the leader keeps its Lease',
    timeout: 200_000,
  },
  async (t, facts) => {
    const run = await begin(testEnv, t, { flags: ['--leader-elect', '--leader-elect-namespace', 'default'] });
    const { proxy, model, child } = run;
    await change(model);
    await judge(testEnv, run);
    const speak = proxy.silence();
    const since = performance.now();
    await model.editPool('two', { labels: { tier: 'third' }, handler: 'runc' });
    await model.drift('joins', { tier: 'drifted' });
    await sleep(500);
    speak();
    await converged(model, proxy, 150_000);
    const seconds = (performance.now() - since) / 1000;
    facts.settledAfterSeconds = Math.round(seconds);
    assert.ok(seconds < MAX_TOGETHER_S, `${seconds} s`);
    assert.deepEqual(child.lines(/lost the lease/), []);
    assert.equal(await child.end(), 0);
  },
);
