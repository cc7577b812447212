/** The server did the write but its response is lost; a server that fails every request, and recovers. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isList, isWrite } from './asked.ts';
import { useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { answerWith, loseAnswer } from './treatments.ts';

const testEnv = useFaultEnv();

row(
  {
    fault: 'response lost',
    how: 'the response to the first write of each object is dropped',
    holds: 'same end state, no extra create or delete',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const lost = new Set<string>();
    run.proxy.onRequest(asked => {
      const what = `${asked.method} ${asked.path}`;
      if (!isWrite(asked) || lost.has(what)) return undefined;
      lost.add(what);
      return loseAnswer;
    });
    await change(run.model);
    await judge(testEnv, run);
    facts.lost = lost.size;
    assert.ok(lost.size >= 12, [...lost].join('\n'));
  },
);

row(
  {
    fault: 'server errors and outages',
    how: 'every request gets a 500 for 3 s during the changes',
    holds: 'requests are retried with delays; nothing is listed again; same end state, no extra create or delete',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy } = run;
    const before = proxy.requests.length;
    const undo = proxy.onRequest(() => answerWith(500, 'boom'));
    await change(run.model);
    await sleep(1_500);
    proxy.cut();
    await sleep(1_500);
    undo();
    const attempts = proxy.requests.slice(before);
    await judge(testEnv, run, 60_000);
    assert.ok(attempts.length > 15 && attempts.length < 300, `${attempts.length} attempts in 3 s`);
    assert.deepEqual(proxy.requests.slice(before).filter(isList), []);
    facts.attemptsIn3s = attempts.length;
  },
);
