/** The server did the write but its response is lost. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isReconcileWrite, isWrite } from './asked.ts';
import { converged, useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { loseAnswer } from './treatments.ts';

const testEnv = useFaultEnv();

row(
  {
    fault: 'response lost',
    how: 'the response to the first write of each object and Event is dropped',
    holds: 'idempotent: same end state, no extra create or delete',
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
    fault: 'response lost',
    how: 'every response to a write is dropped for 5 s',
    holds: 'idempotent: same end state, no extra create or delete',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    let lost = 0;
    const undo = run.proxy.onRequest(asked => {
      if (!isReconcileWrite(asked)) return undefined;
      lost += 1;
      return loseAnswer;
    });
    await change(run.model);
    await sleep(5_000);
    undo();
    // The server has all writes; the next change shows that the product knows it, too.
    await judge(testEnv, run);
    await run.model.drift('joins', { tier: null });
    await converged(run.model, run.proxy);
    facts.lost = lost;
    assert.ok(lost >= 12, `${lost} answers lost`);
  },
);
