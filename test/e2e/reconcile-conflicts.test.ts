/** Two pools that match one node, foreign RuntimeClasses and invalid specs on a real API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { type Refusal, whileRefusing } from './refusal.ts';
import { condition, role, statuses, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';

test('the older of two overlapping pools owns the node, the other has status 409, stable over 20 runs', async () => {
  await testEnv.nodes(
    { name: 'both', labels: { ...role('old'), ...role('young') } },
    { name: 'own', labels: role('young') },
  );
  await testEnv.pool('old', { labels: { from: 'old' } });
  await testEnv.pool(
    'young',
    { labels: { from: 'young' }, taints: [{ key: 'young', effect: 'NoSchedule' }] },
    { younger: true },
  );
  assert.deepEqual(statuses(await testEnv.reconcile()), { old: 200, young: 409 });
  assert.equal((await testEnv.node('both')).metadata.labels.from, 'old');
  const young = await testEnv.getPool('young');
  assert.equal(young?.status?.nodeCount, 1, 'the lost node is not counted');
  const message =
    'node both belongs to pool old but also matches pool young; not applied there: from, young:NoSchedule';
  assert.equal(condition(young, 'Conflict').message, message);

  const versions = async () => [
    await testEnv.node('both'),
    await testEnv.getPool('old'),
    await testEnv.getPool('young'),
  ];
  const before = await versions();
  for (let run = 0; run < 20; run++) await testEnv.reconcile();
  assert.deepEqual(await versions(), before);
  const warnings = (await testEnv.events('young')).filter(event => event.type === 'Warning');
  assert.deepEqual(
    warnings.map(({ reason, note }) => [reason, note]),
    [['NodeConflict', message]],
  );
});

test('the pool that owns a node keeps it against an older pool', async () => {
  await testEnv.nodes({ name: 'a', labels: { x: '1' } });
  await testEnv.pool('old', { nodeSelector: { y: '1' }, labels: { from: 'old' } });
  await testEnv.pool('young', { nodeSelector: { x: '1' }, labels: { from: 'young' } }, { younger: true });
  await testEnv.reconcile();
  await testEnv.patchNode('a', { metadata: { labels: { y: '1' } } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { old: 409, young: 200 });
  assert.equal((await testEnv.node('a')).metadata.labels.from, 'young');
});

test('the other pool gets the node when its owner is deleted', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('old'), ...role('young'), from: 'before' } });
  await testEnv.pool('old', { labels: { from: 'old' } });
  await testEnv.pool('young', { labels: { from: 'young' } }, { younger: true });
  await testEnv.reconcile();
  await testEnv.delete(['old']);
  assert.deepEqual(statuses(await testEnv.reconcile()), { young: 200 });
  assert.equal((await testEnv.node('a')).metadata.labels.from, 'young');
  await testEnv.delete(['young']);
  assert.equal((await testEnv.node('a')).metadata.labels.from, 'before', 'what the first pool displaced came back');
});

test('updates the RuntimeClass with selector, labels and taints, and recreates it for a new handler', async () => {
  await testEnv.pool('worker', {
    nodeSelector: { x: '1' },
    labels: { tier: 'gold' },
    taints: [{ key: 'dedicated', value: 'w', effect: 'NoSchedule' }],
    handler: 'runc',
  });
  await testEnv.reconcile();
  const first = await testEnv.runtimeClass('worker');
  assert.deepEqual(first?.scheduling, {
    nodeSelector: { tier: 'gold', x: '1' },
    tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'w', effect: 'NoSchedule' }],
  });
  await testEnv.edit('worker', { spec: { labels: { tier: 'silver' }, taints: null } });
  await testEnv.reconcile();
  const second = await testEnv.runtimeClass('worker');
  assert.deepEqual(second?.scheduling, { nodeSelector: { tier: 'silver', x: '1' } });
  assert.equal(second?.metadata.uid, first?.metadata.uid);
  await testEnv.edit('worker', { spec: { handler: 'gvisor' } });
  await testEnv.reconcile();
  const third = await testEnv.runtimeClass('worker');
  assert.equal(third?.handler, 'gvisor');
  assert.notEqual(third?.metadata.uid, first?.metadata.uid);
  await testEnv.edit('worker', { spec: { handler: null } });
  await testEnv.reconcile();
  assert.equal(await testEnv.runtimeClass('worker'), undefined);
  const reasons = (await testEnv.events('worker'))
    .map(event => event.reason)
    .filter(reason => reason.startsWith('Runtime'));
  assert.deepEqual(reasons.toSorted(), [
    'RuntimeClassCreated',
    'RuntimeClassDeleted',
    'RuntimeClassUpdated',
    'RuntimeClassUpdated',
  ]);
});

test('neither adopts, changes nor deletes a foreign RuntimeClass', async () => {
  const foreign = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'node-pool-worker' },
    handler: 'theirs',
  };
  await raw(testEnv.cluster()).expect('POST', CLASSES, foreign);
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { handler: 'runc', labels: { tier: 'gold' } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 409 });
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'gold', 'the nodes are reconciled all the same');
  assert.equal(condition(await testEnv.getPool('worker'), 'Conflict').reason, 'RuntimeClassConflict');
  await testEnv.reconcile();
  assert.equal((await testEnv.events('worker')).filter(event => event.reason === 'RuntimeClassConflict').length, 1);
  await testEnv.delete(['worker']);
  assert.equal((await testEnv.runtimeClass('worker'))?.handler, 'theirs');
});

test('writes the nodes while the RuntimeClass is refused, and the RuntimeClass afterwards', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { handler: 'runc' });
  await testEnv.reconcile();
  await testEnv.edit('worker', { spec: { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] } });
  const refusal: Refusal = {
    group: 'node.k8s.io',
    resource: 'runtimeclasses',
    operation: 'UPDATE',
    unless: 'false',
    probe: ['PATCH', `${CLASSES}/node-pool-worker`, { metadata: { labels: { x: 'y' } } }],
  };
  await whileRefusing(testEnv.cluster(), refusal, async () => {
    assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 500 });
    assert.match(condition(await testEnv.getPool('worker'), 'Applied').message, /RuntimeClass .* not in this test/);
    assert.deepEqual(taintsOf(await testEnv.node('a')), ['dedicated:NoSchedule']);
  });
  assert.equal((await testEnv.runtimeClass('worker'))?.scheduling?.tolerations, undefined);
  assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 200 });
  assert.equal((await testEnv.runtimeClass('worker'))?.scheduling?.tolerations?.[0]?.key, 'dedicated');
});

test('replaces a RuntimeClass left by an earlier pool of the same name', async () => {
  await testEnv.pool('worker', { handler: 'runc' });
  await testEnv.reconcile();
  const first = await testEnv.runtimeClass('worker');
  await testEnv.edit('worker', { metadata: { finalizers: [] } });
  await raw(testEnv.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/worker');
  await testEnv.pool('worker', { handler: 'runc' });
  assert.deepEqual(statuses(await testEnv.reconcile()), { worker: 200 });
  assert.notEqual((await testEnv.runtimeClass('worker'))?.metadata.uid, first?.metadata.uid);
});

test('repairs a RuntimeClass that somebody changed or deleted', async () => {
  await testEnv.pool('worker', { handler: 'runc', labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await raw(testEnv.cluster()).expect('PATCH', `${CLASSES}/node-pool-worker`, {
    scheduling: { tolerations: [{ operator: 'Exists' }] },
  });
  await testEnv.reconcile();
  assert.deepEqual((await testEnv.runtimeClass('worker'))?.scheduling, {
    nodeSelector: { 'node-role.kubernetes.io/worker': '', tier: 'gold' },
  });
  await raw(testEnv.cluster()).expect('DELETE', `${CLASSES}/node-pool-worker`);
  await testEnv.reconcile();
  assert.equal((await testEnv.runtimeClass('worker'))?.handler, 'runc');
});

test('sets status 500 with the reason for refused writes, without affecting other pools', async () => {
  await testEnv.nodes({ name: 'a', labels: role('blocked') }, { name: 'b', labels: role('fine') });
  await testEnv.pool('blocked', { labels: { tier: 'gold' } });
  await testEnv.pool('fine', { labels: { tier: 'gold' } });
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'no-gold-on-a' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      },
      validations: [
        {
          expression: "object.metadata.name != 'a' || !('tier' in object.metadata.labels)",
          message: 'a is not for gold',
        },
      ],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'no-gold-on-a' },
    spec: { policyName: 'no-gold-on-a', validationActions: ['Deny'] },
  };
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const client = raw(testEnv.cluster());
  await client.expect('POST', `${admission}/validatingadmissionpolicies`, policy);
  await client.expect('POST', `${admission}/validatingadmissionpolicybindings`, binding);
  try {
    // The policy is enforced a moment later.
    const probe = { metadata: { labels: { tier: 'probe' } } };
    while ((await client.request('PATCH', '/api/v1/nodes/a?dryRun=All', probe)).status < 300) {}
    assert.deepEqual(statuses(await testEnv.reconcile()), { blocked: 500, fine: 200 });
    assert.match(condition(await testEnv.getPool('blocked'), 'Applied').message, /a is not for gold/);
    await testEnv.reconcile();
    assert.equal((await testEnv.events('blocked')).filter(event => event.reason === 'ReconcileFailed').length, 1);
  } finally {
    await client.expect('DELETE', `${admission}/validatingadmissionpolicybindings/no-gold-on-a`);
    await client.expect('DELETE', `${admission}/validatingadmissionpolicies/no-gold-on-a`);
  }
  while (statuses(await testEnv.reconcile()).blocked !== 200) {}
  assert.equal((await testEnv.node('a')).metadata.labels.tier, 'gold');
});
