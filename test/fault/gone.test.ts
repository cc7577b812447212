/** An expired resourceVersion leads to exactly one relist. */
import assert from 'node:assert/strict';
import { eventually } from '../e2e/watching.ts';
import { isList } from './asked.ts';
import { useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { holdWatches } from './streams.ts';

const testEnv = useFaultEnv({ own: true });

row(
  {
    fault: '410 in the stream; HTTP 410',
    slow: true,
    how: 'nodes and pools are changed and deleted while the API server restarts',
    holds: 'exactly one relist of each resource; missed deletes are noticed; same end state, no extra create or delete',
  },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, model } = run;
    const hold = holdWatches(proxy);
    await change(model);
    await eventually('something was held', () => hold.held() >= 10);
    await testEnv.cluster().stopApiserver();
    proxy.cut();
    hold.release();
    const before = proxy.requests.length;
    await testEnv.cluster().startApiserver();
    await judge(testEnv, run, 60_000);
    const lists = proxy.requests.slice(before).filter(isList);
    const paths = lists.map(({ path }) => path.split('/').at(-1)).sort();
    assert.deepEqual(paths, ['nodepools', 'nodes', 'runtimeclasses']);
    facts.relists = lists.length;
  },
);
