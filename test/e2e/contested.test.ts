/** Another manager reverts what a pool sets, much more slowly than the write limit: no status reports a failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientCertificate } from '../cluster/certificates.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw, rawClient } from '../cluster/raw.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const run = (...args: string[]) => cliHere(testEnv.cluster(), args);
const SPEC = { labels: { tier: 'gold' }, taints: [{ key: 'gold', value: 'yes', effect: 'NoSchedule' as const }] };
const SAYS =
  'others keep changing values of the pool, at least 3 times within an hour: label tier on 2 nodes (field manager kustomize-controller); next: remove the key from the pool, or stop the other writer';

async function prepare(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('w') }, { name: 'b', labels: role('w') });
  await testEnv.pool('w', SPEC);
  assert.equal((await run('reconcile')).code, 0);
}

/** As Flux and Argo CD apply: by server-side apply, with force. */
async function setBack(node: string, tier = 'silver'): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels: { tier } } };
  const path = `/api/v1/nodes/${node}?fieldManager=kustomize-controller&force=true`;
  await raw(testEnv.cluster()).expect('PATCH', path, body, 'application/apply-patch+yaml');
}

const tierOf = async (node: string) => (await testEnv.node(node)).metadata.labels.tier;
const contested = async () => {
  const pool = await testEnv.getPool('w');
  return pool?.status?.conditions?.find(({ type }) => type === 'Contested');
};
const warnings = async () => (await testEnv.events('w')).filter(({ type }) => type === 'Warning');

test('one-shot runs name key, nodes and manager after the third repair', async () => {
  await prepare();
  for (let round = 1; round <= 2; round++) {
    for (const node of ['a', 'b']) await setBack(node);
    assert.equal((await run('reconcile')).code, 0);
    assert.equal(await contested(), undefined, `round ${round}`);
  }
  for (let round = 3; round <= 4; round++) {
    for (const node of ['a', 'b']) await setBack(node);
    const mark = await auditMark(testEnv.cluster());
    const { code, stdout, stderr } = await run('reconcile');
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok(stdout.includes(SAYS), stdout);
    const { 'patch nodepools/status w': statuses } = await writes(testEnv.cluster(), mark);
    assert.equal(statuses, round === 3 ? 1 : undefined, 'the text does not change with each repair');
    assert.deepEqual([await tierOf('a'), await tierOf('b')], ['gold', 'gold']);
  }
  const pool = await testEnv.getPool('w');
  assert.deepEqual([pool?.status?.status, condition(pool, 'Contested').message], [200, SAYS]);
  assert.equal(condition(pool, 'Applied').status, 'True');
  assert.deepEqual(
    (await warnings()).map(({ reason, note }) => [reason, note]),
    [['RepeatedRepairs', SAYS]],
  );
  assert.match((await run('get')).stdout, /^w +Contested /m);
  const doctor = await run('doctor');
  assert.ok(doctor.stdout.includes(`w: ${SAYS}`), doctor.stdout);

  // A run without a repair keeps it while an Event of the last hour tells of one, and ends it afterwards.
  assert.equal((await run('reconcile')).code, 0);
  assert.equal((await contested())?.message, SAYS);
  await raw(testEnv.cluster()).expect('DELETE', '/apis/events.k8s.io/v1/namespaces/default/events');
  assert.equal((await run('reconcile')).code, 0);
  assert.equal(await contested(), undefined);
});

test('a removed taint becomes contested, until an edit of the pool', async () => {
  await prepare();
  for (let round = 1; round <= 3; round++) {
    await testEnv.patchNode('a', { spec: { taints: [] } });
    assert.equal((await run('reconcile')).code, 0);
  }
  assert.match(
    (await contested())?.message ?? '',
    /: taint gold:NoSchedule on 1 node \(field manager unknown\); next: /,
  );
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['gold=yes:NoSchedule']);
  await testEnv.edit('w', { spec: { taints: null } });
  assert.equal((await run('reconcile')).code, 0);
  assert.equal(await contested(), undefined);
});

test('a watch counts repairs itself, and another process keeps its result', async t => {
  await prepare();
  const watching = await startWatching(t, testEnv.cluster(), '--metrics-bind-address', '127.0.0.1:0');
  const address = /metrics on (http:\S+)/.exec(watching.log())?.[1];
  const mark = await auditMark(testEnv.cluster());
  const repaired = async (node: string) => (await tierOf(node)) === 'gold';
  for (let round = 1; round <= 4; round++) {
    for (const node of ['a', 'b']) {
      await setBack(node, `v${round}`);
      await eventually('it is repaired', () => repaired(node));
    }
  }
  await eventually('both nodes are in the status', async () => (await contested())?.message === SAYS);
  assert.match(await (await fetch(`${address}/metrics`)).text(), /nodepool_contested\{pool="w"\} 1/);
  assert.ok(((await writes(testEnv.cluster(), mark))['patch nodepools/status w'] ?? 0) <= 10);
  assert.equal((await warnings()).filter(({ reason }) => reason === 'RepeatedRepairs').length, 1);
  assert.equal(await watching.end(), 0);
  await startWatching(t, testEnv.cluster());
  await testEnv.nodes({ name: 'c', labels: role('w') });
  await eventually('it reconciles', async () => (await testEnv.getPool('w'))?.status?.nodeCount === 3);
  assert.equal((await contested())?.message, SAYS);
});

test('Events forged by a kubelet only set the Contested condition', async () => {
  await prepare();
  const { server, ca, authority } = testEnv.cluster();
  const kubelet = rawClient(server, ca, clientCertificate(authority, 'system:node:x', ['system:nodes']));
  const uid = (await testEnv.getPool('w'))?.metadata.uid;
  for (const at of [0, 1]) {
    const now = new Date().toISOString().replace(/\..*/, 'Z');
    // Of the core group: older servers let a kubelet create no others.
    const event = {
      metadata: { name: `w.made-up-${at}`, namespace: 'default' },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      reportingComponent: 'kubectl-nodepool',
      reportingInstance: 'x',
      reason: 'NodesUpdated',
      type: 'Normal',
      message: '1 node updated (label tier changed from "x" to "gold" (drift)): a',
      involvedObject: { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'w', uid },
    };
    const { status, body } = await kubelet.request('POST', '/api/v1/namespaces/default/events', event);
    assert.equal(status, 201, JSON.stringify(body));
  }
  assert.equal((await run('reconcile')).code, 0);
  assert.equal(await contested(), undefined, 'nothing was repaired');
  await setBack('a');
  const { code, stdout, stderr } = await run('reconcile');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(
    stdout,
    /others keep changing values of the pool, at least 3 times within an hour: label tier on 1 node /,
  );
  assert.deepEqual([await tierOf('a'), await tierOf('b')], ['gold', 'gold']);
  const pool = await testEnv.getPool('w');
  assert.deepEqual([pool?.status?.status, condition(pool, 'Applied').status], [200, 'True']);
});
