/** manifests/protect-records.yaml keeps a kubelet from forging the record of its node, and allows everything else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAINTENANCE_ANNOTATION } from '../../src/nodepool/types.ts';
import { clientCertificate } from '../cluster/certificates.ts';
import { kubectl, useCluster } from '../cluster/harness.ts';
import { createNodes, nodeObject } from '../cluster/nodes.ts';
import { raw, rawClient } from '../cluster/raw.ts';

const cluster = useCluster();
const [RECORD, BIRTH_RECORD] = ['nodes.lailin.xyz/applied', 'nodes.lailin.xyz/born'];

test('refuses writes of the record by a kubelet, but not by the controller', async () => {
  await createNodes(cluster(), [{ name: 'a' }]);
  const applied = await kubectl(cluster(), ['apply', '-f', 'manifests/protect-records.yaml']);
  assert.equal(applied.code, 0, applied.stderr);
  const { server, ca, authority } = cluster();
  const kubelet = rawClient(server, ca, clientCertificate(authority, 'system:node:a', ['system:nodes']));
  // The node authorizer grants the kubelet's permissions; the policy checks only the annotation.
  const write = (path: string, annotations: object) => kubelet.request('PATCH', path, { metadata: { annotations } });

  // The policy is enforced a moment later.
  let refused = await write('/api/v1/nodes/a', { [RECORD]: '{"pool":"x"}' });
  for (let tries = 0; refused.status < 300 && tries < 100; tries++) {
    await raw(cluster()).expect('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { [RECORD]: null } } });
    refused = await write('/api/v1/nodes/a', { [RECORD]: '{"pool":"x"}' });
  }
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  assert.match(JSON.stringify(refused.body), /a kubelet may not write the annotation nodes.lailin.xyz\/applied/);
  assert.equal((await write('/api/v1/nodes/a/status', { [RECORD]: '{"pool":"x"}' })).status, 422);
  assert.equal((await write('/api/v1/nodes/a/status', { 'example.com/other': 'x' })).status, 200);
  // Values that no pool writes, too: an empty record still hides the birth record of a new node.
  for (const value of ['', ' ', '{}', '{"unknown":1}', 'null']) {
    for (const path of ['/api/v1/nodes/a', '/api/v1/nodes/a/status']) {
      assert.equal((await write(path, { [RECORD]: value })).status, 422, `${path} ${JSON.stringify(value)}`);
    }
  }

  await raw(cluster()).expect('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { [RECORD]: '{"pool":"y"}' } } });
  for (const value of [null, '', ' ']) {
    assert.equal((await write('/api/v1/nodes/a', { [RECORD]: value })).status, 422, 'nor may it take the record away');
    assert.equal((await write('/api/v1/nodes/a/status', { [RECORD]: value })).status, 422);
  }
  assert.equal((await write('/api/v1/nodes/a', { 'example.com/other': 'y' })).status, 200);

  const inMaintenance = { [MAINTENANCE_ANNOTATION]: '{"owner":"x"}' };
  assert.equal((await write('/api/v1/nodes/a', inMaintenance)).status, 422, 'nor have drains refused');
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/a', { metadata: { annotations: inMaintenance } });
  assert.equal((await write('/api/v1/nodes/a', { 'example.com/other': 'z' })).status, 200);
  // The maintenance would be stale, and no longer refuse others. Nor may it hold again after somebody uncordoned the node.
  const cordon = (unschedulable: boolean | null, by = kubelet) =>
    by.request('PATCH', '/api/v1/nodes/a', { spec: { unschedulable } });
  const admin = raw(cluster());
  assert.equal((await cordon(true)).status, 422);
  assert.equal((await cordon(true, admin)).status, 200);
  for (const value of [null, false]) assert.equal((await cordon(value)).status, 422);
  assert.equal((await cordon(null, admin)).status, 200);
  for (const value of [null, '', ' ']) {
    assert.equal((await write('/api/v1/nodes/a', { [MAINTENANCE_ANNOTATION]: value })).status, 422);
    assert.equal((await write('/api/v1/nodes/a/status', { [MAINTENANCE_ANNOTATION]: value })).status, 422);
  }
  await admin.expect('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { [MAINTENANCE_ANNOTATION]: null } } });
  for (const value of [true, null]) assert.equal((await cordon(value)).status, 200, 'without a maintenance it may');
  const birthRecord = '{"pool":"y"}';
  for (const value of ['', birthRecord])
    assert.equal((await write('/api/v1/nodes/a', { [BIRTH_RECORD]: value })).status, 422);
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/a', {
    metadata: { annotations: { [BIRTH_RECORD]: birthRecord } },
  });
  for (const value of [null, '', '{"pool":"x"}']) {
    assert.equal(
      (await write('/api/v1/nodes/a', { [BIRTH_RECORD]: value })).status,
      422,
      'nor change the birth record of its birth',
    );
    assert.equal((await write('/api/v1/nodes/a/status', { [BIRTH_RECORD]: value })).status, 422);
  }
  // A record that an administrator emptied is not the kubelet's to remove.
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { [RECORD]: '' } } });
  assert.equal((await write('/api/v1/nodes/a', { [RECORD]: null })).status, 422);
  assert.equal((await write('/api/v1/nodes/a', { 'example.com/other': '' })).status, 200);

  await raw(cluster()).expect('DELETE', '/api/v1/nodes/a');
  const register = (annotations: Record<string, string>) =>
    kubelet.request('POST', '/api/v1/nodes', nodeObject({ name: 'a', annotations }));
  const forged = await register({ [RECORD]: '{"pool":"y","startup":{"setup:NoSchedule":null}}' });
  assert.equal(forged.status, 422, 'nor register with one, to be without startup taints');
  for (const value of ['', ' ', '{}']) {
    for (const key of [RECORD, BIRTH_RECORD, MAINTENANCE_ANNOTATION]) {
      assert.equal((await register({ [key]: value })).status, 422, `${key} ${JSON.stringify(value)}`);
    }
  }
  assert.equal((await register(inMaintenance)).status, 422);

  // The server stores the year 10000, and then refuses every patch of the node by others.
  const late = '9999-12-31T23:59:59-12:00';
  const object = nodeObject({ name: 'a' }) as { metadata: object };
  const registers = async (more: object) =>
    (await kubelet.request('POST', '/api/v1/nodes', { ...object, ...more })).status;
  assert.equal(await registers({ spec: { taints: [{ key: 'k', effect: 'NoExecute', timeAdded: late }] } }), 422);
  const owner = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', name: 'a', uid: 'x' };
  assert.equal(
    await registers({ metadata: { ...object.metadata, ownerReferences: [owner] } }),
    422,
    'to be deleted with it',
  );
  assert.equal((await register({})).status, 201);
  const report = async (time: string | null, field = 'lastTransitionTime') => {
    const conditions = [{ type: 'Ready', status: 'True', [field]: time }];
    return (await kubelet.request('PATCH', '/api/v1/nodes/a/status', { status: { conditions } })).status;
  };
  for (const field of ['lastTransitionTime', 'lastHeartbeatTime']) assert.equal(await report(late, field), 422, field);
  // Those of managedFields are stored where something else changes, too, and of other managers.
  const fieldsV1 = { 'f:metadata': { 'f:labels': { 'f:kubernetes.io/os': {} } } };
  const other = { manager: 'other', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 };
  const manage = async (path: string, time: string) => {
    const body = {
      metadata: { annotations: { 'example.com/at': `${path} ${time}` }, managedFields: [{ ...other, time }] },
    };
    return (await kubelet.request('PATCH', `/api/v1/nodes/a${path}`, body)).status;
  };
  assert.equal(await manage('', '2026-01-01T00:00:00Z'), 200);
  assert.equal(await manage('', late), 422);
  // The server ignores them there, or the policy refuses them.
  await manage('/status', late);
  await raw(cluster()).expect('PATCH', '/api/v1/nodes/a', { metadata: { labels: { any: 'x' } } });
  for (const time of [null, '2026-01-01T00:00:00Z', '2099-01-01T00:00:00.5+02:00'])
    assert.equal(await report(time), 200, String(time));
});
