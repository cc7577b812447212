/** Nodes that register into a pool with `noExecute: Drain`: a new node has no pods, so it gets the taint at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import { cliHere } from '../cluster/harness.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { inForce, markOf, recordOf } from './birth.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { GROUP } from './kubelet.ts';
import { condition, type LiveNode, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok } = commandsOf(cluster);
const pods = poolsWithPods(testEnv);
const TAINT = { key: 'dedicated', value: 'x', effect: 'NoExecute' } as const;
const labels = { [GROUP]: 'one' };

const register = async (name: string) =>
  (await raw(cluster()).expect('POST', '/api/v1/nodes', nodeObject({ name, labels }))) as LiveNode;
const aboutPods = async (since: number) =>
  (await readAudit(cluster()))
    .slice(since)
    .filter(({ resource, userAgent }) => resource.startsWith('pods') && userAgent.includes('nodepool'))
    .map(({ verb, resource }) => `${verb} ${resource}`);

test('sets the NoExecute taint at registration, and the next reconcile writes only the record', {
  skip: before(36, 'MutatingAdmissionPolicy is not in v1'),
}, async () => {
  await ok(['install', '--admission']);
  await testEnv.pool('one', { nodeSelector: labels, noExecute: 'Drain', taints: [TAINT], labels: { tier: 'gold' } });
  await inForce(testEnv, 'one', labels);
  const born = await register('born');
  assert.deepEqual([taintsOf(born), born.metadata.labels.tier], [['dedicated=x:NoExecute'], 'gold']);
  assert.equal(markOf(born)?.pool, 'one');

  const since = (await readAudit(cluster())).length;
  await testEnv.reconcile();
  const joined = await testEnv.node('born');
  assert.deepEqual([joined.spec, joined.metadata.labels], [born.spec, born.metadata.labels]);
  const record = { pool: 'one', generation: 1, labels: { tier: 'gold' }, taints: { 'dedicated:NoExecute': 'x' } };
  assert.deepEqual([recordOf(joined), markOf(joined)], [record, undefined]);
  await testEnv.reconcile();
  assert.equal(await ok(['diff']), '');
  assert.equal((await testEnv.node('born')).metadata.resourceVersion, joined.metadata.resourceVersion);
  assert.deepEqual(await aboutPods(since), [], 'no stand-in, and no poll of pods');
  assert.equal(condition(await testEnv.getPool('one'), 'Applied').status, 'True');

  // Between birth and first reconcile the taint gets another value: the node may have pods by now, and is drained.
  await register('edited');
  const tolerations = [{ key: 'dedicated', operator: 'Equal', value: 'x' }];
  await pods.pod({ name: 'p', node: 'edited', labels: { app: 'web' }, tolerations, graceSeconds: 0 });
  await pods.budget('web', { app: 'web' }, 0);
  await testEnv.edit('one', { spec: { taints: [{ ...TAINT, value: 'y' }] } });
  const held = await cliHere(cluster(), ['reconcile', '--yes', '--timeout=3s']);
  assert.match(`${held.code} ${held.stderr}`, /^1 [\s\S]*gave up after 3 s without an eviction/);
  assert.deepEqual(taintsOf(await testEnv.node('edited')).toSorted(), [
    'dedicated=x:NoExecute',
    'dedicated=y:NoSchedule',
  ]);
  assert.deepEqual(taintsOf(await testEnv.node('born')), ['dedicated=y:NoExecute']);
  await pods.budget('web', { app: 'web' }, 1);
  assert.equal((await cliHere(cluster(), ['reconcile', '--yes'])).code, 0);
  assert.deepEqual([taintsOf(await testEnv.node('edited')), await pods.names()], [['dedicated=y:NoExecute'], []]);
});
