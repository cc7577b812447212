/** Transient states: the flag and the annotation that name more keys, warnings, and consent to restored taints. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const ANNOTATION = 'nodes.lailin.xyz/transient-keys';
const BOOT = { key: 'boot.example.com/agent', effect: 'NoExecute' as const };
const CILIUM = { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' as const };
const run = (...args: string[]) => cliHere(testEnv.cluster(), args);
const live = async (name: string) => {
  const node = await testEnv.node(name);
  return [...taintsOf(node), ...Object.keys(node.metadata.labels).filter(key => /example|acme/.test(key))];
};

test('unmanaged: Remove keeps known transient keys, and those of flag and annotation', async () => {
  const labels = { ...role('one'), 'acme.io/state': 'x', 'acme.io/other': 'y' };
  await testEnv.nodes({ name: 'a', labels, taints: [BOOT, CILIUM] });
  await testEnv.pool('one', { unmanaged: 'Remove' }, { metadata: { annotations: { [ANNOTATION]: 'acme.io/state' } } });
  const all = [
    'boot.example.com/agent:NoExecute',
    'node.cilium.io/agent-not-ready:NoExecute',
    'acme.io/other',
    'acme.io/state',
  ];
  const flag = ['--transient-keys', 'boot.example.com/*,acme.io/other'];
  assert.equal((await run('diff', ...flag)).code, 0);
  assert.equal((await run('reconcile', '--yes', ...flag)).code, 0);
  assert.deepEqual((await live('a')).toSorted(), all.toSorted());
  assert.equal((await run('reconcile', '--yes')).code, 0);
  assert.deepEqual(await live('a'), ['node.cilium.io/agent-not-ready:NoExecute', 'acme.io/state']);
  const wrong = await run('reconcile', '--transient-keys', '*');
  assert.equal(wrong.code, 2, wrong.stderr);
  assert.match(wrong.stderr, /--transient-keys: .*write KEY or DOMAIN\/\*/);
});

test('an invalid annotation keeps the pool from changing nodes, and the status names it', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('one'), 'acme.io/state': 'x' } });
  await testEnv.pool(
    'one',
    { unmanaged: 'Remove' },
    { metadata: { annotations: { [ANNOTATION]: 'acme.io/state,*' } } },
  );
  await run('reconcile', '--yes');
  const pool = await testEnv.getPool('one');
  assert.equal(pool?.status?.status, 422);
  assert.match(condition(pool, 'Applied').message ?? '', /metadata.annotations\[nodes.lailin.xyz\/transient-keys\]/);
  assert.deepEqual(await live('a'), ['acme.io/state']);
});

test('create, edit and doctor warn about a transient key, which is not repaired', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  const created = await run('create', 'one', '--taint', 'UpdateInProgress:PreferNoSchedule');
  assert.equal(created.code, 0, created.stderr);
  assert.match(
    created.stderr,
    /taint UpdateInProgress \(Machine Config Operator sets it .*; next: remove it from the pool/,
  );
  const edited = await run('edit', 'one', '--label', 'nvidia.com/mig.config.state=success');
  assert.match(edited.stderr, /label nvidia.com\/mig.config.state \(NVIDIA GPU Operator sets it /);
  await testEnv.reconcile();
  assert.deepEqual(taintsOf(await testEnv.node('a')), ['UpdateInProgress:PreferNoSchedule']);
  await testEnv.patchNode('a', { spec: { taints: [] } });
  assert.equal((await run('diff')).code, 0);
  await testEnv.reconcile();
  assert.deepEqual(taintsOf(await testEnv.node('a')), []);
  assert.match((await run('doctor')).stdout, /warning +specs .*other software uses to mark a state/);
});

test('delete, edit, reconcile, remove and move restore no NoExecute taint without consent', async () => {
  const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
  await testEnv.nodes({ name: 'a', labels: role('one'), taints: [BOOT] });
  await testEnv.pool('one', { unmanaged: 'Remove' });
  await testEnv.pool('two', {}, { younger: true });
  await testEnv.reconcile();
  assert.deepEqual(await live('a'), []);
  const pod = { metadata: { name: 'on-a' }, spec: { nodeName: 'a', containers } };
  await raw(testEnv.cluster()).expect('POST', '/api/v1/namespaces/default/pods', pod);
  for (const args of [
    ['delete', 'one'],
    ['edit', 'one', '--unmanaged', 'Keep'],
    ['remove', 'one', 'a'],
    ['move', 'a', '--to', 'two'],
  ]) {
    const { code, stderr } = await run(...args);
    assert.equal(code, 1, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, /--yes/, args.join(' '));
    assert.deepEqual(await live('a'), [], args.join(' '));
  }
  await testEnv.edit('one', { spec: { unmanaged: 'Keep' } });
  const refused = await run('reconcile');
  assert.match(refused.stderr, /on-a[\s\S]*--yes/);
  assert.deepEqual(await live('a'), []);
  assert.equal((await run('reconcile', '--yes')).code, 0);
  assert.deepEqual(await live('a'), ['boot.example.com/agent:NoExecute']);
});
