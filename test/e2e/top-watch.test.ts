/** `top --watch` on a terminal while the API server is down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTerminal } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ own: true });
const { cluster } = testEnv;

test('shows a failed read below the table with the age, until a read succeeds', async t => {
  await testEnv.nodes({ name: 'w1', labels: role('web') });
  await testEnv.pool('web');
  const terminal = openTerminal(t, cluster(), ['top', '--watch'], { columns: 150, env: { NO_COLOR: '1' } });
  await terminal.shows(/^web +1\/1 /m);
  assert.match(terminal.screen(), /^Every 5 s\. Ctrl-C ends\.$/m);
  assert.doesNotMatch(terminal.screen(), /warning/);
  await cluster().stopApiserver();
  const stale = /^POOL [\s\S]*^web +1\/1 [\s\S]*^warning: [^\n]+; the table is (\d+)s old$/m;
  const ageOf = (screen: string) => Number(stale.exec(screen)?.[1]);
  const first = ageOf(await terminal.shows(stale));
  assert.ok(first >= 4, String(first));
  await eventually('it grows older', () => ageOf(terminal.screen()) > first);
  await cluster().startApiserver();
  await eventually(
    'the table is new',
    () => /^web +1\/1 /m.test(terminal.screen()) && !/old$/m.test(terminal.screen()),
  );
});
