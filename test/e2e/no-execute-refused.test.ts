/** `noExecute: Drain` where the server refuses the taint after the pods are gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAudit } from '../cluster/audit.ts';
import { whileRefusing } from './refusal.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const TAINTS = [{ key: 'dedicated', value: 'x', effect: 'NoExecute' as const }];
const NO_EXECUTE = `t, t.effect == 'NoExecute'`;

test('the watch retries with delays, and sets the taint when the server accepts it', async t => {
  await testEnv.nodes({ name: 'n', labels: role('web') });
  await testEnv.pool('web', { noExecute: 'Drain' });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  const refusal = {
    group: '',
    resource: 'nodes',
    operation: 'UPDATE' as const,
    unless: `!has(object.spec.taints) || !object.spec.taints.exists(${NO_EXECUTE})`,
    probe: ['PATCH', '/api/v1/nodes/n', { spec: { taints: [{ key: 'a', effect: 'NoExecute' }] } }] as const,
  };
  await whileRefusing(testEnv.cluster(), { ...refusal, probe: [...refusal.probe] }, async () => {
    const start = (await readAudit(testEnv.cluster())).length;
    await testEnv.edit('web', { spec: { taints: TAINTS } });
    const refused = async () =>
      (await readAudit(testEnv.cluster()))
        .slice(start)
        .filter(({ verb, name, code }) => verb === 'patch' && name === 'n' && code >= 400).length;
    await eventually('the taint is refused', async () => (await refused()) > 0);
    await sleep(12_000);
    const tries = await refused();
    assert.ok(tries <= 4, `${tries} writes in 12 s`);
    t.diagnostic(`tries=${tries}`);
    assert.match(JSON.stringify((await testEnv.getPool('web'))?.status?.conditions), /not in this test/);
  });
  const isSet = async () => taintsOf(await testEnv.node('n')).join() === 'dedicated=x:NoExecute';
  await eventually('the taint is set', isSet, 60_000);
  assert.equal(await watching.end(), 0);
});
