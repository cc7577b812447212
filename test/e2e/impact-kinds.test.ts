/** The impact on workloads of several kinds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const SETS = '/apis/apps/v1/namespaces/default/statefulsets';
const { pod } = poolsWithPods(testEnv);

test('the first Pending pod of a StatefulSet keeps the next ones from being created, unless it is Parallel', async t => {
  t.after(() => raw(cluster()).expect('DELETE', SETS));
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web');
  await testEnv.reconcile();
  for (const [name, podManagementPolicy] of [
    ['ordered', undefined],
    ['at-once', 'Parallel'],
  ]) {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const spec = { serviceName: name, selector: { matchLabels: labels }, template, podManagementPolicy };
    await raw(cluster()).expect('POST', SETS, { metadata: { name }, spec });
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: name ?? '' };
    for (const at of [0, 1, 2]) await pod({ name: `${name}-${at}`, node: 'a', owner });
  }
  for (const effect of ['NoExecute', 'NoSchedule'] as const) {
    await testEnv.edit('web', { spec: { taints: [{ key: 'k', effect }] } });
    const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
    const why = '1 node(s) had untolerated taint(s)';
    assert.ok(
      stdout.includes(
        `  3 pods of StatefulSet default/at-once: none fits elsewhere; 3 would stay Pending: ${why}\n` +
          `  3 pods of StatefulSet default/ordered: 1 would stay Pending: ${why}; 2 other pods wait because podManagementPolicy is OrderedReady\n`,
      ),
      stdout,
    );
  }
});

test('a DaemonSet that starts on a node without room has a Pending pod there', async () => {
  await testEnv.nodes(
    { name: 'a', labels: role('web'), allocatable: { cpu: '1' } },
    { name: 'b', labels: role('web') },
  );
  await testEnv.pool('web', { labels: { tier: 'web' } });
  const labels = { app: 'speaker' };
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '1500m' } } }];
  const template = { metadata: { labels }, spec: { nodeSelector: { tier: 'web' }, containers } };
  await raw(cluster()).expect('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: { name: 'speaker' },
    spec: { selector: { matchLabels: labels }, template },
  });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(
    stdout,
    /^ {2}DaemonSet default\/speaker starts on 2 nodes: a, b; its pods on 1 of them would stay Pending: 1 Insufficient cpu$/m,
  );
});

test('names a CronJob between two runs and a Deployment without replicas whose new pods would stay Pending', async t => {
  const cronJobs = '/apis/batch/v1/namespaces/default/cronjobs';
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const controllers = '/api/v1/namespaces/default/replicationcontrollers';
  t.after(() =>
    Promise.all(
      [cronJobs, deployments, controllers].map(path =>
        raw(cluster()).expect('DELETE', `${path}?propagationPolicy=Background`),
      ),
    ),
  );
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: { tier: 'old' } });
  await testEnv.pool('web', { labels: { tier: 'web', disk: 'ssd' } });
  await testEnv.reconcile();
  const labels = { app: 'x' };
  const spec = (tier: string) => ({ nodeSelector: { tier }, containers: [{ name: 'c', image: 'i' }] });
  for (const tier of ['web', 'old']) {
    const template = { spec: { ...spec(tier), restartPolicy: 'Never' } };
    const cronJob = { schedule: '0 0 1 1 *', jobTemplate: { spec: { template } } };
    await raw(cluster()).expect('POST', cronJobs, { metadata: { name: `report-${tier}` }, spec: cronJob });
  }
  await raw(cluster()).expect('POST', deployments, {
    metadata: { name: 'legacy' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: spec('web') } },
  });
  await raw(cluster()).expect('POST', controllers, {
    metadata: { name: 'older' },
    spec: { replicas: 0, selector: labels, template: { metadata: { labels }, spec: spec('web') } },
  });
  await testEnv.edit('web', { spec: { labels: { tier: 'old' } } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(
    stdout,
    /^ {2}selected by CronJob default\/report-old \(nodeSelector\), CronJob default\/report-web \(nodeSelector: pods of the next run would stay Pending\), Deployment default\/legacy \(nodeSelector: new pods would stay Pending\), ReplicationController default\/older \(nodeSelector: new pods would stay Pending\)$/m,
  );
});

test('new pods of a workload get the selector and tolerations of its RuntimeClass', async t => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const runtimeClasses = '/apis/node.k8s.io/v1/runtimeclasses';
  t.after(async () => {
    await raw(cluster()).expect('DELETE', deployments);
    for (const name of ['strict', 'vm']) await raw(cluster()).expect('DELETE', `${runtimeClasses}/${name}`);
  });
  const add = (name: string, scheduling: object) =>
    raw(cluster()).expect('POST', runtimeClasses, { metadata: { name }, handler: 'runc', scheduling });
  const tolerations = [{ key: 'vm', operator: 'Exists' }];
  await add('vm', { tolerations });
  await add('strict', { tolerations, nodeSelector: role('web') });
  const taints = [{ key: 'vm', effect: 'NoSchedule' }] as const;
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: { tier: 'web' }, taints });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
  const labels = { app: 'x' };
  for (const runtimeClassName of ['vm', 'strict', 'unknown', undefined]) {
    const spec = { runtimeClassName, nodeSelector: { tier: 'web' }, containers: [{ name: 'c', image: 'i' }] };
    await raw(cluster()).expect('POST', deployments, {
      metadata: { name: `${runtimeClassName ?? 'no'}-class` },
      spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
  }
  await testEnv.edit('web', { spec: { labels: { tier: 'old' } } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(
    stdout,
    /^ {2}selected by Deployment default\/no-class \(nodeSelector: new pods would stay Pending\), Deployment default\/strict-class \(nodeSelector: new pods would stay Pending\), Deployment default\/unknown-class \(nodeSelector\), Deployment default\/vm-class \(nodeSelector\)$/m,
  );
});

test('pods with the RuntimeClass of the pool follow its new selector, and are not considered once it is deleted', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'gold' }, handler: 'runc' });
  await testEnv.reconcile();
  const spec = { nodeName: 'a', runtimeClassName: 'node-pool-web', containers: [{ name: 'c', image: 'i' }] };
  const pods = '/api/v1/namespaces/default/pods';
  // Its admission knows a RuntimeClass after a moment.
  const isCreated = async () =>
    (await raw(cluster()).request('POST', pods, { metadata: { name: 'p' }, spec })).status === 201;
  await eventually('the pod is created', isCreated);
  const owner = { apiVersion: 'example.com/v1', kind: 'Machine', name: 'vm', uid: 'u', controller: true };
  await raw(cluster()).expect('POST', pods, { metadata: { name: 'q', ownerReferences: [owner] }, spec });
  await testEnv.edit('web', { spec: { labels: { tier: 'silver' } } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(stdout, /^ {2}selected by Machine default\/vm \(nodeSelector\), Pod default\/p \(nodeSelector\)$/m);
  assert.doesNotMatch(stdout, /could not be scheduled there again|Not considered/);
  const json = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json']);
  assert.deepEqual(JSON.parse(json.stdout).impact.changedRuntimeClasses, ['node-pool-web']);
  await testEnv.edit('web', { spec: { handler: null } });
  const deleted = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(deleted.stdout, /^ {2}Pod default\/p keeps running, but could not be scheduled there again/m);
  assert.match(
    deleted.stdout,
    /^Not considered: RuntimeClass node-pool-web is deleted, so pods that use it cannot be/m,
  );
});

test('leaves out a Job that has ended, because it creates no more pods', async t => {
  const jobs = '/apis/batch/v1/namespaces/default/jobs';
  t.after(() => raw(cluster()).expect('DELETE', jobs));
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
  const template = {
    spec: { nodeSelector: { tier: 'web' }, containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' },
  };
  for (const name of ['runs', 'done', 'gave-up'])
    await raw(cluster()).expect('POST', jobs, { metadata: { name }, spec: { template } });
  const at = new Date().toISOString().replace(/\.\d+/, '');
  const end = async (name: string, types: string[], more: object) => {
    const conditions = types.map(type => ({ type, status: 'True', lastTransitionTime: at }));
    await raw(cluster()).expect('PATCH', `${jobs}/${name}/status`, { status: { startTime: at, conditions, ...more } });
  };
  await end('done', ['SuccessCriteriaMet', 'Complete'], { completionTime: at, succeeded: 1 });
  await end('gave-up', ['FailureTarget', 'Failed'], { failed: 1 });
  await testEnv.edit('web', { spec: { labels: { tier: 'old' } } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.match(stdout, /^ {2}selected by Job default\/runs \(nodeSelector: new pods would stay Pending\)$/m);
});

test('names what is not considered for pods that would be recreated', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web');
  await testEnv.reconcile();
  const owner = { apiVersion: 'batch.example.com/v1', kind: 'Gang', name: 'train' };
  const resourceClaims = [{ name: 'gpu', resourceClaimName: 'gpu' }];
  for (const [name, more] of Object.entries({
    'train-0': { schedulerName: 'volcano', resourceClaims },
    'train-1': { schedulerName: 'volcano' },
    bare: { schedulerName: 'other' },
    plain: {},
  }))
    await pod({ name, node: 'a', owner: name === 'bare' ? null : owner, more });
  await testEnv.edit('web', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } });
  const { stdout } = await cliHere(cluster(), ['diff', 'web', '--impact']);
  assert.deepEqual(
    stdout.split('\n').filter(line => line.startsWith('Not considered') && !line.includes('preemption')),
    [
      'Not considered: the scheduler volcano (evaluated by the rules of the default scheduler), for 2 pods of Gang default/train.',
      'Not considered: resourceClaims (dynamic resource allocation), for 1 pod of Gang default/train.',
    ],
  );
  const json = await cliHere(cluster(), ['diff', 'web', '--impact', '-o', 'json']);
  assert.deepEqual(JSON.parse(json.stdout).impact.notJudged[1], {
    what: 'resourceClaims (dynamic resource allocation)',
    pods: [{ namespace: 'default', owner: { kind: 'Gang', name: 'train' }, pods: ['train-0'] }],
  });
  const drained = await cliHere(cluster(), ['drain', 'web', '--check-fit', '--dry-run', '--force']);
  assert.match(
    drained.stderr,
    /^Not considered: the scheduler volcano \(evaluated by the rules of the default scheduler\), for default\/train-0, default\/train-1\.$/m,
  );
});
