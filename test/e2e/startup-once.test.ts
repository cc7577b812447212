/** Startup taints go to young nodes, once each, also if the label, the record or the pool was gone for a moment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NodePoolSpec, RECORD_ANNOTATION, type Taint } from '../../src/nodepool/types.ts';
import { kubectl } from '../cluster/harness.ts';
import { labelNode, setCondition } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, statuses, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { ok } = commandsOf(testEnv.cluster);

const SETUP: Taint = { key: 'setup', effect: 'NoExecute' };
const AGENT = { key: 'agent', effect: 'NoSchedule' as const, until: { nodeCondition: 'AgentReady' } };
const NAMES = ['a', 'b', 'c'];

const taints = async () =>
  Promise.all(
    NAMES.map(async name =>
      taintsOf(await testEnv.node(name))
        .toSorted()
        .join(),
    ),
  );
const startupOf = async (name: string) =>
  JSON.parse((await testEnv.node(name)).metadata.annotations?.[RECORD_ANNOTATION] ?? '{}').startup;
const areMembers = async () => (await Promise.all(NAMES.map(startupOf))).every(startup => startup !== undefined);
const isFree = async () => (await Promise.all(NAMES.map(startupOf))).every(startup => startup === undefined);

/** A watch, and members whose agents have removed the startup taints. */
async function opened(t: Parameters<typeof startWatching>[0], spec: NodePoolSpec = {}): Promise<void> {
  await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('p') })));
  await testEnv.pool('p', { startupTaints: [SETUP], ...spec });
  await startWatching(t, testEnv.cluster());
  await eventually('they are given', async () => String(await taints()) === String(NAMES.map(() => 'setup:NoExecute')));
  for (const name of NAMES) await testEnv.patchNode(name, { spec: { taints: null } });
  await eventually('that is noted', async () =>
    (await Promise.all(NAMES.map(startupOf))).every(startup => startup['setup:NoExecute'] === null),
  );
}

test('sets no startup taints again when a label is missing for a second', async t => {
  await opened(t);
  for (const name of NAMES) await labelNode(testEnv.cluster(), name, { 'node-role.kubernetes.io/p': null });
  await eventually('they leave', isFree);
  for (const name of NAMES) await labelNode(testEnv.cluster(), name, role('p'));
  await eventually('they come back', areMembers);
  assert.deepEqual(await taints(), ['', '', '']);
});

test('sets no startup taints again after a lost record or a reverted selector edit', async t => {
  await opened(t);
  for (const name of NAMES) {
    const { metadata, ...rest } = await testEnv.node(name);
    const { [RECORD_ANNOTATION]: _record, ...annotations } = metadata.annotations ?? {};
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { ...metadata, annotations }, ...rest });
    const { code, stderr } = await kubectl(testEnv.cluster(), ['replace', '-f', '-'], { stdin });
    assert.equal(code, 0, stderr);
  }
  await eventually('they have a record again', areMembers);
  assert.deepEqual(await taints(), ['', '', '']);
  await testEnv.edit('p', { spec: { nodeSelector: { other: 'x' } } });
  await eventually('they leave', isFree);
  await testEnv.edit('p', { spec: { nodeSelector: { ...role('p'), other: null } } });
  await eventually('they come back', areMembers);
  assert.deepEqual(await taints(), ['', '', '']);
});

test('sets no startup taints again after the pool is recreated or another takes over', async t => {
  await opened(t);
  await ok(['delete', 'p', '--yes']);
  await testEnv.pool('p', { startupTaints: [SETUP] });
  await eventually('they are members of the new one', areMembers);
  assert.deepEqual(await taints(), ['', '', '']);
  await testEnv.pool('q', { nodeSelector: { group: 'q' }, startupTaints: [SETUP, AGENT] });
  for (const name of NAMES)
    await testEnv.patchNode(name, { metadata: { labels: { 'node-role.kubernetes.io/p': null, group: 'q' } } });
  await eventually('they are members of the other', async () =>
    (await taints()).every(text => text === 'agent:NoSchedule'),
  );
});

test('transient taints of spec.taints go to young nodes only, even after a lost record', async () => {
  const agent: Taint = { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' };
  const own: Taint = { key: 'own', effect: 'NoSchedule' };
  await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('p') })));
  await testEnv.pool('p', { taints: [agent, own] });
  await testEnv.reconcile();
  const both = 'node.cilium.io/agent-not-ready:NoExecute,own:NoSchedule';
  assert.deepEqual(await taints(), [both, both, both]);
  const lost = { annotations: { [RECORD_ANNOTATION]: null } };
  for (const name of NAMES) await testEnv.patchNode(name, { metadata: lost, spec: { taints: [own] } });
  await testEnv.reconcileLater(11);
  assert.deepEqual(
    await taints(),
    NAMES.map(() => 'own:NoSchedule'),
  );
  assert.ok((await testEnv.node('a')).metadata.annotations?.[RECORD_ANNOTATION]);
});

test('a startup taint that still waits returns with the label, and is lifted later', async t => {
  await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('p') })));
  await testEnv.pool('p', { startupTaints: [AGENT] });
  await startWatching(t, testEnv.cluster());
  const wait = async () => String(await taints()) === String(NAMES.map(() => 'agent:NoSchedule'));
  await eventually('they are given', wait);
  for (const name of NAMES) await labelNode(testEnv.cluster(), name, { 'node-role.kubernetes.io/p': null });
  await eventually('they leave', isFree);
  for (const name of NAMES) await labelNode(testEnv.cluster(), name, role('p'));
  await eventually('they are given again', wait);
  for (const name of NAMES) await testEnv.patchNode(name, { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
  await eventually('they have a record again', areMembers);
  for (const name of NAMES) await setCondition(testEnv.cluster(), name, 'AgentReady', 'True');
  await eventually('they are lifted', async () => String(await taints()) === ',,');
});

test('a new pool sets startup taints on old nodes only if they were never Ready', async () => {
  await testEnv.nodes(
    { name: 'a', labels: role('p') },
    { name: 'b', labels: role('p'), taints: [SETUP] },
    { name: 'c', labels: role('p'), ready: false },
  );
  await testEnv.pool('p', { startupTaints: [SETUP, AGENT] });
  assert.deepEqual(statuses(await testEnv.reconcileLater(11)), { p: 200 });
  assert.deepEqual(await taints(), [
    '',
    'setup:NoExecute',
    'agent:NoSchedule,node.kubernetes.io/not-ready:NoSchedule,setup:NoExecute',
  ]);
  assert.deepEqual(await startupOf('b'), { 'agent:NoSchedule': null, 'setup:NoExecute': null });
  await testEnv.nodes({ name: 'new', labels: role('p') });
  await testEnv.reconcileLater(9);
  assert.deepEqual(taintsOf(await testEnv.node('new')).toSorted(), ['agent:NoSchedule', 'setup:NoExecute']);
});

test('lifts a taint that a kubelet registers with, also with the admission policy', async t => {
  await testEnv.pool('p', { labels: { tier: 'x' }, nodeSelector: { group: 'p' }, startupTaints: [SETUP, AGENT] });
  await ok(['install', '--admission']);
  const own = [{ key: 'agent', effect: 'NoSchedule' as const }];
  let at = 0;
  await eventually('nodes are born in the pool', async () => {
    const name = `probe-${at++}`;
    await testEnv.nodes({ name, labels: { group: 'p' }, taints: own });
    return (await testEnv.node(name)).metadata.labels.tier === 'x';
  });
  const born = `probe-${at - 1}`;
  assert.deepEqual(taintsOf(await testEnv.node(born)).toSorted(), ['agent:NoSchedule', 'setup:NoExecute']);
  await ok(['uninstall', '--admission', '--yes']).catch(() => '');
  await testEnv.nodes({ name: 'joins', labels: { group: 'p' }, taints: own });
  // As when a person runs reconcile once an hour: the node that registered into the pool is no longer young.
  await testEnv.reconcile('p');
  assert.deepEqual(await startupOf('joins'), { 'agent:NoSchedule': '', 'setup:NoExecute': '' });
  await startWatching(t, testEnv.cluster());
  for (const name of [born, 'joins']) await setCondition(testEnv.cluster(), name, 'AgentReady', 'True');
  for (const name of [born, 'joins'])
    await eventually(
      `that of ${name} is lifted`,
      async () => taintsOf(await testEnv.node(name)).join() === 'setup:NoExecute',
    );
  await raw(testEnv.cluster()).deleteAll('/api/v1/nodes');
});

test('again: Boot sets startup taints again when the boot id changes', async t => {
  const boot = (name: string, bootID: string) =>
    raw(testEnv.cluster()).expect('PATCH', `/api/v1/nodes/${name}/status`, { status: { nodeInfo: { bootID } } });
  await opened(t);
  await ok(['edit', 'p', '--yes', '--startup-taint', 'setup:NoExecute,again=Boot']);
  const bootOf = async (name: string) =>
    JSON.parse((await testEnv.node(name)).metadata.annotations?.[RECORD_ANNOTATION] ?? '{}').boot;
  await eventually('the boot ids are noted', async () => (await Promise.all(NAMES.map(bootOf))).every(Boolean));
  assert.deepEqual(await taints(), ['', '', '']);
  const [before] = await Promise.all(NAMES.map(bootOf));
  await boot('b', '0f3c2a1b-5d6e-4f70-8192-a3b4c5d6e7f8');
  await eventually('b is given it', async () => String(await taints()) === ',setup:NoExecute,');
  assert.deepEqual([await bootOf('b'), await bootOf('a')], ['0f3c2a1b', before]);
  await testEnv.patchNode('b', { spec: { taints: null } });
  await eventually('that is noted', async () => (await startupOf('b'))['setup:NoExecute'] === null);
  await boot('b', '0f3c2a1b-5d6e-4f70-8192-a3b4c5d6e7f8');
  await testEnv.edit('p', { spec: { labels: { tier: 'x' } } });
  await eventually('the edit is applied', async () => (await testEnv.node('b')).metadata.labels.tier === 'x');
  assert.deepEqual(await taints(), ['', '', '']);

  // Applied before c boots: the watches of pools and of nodes have no common order.
  await testEnv.edit('p', { spec: { noExecute: 'Drain', labels: { tier: 'y' } } });
  await eventually('the edit is applied', async () => (await testEnv.node('c')).metadata.labels.tier === 'y');
  await boot('c', '1a3c2a1b-5d6e-4f70-8192-a3b4c5d6e7f8');
  await eventually('the boot of c is noted', async () => (await bootOf('c')) === '1a3c2a1b');
  assert.deepEqual(await taints(), ['', '', ''], 'it would evict pods past their budgets');
});
