/** `--pod-counts`: pods on a pool's nodes that have not finished, in `reconcile` and `reconcile --watch`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { ok } = commandsOf(() => testEnv.cluster());
const PODS = '/api/v1/namespaces/default/pods';
const api = () => raw(testEnv.cluster());

/** A pod that is bound to the node. */
async function pod(name: string, node?: string): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'i' }], ...(node === undefined ? {} : { nodeName: node }) };
  await api().expect('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}

async function ended(name: string, phase: string): Promise<void> {
  await api().expect('PATCH', `${PODS}/${name}/status`, { status: { phase } });
}

const count = async (pool: string) => (await testEnv.getPool(pool))?.status?.podCount;
const podRequests = async () => (await readAudit(testEnv.cluster())).filter(({ resource }) => resource === 'pods');

test('reconcile counts pods with --pod-counts, and reads no pod otherwise', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('one') }, { name: 'c' });
  await testEnv.nodes({ name: 'd', labels: role('empty') });
  await testEnv.pool('one');
  await testEnv.pool('empty');
  await pod('p1', 'a');
  await pod('p2', 'a');
  await pod('p3', 'b');
  await pod('elsewhere', 'c');
  await pod('waiting');
  await pod('succeeded', 'a');
  await ended('succeeded', 'Succeeded');
  await pod('failed', 'b');
  await ended('failed', 'Failed');
  const before = (await podRequests()).filter(event => !isWrite(event)).length;
  await ok(['reconcile']);
  assert.equal(await count('one'), undefined);
  assert.equal((await podRequests()).filter(event => !isWrite(event)).length, before);
  await ok(['reconcile', '--pod-counts']);
  assert.deepEqual([await count('one'), await count('empty')], [3, 0]);
  assert.match(await ok(['get', 'one', '--no-headers']), /\s3\/220\s/);
  assert.match(await ok(['describe', 'one']), /^Pods: +3 on its nodes$/m);
  // Without --pod-counts the number is removed, as nobody would update it.
  await ok(['reconcile']);
  assert.equal(await count('one'), undefined);
});

test('--watch updates counts as pods come and go, with one write for many changes', { timeout: 90_000 }, async t => {
  await api().expect('DELETE', `${PODS}?gracePeriodSeconds=0`);
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one');
  await pod('first', 'a');
  await startWatching(t, testEnv.cluster(), '--pod-counts');
  await eventually('the pods that are there are counted', async () => (await count('one')) === 1);
  const statuses = async () =>
    (await readAudit(testEnv.cluster())).filter(({ resource }) => resource === 'nodepools/status').length;
  const before = await statuses();
  for (let index = 0; index < 50; index++) await pod(`more-${index}`, 'a');
  await eventually('those that came are counted', async () => (await count('one')) === 51);
  assert.ok((await statuses()) - before <= 2, 'one write, or two when they came over the end of a span');
  await ended('first', 'Succeeded');
  await api().expect('DELETE', `${PODS}/more-0?gracePeriodSeconds=0`);
  await eventually('those that ended or went are not', async () => (await count('one')) === 49);
});
