/** The finalizer keeps a pool until its nodes are released, whoever deletes the pool and whoever removes the finalizer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok } = commandsOf(cluster);

const DEDICATED = { key: 'dedicated', value: 'worker', effect: 'NoSchedule' } as const;

const id = (name: string) => `nodepool.nodes.lailin.xyz "${name}"`;

/** Pool gpu with nodes a and b, reconciled. */
async function gpu(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') });
  await testEnv.pool('gpu', { taints: [DEDICATED], handler: 'nvidia' });
  await testEnv.reconcile();
}

test('deleting a pool releases its nodes, deletes its RuntimeClass, then removes the pool', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('worker'), tier: 'old', other: 'x' } });
  await testEnv.pool('worker', { labels: { tier: 'gold' }, taints: [DEDICATED], handler: 'runc' });
  await testEnv.reconcile();
  assert.deepEqual((await testEnv.getPool('worker'))?.metadata.finalizers, [FINALIZER]);
  const [result] = await testEnv.delete(['worker']);
  assert.equal(result?.released, 1);
  assert.equal(await testEnv.getPool('worker'), undefined);
  assert.equal(await testEnv.runtimeClass('worker'), undefined);
  const node = await testEnv.node('a');
  assert.deepEqual([node.metadata.labels.tier, node.metadata.labels.other], ['old', 'x']);
  assert.deepEqual(taintsOf(node), []);
  assert.equal(node.metadata.labels['node-role.kubernetes.io/worker'], '', 'the membership label is the user’s');
});

test('the next reconcile releases a pool that kubectl marked for deletion', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await raw(cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/worker');
  assert.ok((await testEnv.getPool('worker'))?.metadata.deletionTimestamp, 'the finalizer keeps it');
  await testEnv.reconcile();
  assert.equal(await testEnv.getPool('worker'), undefined);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, undefined);
});

test('releases nodes of a pool that was removed without its finalizer', async () => {
  await testEnv.nodes({ name: 'a', labels: role('worker') });
  await testEnv.pool('worker', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  await testEnv.edit('worker', { metadata: { finalizers: [] } });
  await raw(cluster()).expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/worker');
  assert.equal(await testEnv.getPool('worker'), undefined);
  await testEnv.reconcile();
  const { metadata } = await testEnv.node('a');
  assert.deepEqual([metadata.labels.tier, metadata.annotations?.['nodes.lailin.xyz/applied']], [undefined, undefined]);
});

test('releases a pool that lacks our finalizer', async () => {
  await gpu();
  await testEnv.edit('gpu', { metadata: { finalizers: null } });
  assert.equal(await ok(['delete', 'gpu']), `${id('gpu')} deleted (2 nodes released)\n`);
  assert.deepEqual(taintsOf(await testEnv.node('b')), []);
  assert.equal(await testEnv.runtimeClass('gpu'), undefined);
});

test('names a foreign finalizer, and neither waits for it nor removes it', async () => {
  await gpu();
  await testEnv.edit('gpu', { metadata: { finalizers: ['example.com/backup', FINALIZER] } });
  const waits = `${id('gpu')} has released its nodes; waiting for other finalizers: example.com/backup\n`;
  const started = Date.now();
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await cliHere(cluster(), ['delete', 'gpu']), { code: 1, stdout: '', stderr: waits });
  }
  assert.ok(Date.now() - started < 15_000, 'it waited');
  assert.deepEqual(taintsOf(await testEnv.node('a')), []);
  assert.deepEqual((await testEnv.getPool('gpu'))?.metadata.finalizers, ['example.com/backup']);
  assert.match(await ok(['get', 'gpu']), /^gpu +Deleting /m);
});

test('delete and reconcile complete a deletion that kubectl began', async () => {
  await gpu();
  const waiting = kubectl(cluster(), ['delete', 'nodepool', 'gpu']);
  while ((await testEnv.getPool('gpu'))?.metadata.deletionTimestamp === undefined);
  assert.match(await ok(['reconcile']), /^gpu +released +2 nodes released/);
  assert.equal((await waiting).code, 0);
});

test('keeps the pool when a node cannot be written, and the next delete completes', async () => {
  await gpu();
  const path = '/apis/admissionregistration.k8s.io/v1';
  const body = {
    metadata: { name: 'hold-a' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      },
      validations: [{ expression: "object.metadata.name != 'a'", message: 'node a is held' }],
    },
  };
  const binding = { metadata: { name: 'hold-a' }, spec: { policyName: 'hold-a', validationActions: ['Deny'] } };
  await raw(cluster()).expect('POST', `${path}/validatingadmissionpolicies`, body);
  await raw(cluster()).expect('POST', `${path}/validatingadmissionpolicybindings`, binding);
  const held = async () => {
    const { status } = await raw(cluster()).request('PATCH', '/api/v1/nodes/a?dryRun=All', {
      metadata: { labels: { x: 'y' } },
    });
    return status === 422;
  };
  while (!(await held()));
  const { code, stdout, stderr } = await cliHere(cluster(), ['delete', 'gpu']);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.match(stderr, /^error: .*node a is held.*\nnodepool\.nodes\.lailin\.xyz "gpu" is not deleted yet\n$/i);
  assert.deepEqual((await testEnv.getPool('gpu'))?.metadata.finalizers, [FINALIZER]);
  assert.deepEqual(taintsOf(await testEnv.node('b')), []);

  await raw(cluster()).expect('DELETE', `${path}/validatingadmissionpolicybindings/hold-a`);
  await raw(cluster()).expect('DELETE', `${path}/validatingadmissionpolicies/hold-a`);
  while (await held());
  assert.equal(await ok(['delete', 'gpu']), `${id('gpu')} deleted (1 node released)\n`);
});
