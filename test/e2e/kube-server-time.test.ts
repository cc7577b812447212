/** The server's clock, by the Date header of its responses: the ages of nodes do not depend on the clock of this machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/controller/clock.ts';
import { cli } from '../cluster/harness.ts';
import { openTransport } from './admin-transport.ts';
import { relay } from './relay.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const MINUTE = 60_000;

test('serverTime() continues from the last response, independent of the wall clock', async t => {
  let passed = 0;
  const transport = openTransport(testEnv.cluster(), { ...systemClock, now: () => systemClock.now() + passed });
  t.after(() => transport.close());
  assert.equal(transport.serverTime(), undefined);
  const { headers } = await transport.request({ path: '/version' });
  const behind = () => (transport.serverTime()?.getTime() ?? 0) - Date.parse(headers.date ?? '');
  assert.ok(behind() >= 0 && behind() < 30_000, String(behind()));
  passed = 60 * MINUTE;
  t.mock.timers.enable({ apis: ['Date'], now: 0 });
  assert.ok(behind() >= 60 * MINUTE && behind() < 61 * MINUTE, String(behind()));
  await transport.request({ path: '/version' });
  assert.ok(behind() < MINUTE, String(behind()));
});

test('a watch response sets the server time', async t => {
  const transport = openTransport(testEnv.cluster());
  t.after(() => transport.close());
  const ending = new AbortController();
  const response = await transport.stream({ path: '/api/v1/nodes', query: { watch: 'true' } }, ending.signal);
  assert.ok(transport.serverTime() !== undefined);
  response.on('error', () => {});
  ending.abort();
});

test('ages are printed by the server time', async t => {
  await testEnv.pool('w');
  await testEnv.nodes({ name: 'a' });
  const { server } = await relay(t, testEnv.cluster(), { aheadMs: 60 * MINUTE });
  for (const args of [['get'], ['nodes', '--unassigned'], ['describe', 'w'], ['history', 'w']]) {
    const { stdout, stderr } = await cli(testEnv.cluster(), [...args, '--server', server]);
    assert.match(stdout, /\b6[01]m(\d+s)?\b/, `${args.join(' ')}: ${stdout}${stderr}`);
  }
});
