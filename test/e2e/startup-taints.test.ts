/** spec.startupTaints on a real API server: set once on nodes that join, and removed when their condition is True. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORD_ANNOTATION, type Taint } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { cliHere } from '../cluster/harness.ts';
import { setCondition, setReady } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, poolYaml } from './commands.ts';
import { condition, role, statuses, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { ok, refused, unchanged } = commandsOf(testEnv.cluster);

const AGENT = { key: 'agent', value: 'starting', effect: 'NoSchedule' as const };
const UNTIL = { ...AGENT, until: { nodeCondition: 'AgentReady' } };
const SETUP = { key: 'setup', effect: 'NoSchedule' as const };
const [AGENT_TEXT, SETUP_TEXT] = ['agent=starting:NoSchedule', 'setup:NoSchedule'];

const taints = async (...names: string[]) =>
  Promise.all(names.map(async name => taintsOf(await testEnv.node(name)).toSorted()));
const startup = async (name: string) =>
  JSON.parse((await testEnv.node(name)).metadata.annotations?.[RECORD_ANNOTATION] ?? '{}').startup;

/** As an agent does: with the version that it has read. */
async function untaint(name: string, ...keys: string[]): Promise<void> {
  const { metadata, spec } = await testEnv.node(name);
  const { resourceVersion } = metadata;
  const left = (spec.taints ?? []).filter(({ key }) => !keys.includes(key));
  await testEnv.patchNode(name, { metadata: { resourceVersion }, spec: { taints: left } });
}
const taint = async (name: string, ...more: Taint[]) =>
  testEnv.patchNode(name, { spec: { taints: [...((await testEnv.node(name)).spec.taints ?? []), ...more] } });
const agentReady = (name: string, status: 'True' | 'False' | 'Unknown' | null) =>
  setCondition(testEnv.cluster(), name, 'AgentReady', status);

/** Requests of the product for nodes since the mark, without watches. */
async function nodeRequests(since: number): Promise<string[]> {
  const events = (await readAudit(testEnv.cluster())).slice(since);
  return events
    .filter(({ resource, userAgent }) => resource === 'nodes' && userAgent.startsWith('kubectl-nodepool/'))
    .filter(({ verb }) => verb !== 'watch')
    .map(({ verb, name }) => `${verb} ${name}`.trim());
}

test('sets startup taints with everything else in one write, and keeps other taints', async () => {
  await testEnv.nodes(
    { name: 'a', labels: role('p'), taints: [{ key: 'cni', effect: 'NoSchedule' }] },
    { name: 'b', labels: role('p'), conditions: ['AgentReady'] },
  );
  await testEnv.pool('p', { labels: { tier: 'x' }, startupTaints: [UNTIL, SETUP] });
  const mark = (await readAudit(testEnv.cluster())).length;
  assert.match(await ok(['reconcile', '--yes']), /./);
  assert.deepEqual((await nodeRequests(mark)).filter(request => request !== 'list').toSorted(), ['patch a', 'patch b']);
  assert.deepEqual(await taints('a', 'b'), [[AGENT_TEXT, 'cni:NoSchedule', SETUP_TEXT], [SETUP_TEXT]]);
  assert.deepEqual(await startup('b'), { 'agent:NoSchedule': null, 'setup:NoSchedule': '' });

  const [a, b] = [await testEnv.node('a'), await testEnv.node('b')];
  assert.deepEqual(statuses(await testEnv.reconcile()), { p: 200 });
  assert.deepEqual([await testEnv.node('a'), await testEnv.node('b')], [a, b], 'no further write');
  await untaint('a', 'setup', 'agent');
  await testEnv.reconcile();
  const pool = await testEnv.getPool('p');
  assert.deepEqual([pool?.status?.updatedNodeCount, condition(pool, 'Applied').status], [2, 'True']);
  assert.equal(await ok(['diff']), '');
});

test('does not write members of a pool that gets startup taints later', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  await testEnv.pool('p', { labels: { tier: 'x' } });
  await testEnv.reconcile();
  const before = await testEnv.node('a');
  await testEnv.edit('p', { spec: { startupTaints: [UNTIL, SETUP] } });
  await testEnv.nodes({ name: 'new', labels: role('p') });
  await testEnv.reconcile();
  assert.deepEqual(await testEnv.node('a'), before);
  assert.deepEqual(await taints('new'), [[AGENT_TEXT, SETUP_TEXT]]);
});

test('keeps an existing taint of the same key and effect, even after the pool is deleted', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p'), taints: [{ ...AGENT, value: 'theirs' }, SETUP] });
  await testEnv.pool('p', { startupTaints: [UNTIL, SETUP] });
  await testEnv.reconcile();
  await agentReady('a', 'True');
  await testEnv.reconcile();
  const theirs = ['agent=theirs:NoSchedule', SETUP_TEXT];
  assert.deepEqual(await taints('a'), [theirs]);
  await testEnv.delete(['p']);
  assert.deepEqual(await taints('a'), [theirs]);
});

test('the watch lifts a taint once when the condition turns True, without further requests', async t => {
  await testEnv.nodes({ name: 'a', labels: role('p') }, { name: 'b', labels: role('p'), ready: false });
  const untilReady = { key: 'b', effect: 'NoSchedule' as const, until: { nodeCondition: 'Ready' } };
  await testEnv.pool('p', { startupTaints: [UNTIL, untilReady] });
  await startWatching(t, testEnv.cluster());
  await eventually('they are given', async () => (await taints('b'))[0]?.includes(AGENT_TEXT));
  const notReady = 'node.kubernetes.io/not-ready:NoSchedule';
  assert.deepEqual(await taints('a', 'b'), [[AGENT_TEXT], [AGENT_TEXT, 'b:NoSchedule', notReady]]);
  for (const status of ['False', 'Unknown'] as const) await agentReady('a', status);
  await agentReady('a', 'True');
  await eventually('it is lifted', async () => (await taints('a'))[0]?.length === 0);
  await setReady(testEnv.cluster(), 'b', true);
  await eventually('until Ready', async () => String(await taints('b')) === String([AGENT_TEXT, notReady]));
  await eventually('the status is written', async () => (await testEnv.getPool('p'))?.status?.readyNodeCount === 2);

  const mark = (await readAudit(testEnv.cluster())).length;
  const { resourceVersion } = (await testEnv.getPool('p'))?.metadata ?? {};
  for (const status of ['False', null, 'True', 'Unknown', 'True'] as const) await agentReady('a', status);
  for (let beat = 0; beat < 20; beat++) await setReady(testEnv.cluster(), beat % 2 ? 'a' : 'b', true);
  await sleep(1_500);
  assert.deepEqual([await nodeRequests(mark), await taints('a')], [[], [[]]]);
  assert.equal((await testEnv.getPool('p'))?.metadata.resourceVersion, resourceVersion);
});

test('AKS 2934: an agent removes a startup taint for good, but taints of spec.taints return', async t => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  const dedicated = { key: 'dedicated', effect: 'NoSchedule' as const };
  await testEnv.pool('p', { taints: [dedicated], startupTaints: [SETUP] });
  const first = await startWatching(t, testEnv.cluster());
  await eventually('it is given', async () => (await taints('a'))[0]?.length === 2);
  await untaint('a', 'setup', 'dedicated');
  await eventually('that is remembered', async () => (await startup('a'))['setup:NoSchedule'] === null);
  await eventually('the other is repaired', async () => String(await taints('a')) === 'dedicated:NoSchedule');
  await first.end();

  await startWatching(t, testEnv.cluster());
  await testEnv.edit('p', { spec: { labels: { tier: 'x' } } });
  await eventually('the edit is applied', async () => (await testEnv.node('a')).metadata.labels.tier === 'x');
  await testEnv.edit('p', { spec: { startupTaints: null } });
  await testEnv.edit('p', { spec: { startupTaints: [{ ...SETUP, value: 'v2' }], labels: { tier: 'y' } } });
  await eventually('this, too', async () => (await testEnv.node('a')).metadata.labels.tier === 'y');
  assert.deepEqual(await taints('a'), [['dedicated:NoSchedule']]);
  // The agent is restarted and wants it back: what it sets is its own.
  await taint('a', { ...SETUP, value: 'v2' });
  await testEnv.reconcile();
  await testEnv.delete(['p']);
  assert.deepEqual(await taints('a'), [['setup=v2:NoSchedule']]);
});

test('Karpenter 1772: a taint that is removed at once does not return from an older plan', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  await testEnv.pool('p', { startupTaints: [SETUP] });
  const { cluster } = await testEnv.connection();
  const patched: string[] = [];
  // This reconcile has read the node before another gives the taint, and the agent removes it.
  await testEnv.reconcileWith({
    ...cluster,
    nodes: {
      ...cluster.nodes,
      async patch(name, patch, options) {
        if (patched.length === 0) {
          assert.equal((await cluster.nodes.patch(name, patch, options)).kind, 'written');
          await untaint('a', 'setup');
        }
        const result = await cluster.nodes.patch(name, patch, options);
        patched.push(result.kind);
        return result;
      },
    },
  });
  assert.deepEqual([patched, await taints('a')], [['conflict', 'written'], [[]]]);
  assert.deepEqual(await startup('a'), { 'setup:NoSchedule': null });
});

test('node-readiness-controller 382: the first True report lifts an earlier startup taint', async t => {
  await testEnv.nodes({ name: 'long-lived', labels: role('p') });
  await startWatching(t, testEnv.cluster());
  // The pool and the agents are rolled out at once: some report before the pool has written, some later.
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('p') })));
  const all = ['long-lived', ...names];
  await Promise.all([testEnv.pool('p', { startupTaints: [UNTIL] }), ...all.map(name => agentReady(name, 'True'))]);
  await eventually(
    'all are members',
    async () => (await testEnv.getPool('p'))?.status?.updatedNodeCount === all.length,
  );
  await eventually('no taint is left', async () => (await taints(...all)).flat().length === 0);
  await Promise.all(names.map(name => agentReady(name, 'False')));
  await sleep(1_000);
  assert.deepEqual((await taints(...all)).flat(), [], 'a report that comes late gives none');
});

test('node-readiness-controller 347: deletion removes taints from nodes that no longer match', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p') }, { name: 'b', labels: role('p') });
  await testEnv.pool('p', { startupTaints: [UNTIL, SETUP] });
  await testEnv.reconcile();
  await untaint('b', 'setup');
  await taint('b', { key: 'theirs', effect: 'NoSchedule' });
  await testEnv.patchNode('a', { metadata: { labels: { 'node-role.kubernetes.io/p': null } } });
  // No controller runs: the command alone does it.
  await ok(['delete', 'p', '--yes']);
  assert.deepEqual(await taints('a', 'b'), [[], ['theirs:NoSchedule']]);
});

test('node-readiness-controller 235: a relabelled node loses only what the pool set', async t => {
  await testEnv.nodes({ name: 'a', labels: role('p') }, { name: 'b', labels: role('p'), taints: [SETUP] });
  await testEnv.pool('p', { startupTaints: [UNTIL, SETUP] });
  await startWatching(t, testEnv.cluster());
  await eventually('they are given', async () => (await taints('a', 'b')).flat().length === 4);
  for (const name of ['a', 'b'])
    await testEnv.patchNode(name, { metadata: { labels: { 'node-role.kubernetes.io/p': null, env: 'other' } } });
  await eventually('they are taken', async () => String(await taints('a', 'b')) === String([[], [SETUP_TEXT]]));
  for (const name of ['a', 'b']) assert.equal(await startup(name), undefined);
});

test('a node that moves gets startup taints of the new pool, except for keys it had before', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { startupTaints: [UNTIL, SETUP] });
  await testEnv.pool('two', {
    startupTaints: [
      { ...AGENT, value: 'two' },
      { key: 'own', effect: 'NoSchedule' },
    ],
  });
  await testEnv.reconcile();
  await untaint('a', 'agent');
  await testEnv.reconcile();
  await ok(['move', 'a', '--to', 'two', '--yes']);
  assert.deepEqual(await taints('a'), [['own:NoSchedule']]);
  await testEnv.delete(['one', 'two']);
  assert.deepEqual(await taints('a'), [[]]);
});

test('startup taints with NoExecute need the same consent as in spec.taints', async () => {
  await testEnv.nodes({ name: 'a', labels: role('p') });
  const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
  const pod = { metadata: { name: 'running' }, spec: { nodeName: 'a', containers } };
  await raw(testEnv.cluster()).expect('POST', '/api/v1/namespaces/default/pods', pod);
  await testEnv.pool('p', { startupTaints: [{ key: 'setup', effect: 'NoExecute' }] });
  const { code, stderr } = await cliHere(testEnv.cluster(), ['reconcile']);
  assert.equal(code, 1);
  assert.match(stderr, /default\/running/);
  assert.match(stderr, /--yes/);
  assert.deepEqual(await taints('a'), [[]]);
  assert.equal((await cliHere(testEnv.cluster(), ['reconcile', '--yes'])).code, 0);
  assert.deepEqual(await taints('a'), [['setup:NoExecute']]);
});

test('create and edit set startup taints by flags, and describe, diff and nodes show them', async () => {
  await ok(['create', 'p', '--startup-taint', 'agent=starting:NoSchedule,until=AgentReady,setup:NoSchedule']);
  const spec = async () => (await testEnv.getPool('p'))?.spec.startupTaints;
  assert.deepEqual(await spec(), [UNTIL, SETUP]);
  await testEnv.nodes({ name: 'a', labels: role('p') });
  const { stdout } = await unchanged(['diff']);
  assert.match(stdout, /^ {2}\+ taint agent=starting:NoSchedule +\(joined the pool\)$/m);
  await ok(['reconcile', '--yes']);
  const shown = await ok(['describe', 'p']);
  assert.match(shown, /Startup Taints: +agent=starting:NoSchedule until AgentReady\n +setup:NoSchedule\n/);
  assert.match(await ok(['nodes']), /^a .* agent=starting:NoSchedule,\+1 +<none> /m);
  await untaint('a', 'setup');
  const why = await ok(['nodes', '--why', 'a']);
  assert.match(
    why,
    /startup taint agent=starting:NoSchedule: on the node until the condition AgentReady of the node is True\n/,
  );
  assert.match(why, /startup taint setup:NoSchedule: removed or never set; not set again/);
  await agentReady('a', 'True');
  assert.match((await unchanged(['diff'])).stdout, /^ {2}- taint agent=starting:NoSchedule +\(condition\)$/m);
  await ok(['edit', 'p', '--startup-taint', 'agent:NoSchedule-', '--startup-taint', 'setup=v2:NoSchedule']);
  assert.deepEqual(await spec(), [{ ...SETUP, value: 'v2' }]);

  await refused(
    ['edit', 'p', '--startup-taint', 'until=AgentReady'],
    2,
    /^error: --startup-taint "until=AgentReady": the taint before "until=AgentReady" is missing/,
  );
  await refused(
    ['edit', 'p', '--taint', 'setup:NoSchedule'],
    1,
    /spec\.startupTaints: spec\.taints also has key "setup"/,
  );
  const stdin = poolYaml('q', '{startupTaints: [{key: a, effect: NoSchedule, until: {condition: Ready}}]}');
  await refused(['create', '-f', '-'], 1, /spec\.startupTaints\[0\]\.until/, { stdin });
});
