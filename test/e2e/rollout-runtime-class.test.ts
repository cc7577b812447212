/** The RuntimeClass of a pool whose spec reaches the members step by step: new pods fit on all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import { commandsOf } from './commands.ts';
import { role, statuses, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { ok } = commandsOf(testEnv.cluster);
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const create = (count: number) => testEnv.nodes(...names(count).map(name => ({ name, labels: role('web') })));
const NONE = { key: '', effect: '' };
const selected = async () => {
  const { nodeSelector = {}, tolerations = [] } = (await testEnv.runtimeClass('web'))?.scheduling ?? {};
  const { 'node-role.kubernetes.io/web': _role, ...labels } = nodeSelector;
  return [labels, tolerations.map(({ key = NONE.key, effect = NONE.effect }) => `${key}:${effect}`)];
};
const taints = (...keys: string[]) => keys.map(key => ({ key, effect: 'NoSchedule' as const }));

const isWrite = ({ verb, resource, code }: { verb: string; resource: string; code: number }) =>
  code < 300 && resource.startsWith('runtimeclasses') && ['patch', 'delete', 'create'].includes(verb);

test('one-shot: updates the RuntimeClass during a rollout, a pause, and at the end', async () => {
  await create(4);
  const rollout = { canary: 1, settleSeconds: 600 };
  await testEnv.pool('web', { handler: 'runc', labels: { tier: '1', zone: 'a' }, taints: taints('a'), rollout });
  await testEnv.reconcile();
  assert.deepEqual(await selected(), [{ tier: '1', zone: 'a' }, ['a:NoSchedule']]);
  await testEnv.edit('web', { spec: { labels: { tier: '2' }, taints: taints('b') } });
  await testEnv.reconcile();
  const both = [{ zone: 'a' }, ['b:NoSchedule', 'a:NoSchedule']];
  assert.deepEqual(await selected(), both);
  const version = async () => (await testEnv.runtimeClass('web'))?.metadata.resourceVersion;
  const before = await version();
  await testEnv.nodes({ name: 'x', labels: role('web') });
  assert.deepEqual(statuses(await testEnv.reconcile()), { web: 200 });
  assert.deepEqual(await selected(), both, 'a node that joins has all of the spec');
  assert.equal(await version(), before, 'not written again');
  assert.match(await ok(['describe', 'web']), /in sync/);
  await testEnv.edit('web', { spec: { paused: true, labels: { tier: '3' } } });
  await testEnv.reconcile();
  assert.deepEqual(await selected(), both);
  await testEnv.edit('web', { spec: { paused: null, rollout: { canary: 0, settleSeconds: 0 } } });
  await testEnv.reconcile();
  assert.deepEqual(
    await selected(),
    [{ tier: '3', zone: 'a' }, ['b:NoSchedule']],
    'in the run that changes the last node',
  );
});

test('the watch writes the RuntimeClass at the beginning and at the end', async t => {
  await create(6);
  const rollout = { maxConcurrent: 1, settleSeconds: 0 };
  await testEnv.pool('web', { handler: 'runc', labels: { tier: '1' }, taints: taints('a'), rollout });
  await testEnv.reconcile();
  const watching = await startWatching(t, testEnv.cluster());
  const before = (await readAudit(testEnv.cluster())).filter(isWrite).length;
  await testEnv.edit('web', { spec: { labels: { tier: '2' }, taints: taints('b') } });
  const isDone = async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === 6;
  await eventually(
    'the class is of the spec',
    async () => JSON.stringify(await selected()) === JSON.stringify([{ tier: '2' }, ['b:NoSchedule']]),
  );
  await eventually('all are changed', isDone);
  await watching.end();
  const writes = (await readAudit(testEnv.cluster())).filter(isWrite).length;
  assert.equal(writes - before, 2);
});

test('with noExecute: Drain, writes the RuntimeClass twice only for a new NoExecute value', async () => {
  await create(2);
  const execute = (value: string) => ({ key: 'd', value, effect: 'NoExecute' as const });
  const spec = { handler: 'runc', labels: { tier: '1' }, noExecute: 'Drain' as const };
  await testEnv.pool('web', { ...spec, taints: [...taints('a'), execute('1')] });
  const writesOf = async (change?: object) => {
    const before = (await readAudit(testEnv.cluster())).filter(isWrite).length;
    if (change !== undefined) await testEnv.edit('web', { spec: change });
    await ok(['reconcile', 'web', '--yes']);
    return (await readAudit(testEnv.cluster())).filter(isWrite).length - before;
  };
  assert.equal(await writesOf(), 1);
  assert.equal(await writesOf({ labels: { tier: '2' }, taints: [...taints('b'), execute('1')] }), 1);
  assert.deepEqual(await selected(), [{ tier: '2' }, ['b:NoSchedule', 'd:NoExecute', 'd:NoSchedule']]);
  assert.equal(await writesOf({ taints: [...taints('b'), execute('2')] }), 2, 'pods that are evicted fit on all nodes');
  assert.deepEqual(await selected(), [{ tier: '2' }, ['b:NoSchedule', 'd:NoExecute', 'd:NoSchedule']]);
  assert.equal(await writesOf(), 0);
});
