/** Retry-After is respected. */
import assert from 'node:assert/strict';
import { type Asked, isList, isReconcileWrite, isWatch } from './asked.ts';
import { useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { answerWith } from './treatments.ts';

const testEnv = useFaultEnv();
/** Longer than the back-off could be by chance. */
const SECONDS = 5;
/** Several workers may set the finalizer of a pool, and revisions of all pools are created by requests of one path. */
const isOfMany = ({ method, path }: Asked) =>
  (method === 'PATCH' && /\/nodepools\/[^/]+$/.test(path)) ||
  (method === 'POST' && path.endsWith('/controllerrevisions'));

row(
  {
    fault: '429 with Retry-After',
    slow: true,
    how: `the next watch of each resource and the first write of each object get a 429 with Retry-After: ${SECONDS}`,
    holds: 'the delay is respected; no relist; same end state, no extra create or delete',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy } = run;
    const before = proxy.requests.length;
    const refused = new Map<string, Asked>();
    const waits: number[] = [];
    const what = ({ method, path }: Asked) => `${method} ${path}`;
    proxy.onRequest(asked => {
      const first = refused.get(what(asked));
      if (first !== undefined) {
        if (!waited.has(first)) waits.push(asked.at - first.at);
        waited.add(first);
        return undefined;
      }
      if (isOfMany(asked) || (!isReconcileWrite(asked) && !isWatch(asked))) return undefined;
      refused.set(what(asked), asked);
      return answerWith(429, 'too many requests', { 'retry-after': String(SECONDS) });
    });
    const waited = new Set<Asked>();
    proxy.cut();
    await change(run.model);
    await judge(testEnv, run);
    assert.equal(waits.length, refused.size, 'everything was asked again');
    assert.ok(refused.size >= 12, `${refused.size}`);
    assert.ok(Math.min(...waits) >= SECONDS * 1000, `${Math.min(...waits)} ms`);
    assert.deepEqual(proxy.requests.slice(before).filter(isList), []);
    facts.refused = refused.size;
    facts.shortestWaitMs = Math.round(Math.min(...waits));
    facts.relists = 0;
  },
);
