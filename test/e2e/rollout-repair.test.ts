/** Members that wait for their turn in a rollout keep their spec: drift and startup taints do not wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setCondition, setReady } from '../cluster/nodes.ts';
import { recordOf } from './birth.ts';
import { commandsOf } from './commands.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { unchanged } = commandsOf(testEnv.cluster);
const names = ['n0', 'n1', 'n2', 'n3'];
const reasonIs = (reason: string) => async () =>
  (await testEnv.getPool('web'))?.status?.conditions?.some(
    each => each.type === 'Progressing' && each.reason === reason,
  );

test('repairs drift in a stopped rollout', { timeout: 120_000 }, async t => {
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  const until = { nodeCondition: 'AgentReady' };
  await testEnv.pool('web', {
    labels: { tier: '1' },
    taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    startupTaints: [{ key: 'agent', effect: 'NoSchedule', until }],
    rollout: { canary: 1, settleSeconds: 5 },
  });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  const tier = async (name: string) => (await testEnv.node(name)).metadata.labels.tier;
  await eventually('the canary is changed', async () => (await tier('n0')) === '2');
  await setReady(testEnv.cluster(), 'n0', false);
  await eventually('it is stopped', reasonIs('RolloutStopped'));
  const taints = async (name: string) => taintsOf(await testEnv.node(name));
  const both = await taints('n1');
  await setCondition(testEnv.cluster(), 'n2', 'AgentReady', 'True');
  await eventually('the startup taint is lifted', async () => (await taints('n2')).length === 1);
  await testEnv.patchNode('n3', { spec: { taints: null }, metadata: { labels: { tier: 'mine' } } });
  await eventually('drift is repaired', async () => (await tier('n3')) === '1');
  assert.equal((await taints('n3')).length, 1, 'the startup taint that somebody removed does not come back');
  assert.deepEqual(await Promise.all(['n1', 'n2', 'n3'].map(tier)), ['1', '1', '1']);
  const startup = { 'agent:NoSchedule': null };
  const written = {
    pool: 'web',
    generation: 1,
    labels: { tier: '1' },
    taints: { 'dedicated:NoSchedule': '' },
    startup,
  };
  assert.deepEqual(recordOf(await testEnv.node('n3')), written);
  assert.deepEqual(await taints('n1'), both);
  await watching.end();

  await testEnv.patchNode('n1', { metadata: { labels: { tier: 'mine' } } });
  const { stdout } = await unchanged(['diff']);
  assert.match(stdout, /^node n1 \(pool web\)\n {2}~ label tier: mine -> 1 {2}\(drift/m);
  assert.match(stdout, /^node n1 \(pool web; later\)\n {2}~ label tier: mine -> 2 /m);
  assert.match(stdout, /^1 node would change: 1 changed; 3 nodes would change later$/m);
  await testEnv.reconcile();
  assert.equal(await tier('n1'), '1');
});
