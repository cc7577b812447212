/** A server that fails with errors or refuses connections, and recovers. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../e2e/watching.ts';
import { isList } from './asked.ts';
import { useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';
import { endWith } from './streams.ts';
import { answerWith } from './treatments.ts';

const testEnv = useFaultEnv();
const FAULT = '500, in-stream error, refused connection';
const ERROR = { type: 'ERROR', object: { kind: 'Status', status: 'Failure', code: 500, message: 'boom' } };
const HOLDS = 'never stops, never spins; no relist; same end state, no extra create or delete';

row({ fault: FAULT, how: 'every request gets a 500 for 5 s during the changes', holds: HOLDS }, async (t, facts) => {
  const run = await begin(testEnv, t);
  const { proxy } = run;
  const before = proxy.requests.length;
  const undo = proxy.onRequest(() => answerWith(500, 'boom'));
  await change(run.model);
  await sleep(2_500);
  proxy.cut();
  await sleep(2_500);
  undo();
  const attempts = proxy.requests.slice(before);
  await judge(testEnv, run, 60_000);
  assert.ok(attempts.length > 20 && attempts.length < 400, `${attempts.length} attempts in 5 s`);
  assert.deepEqual(proxy.requests.slice(before).filter(isList), []);
  facts.attemptsIn5s = attempts.length;
});

row(
  { fault: FAULT, how: 'each watch ends with an ERROR event of code 500 instead of a change', holds: HOLDS },
  async t => {
    const through = await testEnv.proxy(t);
    through.isJson = true;
    const run = await begin(testEnv, t, { through: { proxy: through, kubeconfig: through.kubeconfig } });
    const { proxy, child } = run;
    const before = proxy.requests.length;
    const endings = ['nodes', 'nodepools', 'runtimeclasses'].map(resource =>
      endWith(proxy, `${JSON.stringify(ERROR)}\n`, ({ path }) => path.endsWith(resource)),
    );
    await change(run.model);
    await Promise.all(endings);
    await judge(testEnv, run);
    assert.equal(child.lines(/the server answered 500: boom; next attempt in/).length, 3);
    assert.deepEqual(proxy.requests.slice(before).filter(isList), []);
  },
);

const AWAY_HOLDS = 'never stops, never spins; one list of each resource; same end state, no extra create or delete';

row(
  { fault: FAULT, how: 'connections are refused for 5 s during the changes', holds: AWAY_HOLDS },
  async (t, facts) => {
    const run = await begin(testEnv, t);
    const { proxy, child } = run;
    const before = proxy.requests.length;
    await proxy.refuse();
    await change(run.model);
    await sleep(5_000);
    await proxy.accept();
    await judge(testEnv, run, 60_000);
    const attempts = child.lines(/next attempt in/).length;
    assert.ok(attempts >= 3 * 2 && attempts <= 3 * 4, `${attempts} attempts of three watches in 5 s`);
    // An unavailable server may have been restored from a backup meanwhile.
    const lists = () =>
      proxy.requests
        .slice(before)
        .filter(isList)
        .map(({ path }) => path.split('/').at(-1))
        .sort();
    // A reflector whose last attempt failed late still waits for its back-off.
    await eventually('each cache relists', () => lists().length >= 3);
    assert.deepEqual(lists(), ['nodepools', 'nodes', 'runtimeclasses']);
    facts.watchAttemptsIn5s = attempts;
  },
);
