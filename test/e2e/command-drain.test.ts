/** `drain` without kubelets: which pods it evicts, leaves and refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { refused, unchanged } = commandsOf(cluster);
const { worker, drain, background, closed, pod, daemonSet, budget, names } = poolsWithPods(testEnv);
const api = () => raw(cluster());
const WEB = { app: 'web' };

test('cordons all members, evicts pods with a controller, and writes no other node', async () => {
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
    'Draining 2 nodes of pool worker, 1 at a time; all nodes are cordoned first. Timeout for each node: 15m.',
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

test('refuses pods that need a flag before it writes anything', async () => {
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
    `error: cannot drain nodepool "worker"; nothing was changed:
  cannot delete DaemonSet-managed pods (use --ignore-daemonsets to ignore): default/agent-1
  cannot delete pods that declare no controller (use --force to override): default/bare
  cannot delete pods whose DaemonSet does not exist (use --force to override): default/lost-1
  cannot delete pods with local storage (use --delete-emptydir-data to override): default/data
next: use the flags above, or remove these pods first`,
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

test('--pod-selector limits the evicted pods', async () => {
  await worker();
  await pod({ name: 'a', node: 'w-1', labels: WEB });
  await pod({ name: 'b', node: 'w-1', owner: null });
  const { code } = await drain(NOW, '--pod-selector', 'app=web');
  assert.deepEqual([code, await names()], [0, ['b', 'elsewhere']]);
  await refused(
    ['drain', 'worker', '--pod-selector', 'a in'],
    2,
    /^error: --pod-selector "a in": .*; next: write it like a=b/,
  );
});

test('a client dry run lists the pods, a server dry run also reports the budgets that block', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'q', node: 'w-2' });
  await budget('web', WEB, 0);
  for (const [flag, suffix] of [
    ['--dry-run', ' (dry run)'],
    ['--dry-run=server', ' (server dry run)'],
  ]) {
    const { code, stdout, stderr } = await unchanged(['drain', 'worker', String(flag)]);
    const isServer = flag === '--dry-run=server';
    assert.equal(code, isServer ? 1 : 0);
    const end = isServer ? 'not drained: 1 of 2 nodes and 1 of 2 pods left to drain' : 'drained (2 nodes, 2 pods)';
    assert.ok(stdout.endsWith(`nodepool.nodes.lailin.xyz/worker ${end}${suffix}\n`), stdout);
    assert.deepEqual(stdout.split('\n').slice(0, 2), [`node/w-1 cordoned${suffix}`, `node/w-2 cordoned${suffix}`]);
    assert.match(stderr, /^evicting pod default\/q \(.*dry run\)$/m);
    assert.match(
      stderr,
      /^PodDisruptionBudget default\/web allows 0 of 1 pod to be evicted now; the drain waits until the budget allows more$/m,
    );
    assert.match(stderr, /^Not checked: free resources, pod affinity, topology spread; to check, use --check-fit\.$/m);
    const waits = /^pod default\/p on node w-1 waits for PodDisruptionBudget default\/web: .* \(server dry run\)$/m;
    assert.equal(waits.test(stderr), isServer);
  }
  assert.deepEqual(await names(), ['elsewhere', 'p', 'q']);
});

test('names budgets that never allow an eviction, and pods that fit on no other node', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'picky', node: 'w-2', nodeSelector: role('worker') });
  await api().expect('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    metadata: { name: 'strict' },
    spec: { maxUnavailable: 0, selector: { matchLabels: WEB } },
  });
  const never =
    'warning: PodDisruptionBudget default/strict never allows an eviction: maxUnavailable is 0; 1 pod would not be evicted: add replicas, change the budget, or use --disable-eviction\n';
  const pending =
    'warning: pods will stay Pending, because no other schedulable node matches their nodeSelector and node affinity: default/picky\n';
  const all = await drain('--dry-run');
  assert.ok(all.stderr.startsWith(never + pending), all.stderr);
  assert.doesNotMatch((await drain('--dry-run', '--disable-eviction')).stderr, /PodDisruptionBudget/);
  const later = pending.replace('Pending,', 'Pending once all nodes of the drain are cordoned,');
  const gradual = await drain('--dry-run', '--rolling');
  assert.ok(gradual.stderr.startsWith(never + later), gradual.stderr);
  assert.ok((await drain('--dry-run', '--rolling', '--node', 'w-2', '--node', 'w-1')).stderr.includes(later));
  // The other member takes it.
  assert.doesNotMatch((await drain('--dry-run', '--node', 'w-2')).stderr, /Pending/);
  // With what needs a flag, in one error.
  await pod({ name: 'data', node: 'w-1', labels: WEB, emptyDir: true });
  const two = 'maxUnavailable is 0; 2 pods would not be evicted: add replicas, change the budget, or use --disable-';
  await refused(
    ['drain', 'worker'],
    1,
    new RegExp(`^  cannot delete .*: default/data\n  .* never allows .*: ${two}`, 'm'),
  );
});

test('--node drains some members, --rolling cordons each in its turn', async () => {
  await worker();
  await testEnv.nodes({ name: 'w-3', labels: role('worker') });
  for (const node of ['w-1', 'w-2', 'w-3']) await pod({ name: `on-${node}`, node, labels: WEB });
  await refused(
    ['drain', 'worker', '--node', 'w-1,other'],
    1,
    'error: --node: node "other" is not a member of pool worker; next: list the members with `kubectl nodepool describe worker`',
  );
  const some = await drain(NOW, '--node', 'node/w-3');
  assert.equal(
    some.stdout,
    'node/w-3 cordoned\nnode/w-3 drained\nnodepool.nodes.lailin.xyz/worker drained (1 node, 1 pod)\n',
  );
  await budget('web', WEB, 0);
  const rolling = await drain(NOW, '--node', 'w-1,w-2', '--rolling', '--max-unavailable=1', '--timeout=1s');
  assert.equal(rolling.code, 1);
  assert.deepEqual(await closed(), ['w-1', 'w-3']);
  assert.match(
    rolling.stderr,
    /^Draining 2 nodes of pool worker, at most 1 at a time, including failed and NotReady nodes; each node is cordoned/m,
  );
  assert.match(
    rolling.stderr,
    /^error: nodepool "worker" not drained: 2 of 2 nodes left to drain; members that failed or are not Ready use up --max-unavailable; next: run the command again to continue; to make the nodes that this drain cordoned schedulable again: `kubectl nodepool uncordon worker --node w-1`$/m,
  );
  assert.match(rolling.stdout, /^w-2 +pending +0\/1$/m);
  await budget('web', WEB, 2);
  const rest = await drain(NOW, '--rolling');
  assert.match(rest.stdout, /^node\/w-1 drained\nnode\/w-2 cordoned\nnode\/w-2 drained\n/m);
  assert.equal(rest.code, 0);
});

test('--max-unavailable cordons nodes in turn, and reports untouched nodes when interrupted', async t => {
  const nodes = Array.from({ length: 12 }, (_, at) => `ip-10-0-1-${at + 10}.eu-west-1.compute.internal`);
  const short = (found: readonly string[]) => found.map(name => name.split('.', 1)[0]);
  await testEnv.nodes(...nodes.map(name => ({ name, labels: role('worker') })));
  await testEnv.pool('worker');
  for (const [at, node] of nodes.entries()) await pod({ name: `p-${at + 10}`, node, labels: at === 5 ? WEB : {} });
  await budget('web', WEB, 0);
  const draining = background(t, NOW, '--max-unavailable', '10%');
  await eventually('it waits for the budget', () => /waits for PodDisruptionBudget/.test(draining.stderr()));
  assert.deepEqual(await closed(), nodes.slice(0, 6));
  assert.match(
    draining.stderr(),
    /^Draining 12 nodes of pool worker, at most 1 at a time, including failed and NotReady nodes; each node is cordoned right before its drain and stays cordoned\./m,
  );
  assert.equal(await draining.end(), 130);
  assert.deepEqual(await closed(), nodes.slice(0, 6), 'an interruption cordons nothing');
  const said = `6 nodes cordoned: ${nodes.slice(0, 6).join(', ')}; 6 nodes untouched and schedulable: ${nodes.slice(6).join(', ')}`;
  assert.ok(
    draining.stderr().includes(`\n${said}\nerror: nodepool "worker" interrupted: 7 of 12 nodes left to drain; next: `),
    draining.stderr(),
  );
  assert.ok(draining.stderr().includes('`kubectl nodepool uncordon worker --node ip-10-0-1-10.'), draining.stderr());

  // A node that fails uses up the budget of unavailable members.
  const failed = await drain(NOW, '--max-unavailable=1', '--timeout=1s');
  assert.equal(failed.code, 1);
  assert.ok(
    failed.stderr.includes(`\n${said}\nerror: nodepool "worker" not drained: 7 of 12 nodes left to drain; `),
    failed.stderr,
  );
  assert.deepEqual(short(await closed()), short(nodes.slice(0, 6)));

  await budget('web', WEB, 2);
  const rest = await drain(NOW, '--max-unavailable=2');
  assert.equal(rest.code, 0, rest.stderr);
  assert.deepEqual([await closed(), await names()], [nodes, []]);
  assert.doesNotMatch(rest.stderr, /not touched/);
});

test('--skip-wait-for-delete-timeout skips pods that have been terminating longer', async () => {
  await worker();
  await pod({ name: 'stays', node: 'w-1', finalizers: ['example.com/keep'] });
  await pod({ name: 'goes', node: 'w-1' });
  const { code, stdout, stderr } = await drain(NOW, '--skip-wait-for-delete-timeout=1');
  assert.equal(code, 0);
  assert.match(stdout, /drained \(2 nodes, 1 pod\); 1 pod is still terminating: default\/stays$/m);
  assert.match(stderr, /^pod default\/stays has been terminating for too long, skipping$/m);
});

test('does not evict a pod that was recreated with the same name', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1' });
  const connection = await testEnv.connection();
  const evicts = await connection.cluster.evictions({ gracePeriodSeconds: 0 });
  const deletes = await connection.cluster.evictions({ gracePeriodSeconds: 0, disableEviction: true });
  const [before] = await evicts.podsOn('w-1');
  assert.ok(before);
  await api().expect('DELETE', '/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0');
  await pod({ name: 'p', node: 'w-1' });
  assert.deepEqual(await evicts.evict(before), { kind: 'changed' });
  assert.deepEqual(await deletes.evict(before), { kind: 'changed' });
  const [after] = await evicts.podsOn('w-1');
  assert.ok(after && after.uid !== before.uid);
  assert.deepEqual(await evicts.evict(after), { kind: 'accepted' });
  assert.deepEqual(await evicts.evict(after), { kind: 'gone' });
});

test('cordons the nodes of several pools, then drains pool after pool', async () => {
  await worker();
  await testEnv.nodes({ name: 'a-1', labels: role('alpha') });
  await testEnv.pool('alpha', {}, { metadata: { labels: { team: 'a' } } });
  await testEnv.pool('empty');
  await pod({ name: 'p', node: 'w-1' });
  await pod({ name: 'q', node: 'a-1', emptyDir: true });
  const obstacle = 'error: cannot drain nodepool "alpha"; nothing was changed:\n';
  await refused(['drain', 'worker', 'alpha'], 1, new RegExp(`^${obstacle}.*default/q\n`));
  const { code, stdout, stderr } = await cliHere(cluster(), ['drain', '--all', NOW, '--delete-emptydir-data', '--yes']);
  const lines = [
    ...['a-1', 'w-1', 'w-2'].map(name => `node/${name} cordoned`),
    ...['node/a-1 drained', 'nodepool.nodes.lailin.xyz/alpha drained (1 node, 1 pod)'],
    ...['node/w-1 drained', 'node/w-2 drained', 'nodepool.nodes.lailin.xyz/worker drained (2 nodes, 1 pod)'],
  ];
  assert.deepEqual([code, stdout], [0, `${lines.join('\n')}\n`]);
  assert.match(stderr, /^No nodes found in pool empty\.$/m);
  assert.deepEqual(await names(), ['elsewhere']);
  const again = await cliHere(cluster(), ['drain', '-l', 'team=a', '--yes']);
  assert.match(again.stdout, /^node\/a-1 already cordoned\nnode\/a-1 drained\n[^\n]+\n$/);
  await refused(['drain', '-l', 'team=x'], 0, 'No pools found.');
});

test('refuses wrong command lines', async () => {
  await worker();
  const see = "See 'kubectl nodepool drain --help'.";
  const next = 'next: list the pools with `kubectl nodepool get`';
  await refused(['drain', 'nope'], 1, `error: nodepool "nope" not found; ${next}`);
  await refused(['drain'], 2, `error: no pool is specified; next: name a pool, or use -l SELECTOR or --all\n${see}`);
  const how = 'next: write it like 2 or 25%';
  const bad = `error: --max-unavailable: "0" is neither a number of nodes nor a percentage; ${how}\n${see}`;
  await refused(['drain', 'worker', '--max-unavailable', '0'], 2, bad);
  await refused(['drain', 'worker', '--max-unavailable', '1', '--parallel', '2'], 2, /--parallel/);
  await refused(['drain', 'worker', '--parallel', '0'], 2, /--parallel/);
  await refused(['drain', 'worker', '--timeout', 'soon'], 2, /--timeout: "soon" is not a duration/);
  await testEnv.pool('empty');
  await refused(['drain', 'empty'], 0, 'No nodes found in pool empty.');
});

test('asks on a terminal and shows progress on one line', { skip: NO_TERMINAL }, async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1' });
  const no = await inTerminal(cluster(), ['drain', 'worker', NOW], 'n\n');
  assert.match(
    no.shown,
    /Drain pool worker: cordon 2 nodes \(w-1, w-2\) and evict 1 pod in\s+context\s+\S+\s+\[y\/N\]/,
  );
  assert.match(no.shown, /nothing was drained/);
  assert.deepEqual([no.code, await names(), await closed()], [1, ['elsewhere', 'p'], []]);
  const yes = await inTerminal(cluster(), ['drain', 'worker', NOW], 'y\n');
  assert.equal(yes.code, 0);
  assert.match(yes.shown, /Draining worker: 0\/2 nodes; w-1 0\/1 pod/);
  assert.doesNotMatch(yes.shown, /evicting pod/);
  assert.match(yes.shown, /worker drained \(2 nodes, 1 pod\)/);
  const again = await inTerminal(cluster(), ['drain', 'worker', '--yes'], '');
  assert.doesNotMatch(again.shown, /\[y\/N\]/);
});
