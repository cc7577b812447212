/** A kubelet, and what it may not do, with manifests/born-in-pool.yaml. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { before } from '../cluster/minor.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply, BIRTH_RECORD, inForce, POLICY, RECORD } from './birth.ts';
import { GROUP, kubeletOf, SECRET, TAINT } from './kubelet.ts';
import { taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const skip = before(36, 'MutatingAdmissionPolicy is not in v1');
const { cluster } = testEnv;
const kubelet = (node: string) => kubeletOf(cluster(), node);
const applyAll = () => apply(cluster(), POLICY, 'manifests/protect-records.yaml', 'manifests/protect-membership.yaml');
const select = (group: string) => ({ nodeSelector: { [GROUP]: group } });

const SPEC: NodePoolSpec = {
  ...select('one'),
  labels: { tier: 'gold', 'example.com/a.b': '' },
  taints: [TAINT, { key: 'bare', effect: 'PreferNoSchedule' }],
  annotations: { note: 'a "quoted" \\ line\nnext\ttab ü {"labels":{"x":"y"}}', 'example.com/Upper': '', empty: '' },
};

test('a kubelet registers its node into the pool, and restricted labels wait for the reconcile', { skip }, async () => {
  await applyAll();
  const labels = { tier: 'gold', 'node-role.kubernetes.io/db': '', 'x.node.kubernetes.io/y': '', 'k8s.io/x': 'y' };
  await testEnv.pool('one', { ...SPEC, labels });
  const zoned = [{ key: GROUP, operator: 'In', values: ['zoned'] }];
  await testEnv.pool('zoned', { matchExpressions: zoned, labels: { joins: 'secret' }, taints: [TAINT] });
  await testEnv.pool('secret', { nodeSelector: { joins: 'secret' }, labels: { [SECRET]: 'yes' } });
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  await inForce(testEnv, 'zoned', { [GROUP]: 'zoned' });
  // Also once the protecting policies are enforced.
  await denied(() => kubelet('x').register({ joins: 'secret' }));
  assert.equal((await kubelet('n1').register({ [GROUP]: 'one' })).status, 201);
  const born = await testEnv.node('n1');
  assert.deepEqual(
    Object.keys(labels).filter(key => key in born.metadata.labels),
    ['tier', 'x.node.kubernetes.io/y'],
  );
  assert.deepEqual(taintsOf(born), ['dedicated=pci:NoSchedule', 'bare:PreferNoSchedule']);
  // The labels that were given must not refuse the node, and the pool's label may be given but not sent.
  assert.equal((await kubelet('n2').register({ [GROUP]: 'zoned' })).status, 201);
  const zonedNode = await testEnv.node('n2');
  assert.deepEqual(
    [zonedNode.metadata.labels['nodes.lailin.xyz/pool'], zonedNode.metadata.labels.joins],
    ['zoned', 'secret'],
  );
  assert.equal((await kubelet('n3').register({ [GROUP]: 'zoned', 'nodes.lailin.xyz/pool': 'zoned' })).status, 422);
  await testEnv.reconcile();
  const after = await testEnv.node('n1');
  assert.deepEqual(
    Object.keys(labels).filter(key => key in after.metadata.labels),
    Object.keys(labels),
  );
  assert.equal(SECRET in (await testEnv.node('n2')).metadata.labels, false);
  await testEnv.delete(['one', 'zoned']);
  assert.deepEqual(taintsOf(await testEnv.node('n1')), []);
  assert.deepEqual(
    Object.keys(labels).filter(key => key in after.metadata.labels && key in born.metadata.labels),
    ['tier', 'x.node.kubernetes.io/y'],
  );
});

/** Once the policy is enforced, and so before anything else is tried. */
async function denied(attempt: () => Promise<{ status: number }>): Promise<void> {
  const refused = async () => {
    const { status } = await attempt();
    if (status !== 422) await raw(cluster()).request('DELETE', '/api/v1/nodes/x');
    return status === 422;
  };
  await eventually('it is denied', refused, 60_000);
}

const REFUSED = /a kubelet may not write the annotation nodes.lailin.xyz.born|json: cannot unmarshal/;

test('a kubelet cannot send or change a birth record, or claim one in managedFields', {
  skip,
}, async () => {
  await applyAll();
  await testEnv.pool('one', SPEC);
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const birthRecord = '{"pool":"one","since":"2020-01-01T00:00:00Z a","labels":{"kept":"x"},"taints":{}}';
  const forged = (metadata: object) => {
    const node = nodeObject({ name: 'x', labels: { [GROUP]: 'one', kept: 'x' } }) as { metadata: object };
    return { ...node, metadata: { ...node.metadata, ...metadata } };
  };
  const send = (body: object, query = '') =>
    kubelet('x').write(query, body, 'POST') as Promise<{ status: number; body: unknown }>;
  await denied(() => send(forged({ annotations: { [BIRTH_RECORD]: birthRecord } })));
  const other = {
    manager: 'other',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': { 'f:annotations': { [`f:${BIRTH_RECORD}`]: {} } } },
  };
  for (const managedFields of [[{}], [], [other], [{ ...other, apiVersion: 'bad/v0' }], [{ ...other, fieldsV1: 3 }]]) {
    for (const annotations of [{ [BIRTH_RECORD]: birthRecord }, { [BIRTH_RECORD]: '' }]) {
      const { status, body } = await send(forged({ annotations, managedFields }));
      assert.match(`${status} ${JSON.stringify(body)}`, REFUSED, JSON.stringify(managedFields));
    }
  }
  // A duplicate address makes the server give up managedFields.
  const broken = forged({ annotations: { [BIRTH_RECORD]: birthRecord } });
  const address = { type: 'Hostname', address: 'x' };
  const { body } = await send({ ...broken, status: { addresses: [address, address] } });
  assert.match(JSON.stringify(body), REFUSED);
  const apply = forged({ annotations: { [BIRTH_RECORD]: birthRecord } });
  const applied = await kubelet('x').write(
    '/x?fieldManager=x&force=true',
    apply,
    'PATCH',
    'application/apply-patch+yaml',
  );
  assert.notEqual(applied.status < 300, true, `${applied.status}`);

  assert.equal((await kubelet('x').register({ [GROUP]: 'one' })).status, 201);
  for (const value of [null, birthRecord, '']) {
    assert.equal((await kubelet('x').annotate({ [BIRTH_RECORD]: value })).status, 422);
    assert.equal(
      (await kubelet('x').write('/x/status', { metadata: { annotations: { [BIRTH_RECORD]: value } } })).status,
      422,
    );
  }
  assert.equal((await kubelet('x').heartbeat()).status, 200);
  assert.equal((await kubelet('x').annotate({ other: 'x' })).status, 200);
  await testEnv.patchNode('x', { metadata: { annotations: { [BIRTH_RECORD]: null } } });
  assert.equal((await kubelet('x').annotate({ [BIRTH_RECORD]: birthRecord })).status, 422, 'nor add one');
});

test('a kubelet cannot hide the birth record with an empty record', { skip }, async () => {
  await applyAll();
  await testEnv.pool('one', SPEC);
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const registered = (annotations: Record<string, string>) =>
    kubelet('x').write('', nodeObject({ name: 'x', labels: { [GROUP]: 'one' }, annotations }), 'POST');
  await denied(() => registered({ [RECORD]: 'x' }));
  assert.equal((await registered({ [RECORD]: '' })).status, 422);
  assert.equal((await registered({})).status, 201);
  assert.equal((await kubelet('x').annotate({ [RECORD]: '' })).status, 422);
  // Somebody else's empty record does not hide the birth record, either: what was given at birth ends with the pool.
  await testEnv.patchNode('x', { metadata: { annotations: { [RECORD]: '' } } });
  await testEnv.reconcile();
  await testEnv.delete(['one']);
  const { metadata, ...node } = await testEnv.node('x');
  assert.deepEqual([metadata.labels.tier, metadata.annotations?.note], [undefined, undefined]);
  assert.deepEqual(taintsOf({ metadata, ...node }), []);
});

test('keeps a birth record that an administrator sends, as from a backup, unchanged', {
  skip,
}, async () => {
  await applyAll();
  await testEnv.pool('one', SPEC);
  await inForce(testEnv, 'one', { [GROUP]: 'one' });
  const birthRecord = '{"pool":"one","labels":{"tier":"gold"}}';
  await testEnv.nodes({
    name: 'a',
    labels: { [GROUP]: 'one', tier: 'gold' },
    annotations: { [BIRTH_RECORD]: birthRecord },
  });
  const node = await testEnv.node('a');
  assert.deepEqual([node.metadata.annotations?.[BIRTH_RECORD], taintsOf(node)], [birthRecord, []]);
  await testEnv.reconcile();
  await testEnv.delete(['one']);
  assert.equal('tier' in (await testEnv.node('a')).metadata.labels, false);
});
