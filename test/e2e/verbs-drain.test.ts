/** `drain` where nobody runs pods: what it takes, leaves and refuses, and what budgets hold back. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { podsOf } from './draining.ts';
import { type Following, start } from './following.ts';
import { inTerminal, NO_TERMINAL, verbsOf } from './verbs.ts';
import { eventually } from './watching.ts';
import { role, useWorld } from './world.ts';

const world = useWorld({ audit: true });
const { cluster } = world;
const { refused, unchanged } = verbsOf(cluster);
const { pod, daemonSet, budget, names } = podsOf(world);
const api = () => raw(cluster());

/** Pods are gone at once: there is no kubelet that would end them. */
const NOW = '--grace-period=0';
const WEB = { app: 'web' };

/** Pool worker with two nodes; and a node that is none of its members, with a pod. */
async function worker(): Promise<void> {
  await world.nodes(
    { name: 'w-1', labels: role('worker') },
    { name: 'w-2', labels: role('worker') },
    { name: 'other' },
  );
  await world.pool('worker');
  await pod({ name: 'elsewhere', node: 'other', owner: null });
}

const drain = (...args: string[]) => cli(cluster(), ['drain', 'worker', ...args]);

function background(t: TestContext, ...args: string[]): Following {
  return start(t, cluster(), [...productCommand(), 'drain', 'worker', ...args]);
}

const closed = async () => {
  const { items } = (await api().expect('GET', '/api/v1/nodes')) as {
    items: { metadata: { name: string }; spec: { unschedulable?: boolean } }[];
  };
  return items.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
};

test('cordons all, evicts what has a controller, and touches no other node', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1' });
  await pod({ name: 'q', node: 'w-2' });
  await pod({ name: 'ended', node: 'w-2', owner: null, phase: 'Succeeded', emptyDir: true });
  const { code, stdout, stderr } = await drain(NOW);
  assert.equal(
    stdout,
    'node/w-1 cordoned\nnode/w-2 cordoned\nnode/w-1 drained\nnode/w-2 drained\n' +
      'nodepool.nodes.lailin.xyz/worker drained (2 nodes, 3 pods)\n',
  );
  assert.equal(code, 0);
  const said = [
    'evicting pod default/p',
    'pod default/p evicted',
    'evicting pod default/ended',
    'evicting pod default/q',
    'pod default/ended evicted',
    'pod default/q evicted',
  ];
  assert.deepEqual(stderr.trimEnd().split('\n').toSorted(), said.toSorted());
  assert.deepEqual([await names(), await closed()], [['elsewhere'], ['w-1', 'w-2']]);
});

test('what needs a flag is refused before anything is written', async () => {
  await worker();
  await daemonSet('agent');
  const agent = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' };
  await pod({ name: 'agent-1', node: 'w-1', owner: agent });
  await pod({ name: 'lost-1', node: 'w-1', owner: { ...agent, name: 'lost' } });
  await pod({ name: 'bare', node: 'w-1', owner: null });
  await pod({ name: 'data', node: 'w-2', emptyDir: true });
  await pod({ name: 'static', node: 'w-2', owner: null, annotations: { 'kubernetes.io/config.mirror': 'x' } });
  const all = await names();
  await refused(
    ['drain', 'worker'],
    1,
    `error: cannot drain nodepool "worker", and nothing was changed:
  cannot delete DaemonSet-managed pods (use --ignore-daemonsets to ignore): default/agent-1
  cannot delete pods that declare no controller (use --force to override): default/bare
  cannot delete pods whose DaemonSet does not exist (use --force to override): default/lost-1
  cannot delete pods with local storage (use --delete-emptydir-data to override): default/data
next: use the flags that are named, or take care of these pods first`,
  );
  assert.deepEqual(await names(), all);

  const { code, stderr } = await drain(NOW, '--ignore-daemonsets', '--force', '--delete-emptydir-data');
  assert.equal(code, 0);
  assert.deepEqual(stderr.split('\n').slice(0, 4), [
    'warning: ignoring DaemonSet-managed pods: default/agent-1',
    'warning: deleting pods that declare no controller: default/bare',
    'warning: deleting pods whose DaemonSet does not exist: default/lost-1',
    'warning: deleting pods with local storage: default/data',
  ]);
  assert.deepEqual(await names(), ['agent-1', 'elsewhere', 'static']);
});

test('--pod-selector', async () => {
  await worker();
  await pod({ name: 'a', node: 'w-1', labels: WEB });
  await pod({ name: 'b', node: 'w-1', owner: null });
  const { code } = await drain(NOW, '--pod-selector', 'app=web');
  assert.deepEqual([code, await names()], [0, ['b', 'elsewhere']]);
  await refused(
    ['drain', 'worker', '--pod-selector', 'a in'],
    1,
    /^error: --pod-selector "a in": .*; next: write it like a=b/,
  );
});

test('dry runs: of the client what would go, of the server what would wait', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'q', node: 'w-2' });
  await budget('web', WEB, 0);
  for (const [flag, suffix] of [
    ['--dry-run', ' (dry run)'],
    ['--dry-run=server', ' (server dry run)'],
  ]) {
    const { code, stdout, stderr } = await unchanged(['drain', 'worker', String(flag)]);
    assert.equal(code, 0);
    assert.deepEqual(stdout.split('\n').slice(0, 2), [`node/w-1 cordoned${suffix}`, `node/w-2 cordoned${suffix}`]);
    assert.match(stderr, /^evicting pod default\/q \(.*dry run\)$/m);
    const waits = /^pod default\/p on node w-1 waits for PodDisruptionBudget default\/web: .* \(server dry run\)$/m;
    assert.equal(waits.test(stderr), flag === '--dry-run=server');
  }
  assert.deepEqual(await names(), ['elsewhere', 'p', 'q']);
});

test('a budget holds it back, is named, and lets go', async t => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await budget('web', WEB, 0);
  const draining = background(t, NOW);
  await eventually('the budget is named', () => draining.stderr().includes('PodDisruptionBudget'));
  assert.equal(
    draining.stderr(),
    'evicting pod default/p\npod default/p on node w-1 waits for PodDisruptionBudget default/web: ' +
      'needs 2 healthy pods and has 2 currently\n',
  );
  assert.deepEqual(await names(), ['elsewhere', 'p']);
  await budget('web', WEB, 1);
  await draining.has(5);
  assert.equal(await draining.end('SIGCONT'), 0);
  assert.deepEqual(await names(), ['elsewhere']);
});

test('a budget that the server has not looked at yet: a 429 with Retry-After is named, too', async t => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await api().expect('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    metadata: { name: 'new' },
    spec: { minAvailable: 1, selector: { matchLabels: WEB } },
  });
  const draining = background(t, NOW);
  await eventually(
    'the budget is named',
    () => draining.stderr().includes('default/new: is still being processed'),
    5_000,
  );
  assert.equal(await draining.end(), 130);
});

test('two budgets: told with their names, and the other pods go', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'q', node: 'w-1' });
  await budget('one', WEB, 1);
  await budget('two', WEB, 1);
  await budget('third', { app: 'db' }, 1);
  const { code, stdout, stderr } = await drain(NOW);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: unable to drain node "w-1": pod default\/p has more than one PodDisruptionBudget, and the server evicts no such pod: one, two \(leave it one/m,
  );
  assert.match(stderr, /^error: nodepool "worker" not drained: 1 node of 2 left to do; next: run the command again/m);
  assert.match(stdout, /^w-1 +failed +1\/2$/m);
  assert.match(stdout, /^w-2 +drained +0\/0$/m);
  assert.deepEqual(await names(), ['elsewhere', 'p']);
  assert.equal((await drain(NOW, '--disable-eviction')).code, 0);
  assert.deepEqual(await names(), ['elsewhere']);
});

test('the time is up', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'stays', node: 'w-1', finalizers: ['example.com/keep'] });
  await budget('web', WEB, 0);
  const { code, stdout, stderr } = await drain(NOW, '--timeout=2s');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: unable to drain node "w-1": gave up after 2 s: waiting for PodDisruptionBudget default\/web: .*: default\/p; still terminating: default\/stays$/m,
  );
  assert.match(stdout, /^w-1 +failed +0\/2 +1 pod waits for PodDisruptionBudget default\/web: needs 2 healthy/m);
});

test('--skip-wait-for-delete-timeout', async () => {
  await worker();
  await pod({ name: 'stays', node: 'w-1', finalizers: ['example.com/keep'] });
  const { code, stderr } = await drain(NOW, '--skip-wait-for-delete-timeout=1');
  assert.equal(code, 0);
  assert.match(stderr, /^pod default\/stays has been terminating for too long, skipping$/m);
});

test('Ctrl-C leaves a report; run again, it goes on where it ended', async t => {
  await world.nodes(...['w-1', 'w-2', 'w-3'].map(name => ({ name, labels: role('worker') })));
  await world.pool('worker');
  await pod({ name: 'p', node: 'w-1' });
  await pod({ name: 'held', node: 'w-2', labels: WEB });
  await pod({ name: 'q', node: 'w-2' });
  await pod({ name: 'r', node: 'w-3' });
  await budget('web', WEB, 0);
  const draining = background(t, NOW);
  await eventually('q is gone', () => draining.stderr().includes('pod default/q evicted'));
  assert.equal(await draining.end(), 130);
  assert.deepEqual(draining.lines().slice(-4), [
    'NODE   STATE       PODS GONE   NOTE',
    'w-1    drained     1/1',
    'w-2    under way   1/2         1 pod waits for PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently',
    'w-3    not begun   0/1',
  ]);
  assert.match(
    draining.stderr(),
    /error: nodepool "worker" interrupted: 2 nodes of 3 left to do; next: run the command/,
  );
  assert.deepEqual(
    [await names(), await closed()],
    [
      ['held', 'r'],
      ['w-1', 'w-2', 'w-3'],
    ],
  );

  await budget('web', WEB, 1);
  const before = (await readAudit(cluster())).length;
  const { code, stdout } = await drain(NOW);
  assert.equal(code, 0);
  assert.match(stdout, /^node\/w-1 already cordoned$/m);
  assert.match(stdout, /drained \(3 nodes, 2 pods\)$/m);
  const events = (await readAudit(cluster())).slice(before);
  assert.deepEqual(
    events.filter(isWrite).map(({ verb, resource, name }) => `${verb} ${resource} ${name}`),
    ['create pods/eviction held', 'create pods/eviction r'],
  );
  const ofFirst = events.filter(({ uri }) => uri.includes('spec.nodeName%3Dw-1'));
  assert.equal(ofFirst.length, 1, 'a node that is drained costs one look');
});

test('a pod that was made anew under its name stays', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1' });
  const { drain: port } = await world.connection();
  const [before] = await (await port()).podsOn('w-1');
  assert.ok(before);
  await api().expect('DELETE', '/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0');
  await pod({ name: 'p', node: 'w-1' });
  const removal = { gracePeriodSeconds: 0, dryRun: false };
  assert.deepEqual(await (await port()).evict(before, removal), { kind: 'changed' });
  assert.deepEqual(await (await port()).delete(before, removal), { kind: 'changed' });
  const [after] = await (await port()).podsOn('w-1');
  assert.ok(after && after.uid !== before.uid);
  assert.deepEqual(await (await port()).evict(after, removal), { kind: 'accepted' });
  assert.deepEqual(await (await port()).evict(after, removal), { kind: 'gone' });
});

test('the permissions that the docs name suffice', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await budget('one', WEB, 1);
  await budget('two', WEB, 1);
  await daemonSet('agent');
  await pod({ name: 'agent-1', node: 'w-2', owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } });
  const page = readFileSync(new URL('../../docs/commands/drain.md', import.meta.url), 'utf8');
  const [, manifest = ''] = /```yaml\n(kind: ClusterRole\n.*?)```/s.exec(page) ?? [];
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const stdin = `apiVersion: rbac.authorization.k8s.io/v1\n${manifest}`;
  assert.equal((await kubectl(cluster(), ['create', '-f', '-'], { stdin })).stderr, '');
  await api().expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'keeper' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'nodepool-drain' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'keeper' }],
  });
  const flags = [NOW, '--ignore-daemonsets', '--as', 'keeper'];
  const held = await drain(...flags);
  assert.match(held.stderr, /more than one PodDisruptionBudget, .*: one, two /);
  assert.doesNotMatch(held.stderr, /lacks the permission/);
  assert.equal((await drain(...flags, '--disable-eviction')).code, 0);
  assert.equal((await cli(cluster(), ['uncordon', 'worker', '--as', 'keeper'])).code, 0);
});

test('what is wrong with the command', async () => {
  await worker();
  const see = "See 'kubectl nodepool drain --help'.";
  const next = 'next: list the pools with `kubectl nodepool get`';
  await refused(['drain', 'nope'], 1, `error: nodepool "nope" not found; ${next}`);
  await refused(['drain'], 2, `error: missing argument NAME\n${see}`);
  const how = 'next: write it like 2 or 25%';
  const bad = `error: --max-unavailable: "0" is neither a number of nodes nor a percentage; ${how}\n${see}`;
  await refused(['drain', 'worker', '--max-unavailable', '0'], 2, bad);
  await refused(['drain', 'worker', '--max-unavailable', '1', '--parallel', '2'], 2, /--parallel/);
  await refused(['drain', 'worker', '--parallel', '0'], 2, /--parallel/);
  await refused(['drain', 'worker', '--timeout', 'soon'], 2, /--timeout: "soon" is not a duration/);
  await world.pool('empty');
  await refused(['drain', 'empty'], 0, 'No nodes found in nodepool empty.');
});

test('on a terminal it asks, and shows how far it is in a line', { skip: NO_TERMINAL }, async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1' });
  const no = await inTerminal(cluster(), ['drain', 'worker', NOW], 'n\n');
  assert.match(no.shown, /Drain pool worker: cordon 2 nodes and evict 1 pod\? \[y\/N\]/);
  assert.match(no.shown, /nothing was drained/);
  assert.deepEqual([no.code, await names(), await closed()], [1, ['elsewhere', 'p'], []]);
  const yes = await inTerminal(cluster(), ['drain', 'worker', NOW], 'y\n');
  assert.equal(yes.code, 0);
  assert.match(yes.shown, /Draining worker: 0\/2 nodes; w-1 0\/1 pods/);
  assert.doesNotMatch(yes.shown, /evicting pod/);
  assert.match(yes.shown, /worker drained \(2 nodes, 1 pod\)/);
  const again = await inTerminal(cluster(), ['drain', 'worker', '--yes'], '');
  assert.doesNotMatch(again.shown, /\[y\/N\]/);
});
