/** The controller with its service account, which loses and regains permissions while it runs. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAudit } from '../cluster/audit.ts';
import { serverCertificate } from '../cluster/certificates.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { condition, type LiveEvent, role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { isList } from './asked.ts';
import { converged, startChild, type Test, useFaultEnv } from './fault-env.ts';
import { auditMark, writes } from './oracle.ts';
import { startProxy } from './proxy.ts';
import { kubeconfigOf } from './proxy-kubeconfig.ts';
import { row } from './row.ts';
import { begin, judge } from './runs.ts';
import { change } from './scenario.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NAME = 'nodepool-controller';
const NAMESPACE = 'nodepool-system';
const CLUSTER_ROLE = `${RBAC}/clusterroles/${NAME}`;
const CLUSTER_BINDING = `${RBAC}/clusterrolebindings/${NAME}`;
const bindingIn = (namespace: string) => `${RBAC}/namespaces/${namespace}/rolebindings/${NAME}`;
type RepeatedEvent = LiveEvent & { series?: { count: number } };

const WITHOUT_MS = 3_000;

const testEnv = useFaultEnv();
const admin = () => raw(testEnv.cluster());
let installed: Promise<unknown> | undefined;

/** Deletes the binding at `path` until the returned function is called or the test ends. */
async function withdraw(t: Test, path: string): Promise<() => Promise<void>> {
  const { metadata, ...rest } = (await admin().expect('GET', path)) as { metadata: object };
  await admin().expect('DELETE', path);
  const collection = path.slice(0, path.lastIndexOf('/'));
  const giveBack = async () => void (await admin().request('POST', collection, { ...rest, metadata: { name: NAME } }));
  t.after(giveBack);
  return giveBack;
}

/** The scenario with the product as the service account. */
async function running(t: Test, ...flags: string[]) {
  installed ??= cli(testEnv.cluster(), ['install', '--controller', '--image', 'registry.example.com/controller:1']);
  await installed;
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${NAME}/token`;
  const { status } = (await admin().expect('POST', path, { spec: {} })) as { status: { token: string } };
  const { server, ca, dir, authority } = testEnv.cluster();
  const proxy = await startProxy({ server, ca }, dir, serverCertificate(authority, ['127.0.0.1']));
  t.after(() => proxy.stop());
  const kubeconfig = join(dir, 'controller.kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(proxy.url, { token: status.token }, ca), { mode: 0o600 });
  const run = await begin(testEnv, t, { flags, through: { proxy, kubeconfig } });
  return { ...run, start: () => startChild(t, { kubeconfig }, ...flags) };
}

const statuses = async () => {
  const pools = await Promise.all(['one', 'two', 'gone'].map(name => testEnv.getPool(name)));
  return pools.map(pool => pool?.status);
};

row(
  {
    fault: 'permission removed',
    slow: true,
    how: 'the ClusterRoleBinding is deleted: all requests are refused',
    holds: 'warnings in the log; no node is written; the controller recovers when the binding is back',
  },
  async (t, facts) => {
    const run = await running(t);
    const { model, proxy, child, mark } = run;
    const [asked, before] = [proxy.requests.length, await statuses()];
    const giveBack = await withdraw(t, CLUSTER_BINDING);
    proxy.cut();
    await model.drift('drifts', { tier: 'drifted' });
    await sleep(WITHOUT_MS);
    assert.ok(child.lines(/warning .*403.*forbidden/).length >= 3, child.log());
    const refused = proxy.requests.slice(asked).length;
    assert.ok(refused < 40, `${refused} requests in ${WITHOUT_MS / 1000} s`);
    facts.requestsRefused = refused;
    assert.deepEqual(await writes(testEnv.cluster(), mark), {});
    assert.deepEqual(await statuses(), before);
    await giveBack();
    await change(model);
    await judge(testEnv, run, 60_000);
    assert.deepEqual(proxy.requests.slice(asked).filter(isList), [], 'the watches go on where they were');
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: 'permission removed',
    how: 'the verb patch on nodes is removed from the ClusterRole',
    holds: 'status 500 names the permission; one Warning; few attempts; status 200 when the permission is back',
  },
  async (t, facts) => {
    const run = await running(t);
    const { model, child } = run;
    const { rules } = (await admin().expect('GET', CLUSTER_ROLE)) as {
      rules: { resources: string[]; verbs: string[] }[];
    };
    const fewer = rules.map(rule =>
      rule.resources.includes('nodes') ? { ...rule, verbs: rule.verbs.filter(verb => verb !== 'patch') } : rule,
    );
    const giveBack = () => admin().expect('PATCH', CLUSTER_ROLE, { rules });
    t.after(giveBack);
    await admin().expect('PATCH', CLUSTER_ROLE, { rules: fewer });
    const mark = await auditMark(testEnv.cluster());
    await model.drift('drifts', { tier: 'drifted' });
    await eventually('it is in the status', async () => (await testEnv.getPool('two'))?.status?.status === 500);
    await sleep(WITHOUT_MS);
    const pool = await testEnv.getPool('two');
    assert.match(condition(pool, 'Applied').message, /user ".*" may not patch Node "drifts"/);
    assert.deepEqual([pool?.status?.nodeCount, pool?.status?.readyNodeCount], [2, 2]);
    const warnings = (await testEnv.events('two')).filter(({ type }) => type === 'Warning') as RepeatedEvent[];
    assert.deepEqual(
      warnings.map(({ reason, series }) => [reason, series?.count ?? 1]),
      [['ReconcileFailed', 1]],
    );
    const attempts = (await readAudit(testEnv.cluster())).slice(mark).filter(({ code }) => code === 403).length;
    assert.ok(attempts <= 3, `${attempts} attempts`);
    facts.attempts = attempts;
    assert.deepEqual(await writes(testEnv.cluster(), mark), { 'patch nodepools/status two': 1 });
    // Other writes succeed: a pool without nodes, and a RuntimeClass.
    await model.createPool('other', { handler: 'runc' });
    await eventually(
      'another pool is reconciled',
      async () => (await testEnv.getPool('other'))?.status?.status === 200,
    );
    // The changes happen while nodes cannot be written.
    await change(model);
    await giveBack();
    await model.deletePool('other');
    await judge(testEnv, run, 60_000, {
      'create runtimeclasses node-pool-other': 1,
      'delete runtimeclasses node-pool-other': 1,
    });
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: 'permission removed',
    how: 'the RoleBinding for Events is deleted',
    holds: 'reconciling continues; a warning in the log; Events are written again when the binding is back',
  },
  async t => {
    const run = await running(t);
    const { model, proxy, child } = run;
    const giveBack = await withdraw(t, bindingIn('default'));
    await model.drift('drifts', { tier: 'drifted' });
    await converged(model, proxy);
    await eventually('it is logged', () => child.lines(/warning .*event.*(403|forbidden|permission)/).length > 0);
    await giveBack();
    await model.label('joins', role('one'));
    await converged(model, proxy);
    await eventually('a later event is recorded', async () =>
      (await testEnv.events('one')).some(({ note }) => note === '1 node joined: joins'),
    );
    await change(model);
    await judge(testEnv, run);
    assert.equal(await child.end(), 0);
  },
);

row(
  {
    fault: 'permission removed',
    slow: true,
    how: 'the RoleBinding for the Lease is deleted',
    holds: 'the leader stops before another one can lead; it leads again when the binding is back',
  },
  async (t, facts) => {
    const flags = ['--leader-elect', `--leader-elect-namespace=${NAMESPACE}`];
    const run = await running(t, ...flags);
    const { model, child, start } = run;
    const taken = performance.now();
    const giveBack = await withdraw(t, bindingIn(NAMESPACE));
    await eventually('it stops', () => !child.isAlive, 15_000);
    facts.secondsToStop = Math.round((performance.now() - taken) / 1000);
    assert.equal(await child.end(), 1);
    assert.match(child.log(), /the lease was not renewed: user ".*" may not /);
    const again = start();
    await again.synced();
    await eventually('it says why it waits', () => again.lines(/warning .*user ".*" may not /).length > 0);
    const mark = await auditMark(testEnv.cluster());
    await model.drift('drifts', { tier: 'drifted' });
    await sleep(1_000);
    assert.deepEqual(await writes(testEnv.cluster(), mark), {});
    await change(model);
    await giveBack();
    await judge(testEnv, run, 40_000);
    assert.equal(await again.end(), 0);
  },
);
