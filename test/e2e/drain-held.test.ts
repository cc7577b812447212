/** What delays or ends a drain: disruption budgets, pods that do not terminate, Ctrl-C, permissions. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { worker, drain, background, closed, pod, daemonSet, budget, names } = poolsWithPods(testEnv);
const api = () => raw(cluster());
const WEB = { app: 'web' };

test('names the disruption budget that blocks, and continues when it allows evictions', async t => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await budget('web', WEB, 0);
  const draining = background(t, NOW);
  await eventually('the budget is named', () => draining.stderr().includes(' waits for '));
  assert.equal(
    draining.stderr(),
    'PodDisruptionBudget default/web allows 0 of 1 pod to be evicted now; the drain waits until the budget allows more\n' +
      'Draining 2 nodes of pool worker, 1 at a time; all nodes are cordoned first. Timeout for each node: 15m.\n' +
      'evicting pod default/p\npod default/p on node w-1 waits for PodDisruptionBudget default/web: ' +
      'needs 2 healthy pods and has 2 currently\n',
  );
  assert.deepEqual(await names(), ['elsewhere', 'p']);
  await budget('web', WEB, 1);
  await draining.has(5);
  assert.equal(await draining.end('SIGCONT'), 0);
  assert.deepEqual(await names(), ['elsewhere']);
});

test('names a budget that the server has not processed yet (429 with Retry-After)', async t => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await api().expect('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    metadata: { name: 'new' },
    spec: { minAvailable: 1, selector: { matchLabels: WEB } },
  });
  const draining = background(t, NOW);
  await eventually(
    'the budget is named',
    () => draining.stderr().includes('default/new: still being processed by the server\n'),
    20_000,
  );
  assert.equal(await draining.end(), 130);
});

test('names two budgets of one pod, and evicts the other pods', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'q', node: 'w-1' });
  await budget('one', WEB, 1);
  await budget('two', WEB, 1);
  await budget('third', { app: 'db' }, 1);
  const { code, stdout, stderr } = await drain(NOW, '--yes');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: unable to drain node "w-1": pod default\/p has more than one PodDisruptionBudget, so the server cannot evict it: one, two \(keep only one of the PodDisruptionBudgets, or use --disable-eviction\)/m,
  );
  assert.match(
    stderr,
    /^error: nodepool "worker" not drained: 1 of 2 nodes left to drain; next: run the command again/m,
  );
  assert.match(stdout, /^w-1 +failed +1\/2$/m);
  assert.match(stdout, /^w-2 +drained +0\/0$/m);
  assert.deepEqual(await names(), ['elsewhere', 'p']);
  assert.equal((await drain(NOW, '--disable-eviction')).code, 0);
  assert.deepEqual(await names(), ['elsewhere']);
});

test('--timeout ends the drain and lists what is left', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await pod({ name: 'stays', node: 'w-1', finalizers: ['example.com/keep'] });
  await budget('web', WEB, 0);
  const { code, stdout, stderr } = await drain(NOW, '--timeout=2s');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: unable to drain node "w-1": gave up after 2 s \(--timeout\): default\/p waiting for PodDisruptionBudget default\/web: [^:]*; default\/stays still terminating$/m,
  );
  assert.match(stdout, /^w-1 +failed +0\/2 +1 pod waits for PodDisruptionBudget default\/web: needs 2 healthy/m);
});

test('Ctrl-C reports what is left, and the next run continues', async t => {
  await testEnv.nodes(...['w-1', 'w-2', 'w-3'].map(name => ({ name, labels: role('worker') })));
  await testEnv.pool('worker');
  await pod({ name: 'p', node: 'w-1' });
  await pod({ name: 'held', node: 'w-2', labels: WEB });
  await pod({ name: 'q', node: 'w-2' });
  await pod({ name: 'r', node: 'w-3' });
  await budget('web', WEB, 0);
  const draining = background(t, NOW);
  await eventually('q is gone', () => draining.stderr().includes('pod default/q evicted'));
  assert.equal(await draining.end(), 130);
  assert.deepEqual(draining.lines().slice(-4), [
    'NODE   STATE         EVICTED   NOTE',
    'w-1    drained       1/1',
    'w-2    in progress   1/2       1 pod waits for PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently',
    'w-3    pending       0/1',
  ]);
  assert.match(
    draining.stderr(),
    /error: nodepool "worker" interrupted: 2 of 3 nodes left to drain; next: run the command again to continue; .*`kubectl nodepool uncordon worker`/,
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

test('needs only the permissions in the docs', async () => {
  await worker();
  await pod({ name: 'p', node: 'w-1', labels: WEB });
  await budget('one', WEB, 1);
  await budget('two', WEB, 1);
  await daemonSet('agent');
  await pod({ name: 'agent-1', node: 'w-2', owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } });
  const page = readFileSync(new URL('../../docs/commands/drain.md', import.meta.url), 'utf8');
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const clusterRole = { metadata: { name: 'nodepool-drain' }, rules: documentedRules(page) };
  await api().expect('POST', `${rbac}/clusterroles`, clusterRole);
  await api().expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'keeper' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'nodepool-drain' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'keeper' }],
  });
  const flags = [NOW, '--ignore-daemonsets', '--as', 'keeper'];
  const held = await drain(...flags, '--yes');
  assert.match(held.stderr, /more than one PodDisruptionBudget, .*: one, two /);
  assert.doesNotMatch(held.stderr, / may not /);
  assert.equal((await drain(...flags, '--disable-eviction')).code, 0);
  assert.equal((await cliHere(cluster(), ['uncordon', 'worker', '--as', 'keeper'])).code, 0);
});

/** The table below `## Permissions`: resources as `poddisruptionbudgets.policy`, and their verbs. */
function documentedRules(page: string) {
  const [, table = ''] = page.split('## Permissions');
  const rows = [...table.matchAll(/^\| ([a-z][\w./, ]*) \| ([a-z, ]+) \|/gm)].slice(1);
  return rows.flatMap(([, resources = '', verbs = '']) =>
    resources.split(', ').map(resource => {
      const [, plural = '', group = '', subresource = ''] = /^([a-z]+)\.?([\w.]*)(\/[a-z]+)?$/.exec(resource) ?? [];
      return { apiGroups: [group], resources: [`${plural}${subresource}`], verbs: verbs.split(', ') };
    }),
  );
}
