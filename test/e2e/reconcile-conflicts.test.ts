/** Two pools that want one node, somebody else's RuntimeClass, and specs that are wrong: on a real API server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { condition, role, statuses, useWorld } from './world.ts';

const world = useWorld();
const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';

test('overlap: the older pool wins, the loser is 409, and nothing flaps over 20 runs', async () => {
  await world.nodes(
    { name: 'both', labels: { ...role('old'), ...role('young') } },
    { name: 'own', labels: role('young') },
  );
  await world.pool('old', { labels: { from: 'old' } });
  await world.pool(
    'young',
    { labels: { from: 'young' }, taints: [{ key: 'young', effect: 'NoSchedule' }] },
    { younger: true },
  );
  assert.deepEqual(statuses(await world.reconcile()), { old: 200, young: 409 });
  assert.equal((await world.node('both')).metadata.labels.from, 'old');
  const young = await world.getPool('young');
  assert.equal(young?.status?.nodeCount, 1, 'the lost node is not counted');
  const message =
    'node both belongs to pool old and also matches pool young; not applied there: from, young:NoSchedule';
  assert.equal(condition(young, 'Conflict').message, message);

  const versions = async () => [await world.node('both'), await world.getPool('old'), await world.getPool('young')];
  const before = await versions();
  for (let run = 0; run < 20; run++) await world.reconcile();
  assert.deepEqual(await versions(), before);
  const warnings = (await world.events('young')).filter(event => event.type === 'Warning');
  assert.deepEqual(
    warnings.map(({ reason, note }) => [reason, note]),
    [['NodeConflict', message]],
  );
});

test('overlap: the pool that holds the node keeps it against an older one', async () => {
  await world.nodes({ name: 'a', labels: { x: '1' } });
  await world.pool('old', { nodeSelector: { y: '1' }, labels: { from: 'old' } });
  await world.pool('young', { nodeSelector: { x: '1' }, labels: { from: 'young' } }, { younger: true });
  await world.reconcile();
  await world.patchNode('a', { metadata: { labels: { y: '1' } } });
  assert.deepEqual(statuses(await world.reconcile()), { old: 409, young: 200 });
  assert.equal((await world.node('a')).metadata.labels.from, 'young');
});

test('overlap: when the winner goes, the loser gets the node', async () => {
  await world.nodes({ name: 'a', labels: { ...role('old'), ...role('young'), from: 'before' } });
  await world.pool('old', { labels: { from: 'old' } });
  await world.pool('young', { labels: { from: 'young' } }, { younger: true });
  await world.reconcile();
  await world.delete(['old']);
  assert.deepEqual(statuses(await world.reconcile()), { young: 200 });
  assert.equal((await world.node('a')).metadata.labels.from, 'young');
  await world.delete(['young']);
  assert.equal((await world.node('a')).metadata.labels.from, 'before', 'what the first pool displaced came back');
});

test('the RuntimeClass follows selector, labels, taints; a new handler makes a new one', async () => {
  await world.pool('worker', {
    nodeSelector: { x: '1' },
    labels: { tier: 'gold' },
    taints: [{ key: 'dedicated', value: 'w', effect: 'NoSchedule' }],
    handler: 'runc',
  });
  await world.reconcile();
  const first = await world.runtimeClass('worker');
  assert.deepEqual(first?.scheduling, {
    nodeSelector: { tier: 'gold', x: '1' },
    tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'w', effect: 'NoSchedule' }],
  });
  await world.edit('worker', { spec: { labels: { tier: 'silver' }, taints: null } });
  await world.reconcile();
  const second = await world.runtimeClass('worker');
  assert.deepEqual(second?.scheduling, { nodeSelector: { tier: 'silver', x: '1' } });
  assert.equal(second?.metadata.uid, first?.metadata.uid);
  await world.edit('worker', { spec: { handler: 'gvisor' } });
  await world.reconcile();
  const third = await world.runtimeClass('worker');
  assert.equal(third?.handler, 'gvisor');
  assert.notEqual(third?.metadata.uid, first?.metadata.uid);
  await world.edit('worker', { spec: { handler: null } });
  await world.reconcile();
  assert.equal(await world.runtimeClass('worker'), undefined);
  const reasons = (await world.events('worker'))
    .map(event => event.reason)
    .filter(reason => reason.startsWith('Runtime'));
  assert.deepEqual(reasons.toSorted(), [
    'RuntimeClassCreated',
    'RuntimeClassDeleted',
    'RuntimeClassUpdated',
    'RuntimeClassUpdated',
  ]);
});

test('a foreign RuntimeClass is not taken over, not changed, and not deleted with the pool', async () => {
  const foreign = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'node-pool-worker' },
    handler: 'theirs',
  };
  await raw(world.cluster()).expect('POST', CLASSES, foreign);
  await world.nodes({ name: 'a', labels: role('worker') });
  await world.pool('worker', { handler: 'runc', labels: { tier: 'gold' } });
  assert.deepEqual(statuses(await world.reconcile()), { worker: 409 });
  assert.equal((await world.node('a')).metadata.labels.tier, 'gold', 'the nodes are reconciled all the same');
  assert.equal(condition(await world.getPool('worker'), 'Conflict').reason, 'RuntimeClassConflict');
  await world.reconcile();
  assert.equal((await world.events('worker')).filter(event => event.reason === 'RuntimeClassConflict').length, 1);
  await world.delete(['worker']);
  assert.equal((await world.runtimeClass('worker'))?.handler, 'theirs');
});

test('a RuntimeClass left by an earlier pool of that name is replaced', async () => {
  await world.pool('worker', { handler: 'runc' });
  await world.reconcile();
  const first = await world.runtimeClass('worker');
  await world.edit('worker', { metadata: { finalizers: [] } });
  await raw(world.cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/worker');
  await world.pool('worker', { handler: 'runc' });
  assert.deepEqual(statuses(await world.reconcile()), { worker: 200 });
  assert.notEqual((await world.runtimeClass('worker'))?.metadata.uid, first?.metadata.uid);
});

test('a RuntimeClass that somebody changed or deleted is put right', async () => {
  await world.pool('worker', { handler: 'runc', labels: { tier: 'gold' } });
  await world.reconcile();
  await raw(world.cluster()).expect('PATCH', `${CLASSES}/node-pool-worker`, {
    scheduling: { tolerations: [{ operator: 'Exists' }] },
  });
  await world.reconcile();
  assert.deepEqual((await world.runtimeClass('worker'))?.scheduling, {
    nodeSelector: { 'node-role.kubernetes.io/worker': '', tier: 'gold' },
  });
  await raw(world.cluster()).expect('DELETE', `${CLASSES}/node-pool-worker`);
  await world.reconcile();
  assert.equal((await world.runtimeClass('worker'))?.handler, 'runc');
});

test('writes that the cluster refuses give 500 with the reason; other pools are not affected', async () => {
  await world.nodes({ name: 'a', labels: role('blocked') }, { name: 'b', labels: role('fine') });
  await world.pool('blocked', { labels: { tier: 'gold' } });
  await world.pool('fine', { labels: { tier: 'gold' } });
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
  const client = raw(world.cluster());
  await client.expect('POST', `${admission}/validatingadmissionpolicies`, policy);
  await client.expect('POST', `${admission}/validatingadmissionpolicybindings`, binding);
  try {
    // The policy takes a moment to be enforced.
    const probe = { metadata: { labels: { tier: 'probe' } } };
    while ((await client.request('PATCH', '/api/v1/nodes/a?dryRun=All', probe)).status < 300) {}
    assert.deepEqual(statuses(await world.reconcile()), { blocked: 500, fine: 200 });
    assert.match(condition(await world.getPool('blocked'), 'Applied').message, /a is not for gold/);
    await world.reconcile();
    assert.equal((await world.events('blocked')).filter(event => event.reason === 'ReconcileFailed').length, 1);
  } finally {
    await client.expect('DELETE', `${admission}/validatingadmissionpolicybindings/no-gold-on-a`);
    await client.expect('DELETE', `${admission}/validatingadmissionpolicies/no-gold-on-a`);
  }
  while (statuses(await world.reconcile()).blocked !== 200) {}
  assert.equal((await world.node('a')).metadata.labels.tier, 'gold');
});
