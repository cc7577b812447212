/** Some random workloads; `npm run forecasts` takes more. And cases in which a forecast was once wrong. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { runChanges } from './forecast-changes.ts';
import { container, Forecaster, type Workload } from './forecaster.ts';
import { runDrains, runForecasts } from './forecasts.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { HOST, ZONE } from './random-cluster.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1_000_000));
const CHANGES = Number(process.env.CHANGES ?? 4);
const DRAINS = Number(process.env.DRAINS ?? 4);
const WORKLOADS = Number(process.env.WORKLOADS ?? 12);

describe('forecasts equal what kube-scheduler and the workload controllers do', () => {
  const testEnv = useFullTestEnv();

  test(`fit is right about ${WORKLOADS} random workloads, seed ${SEED}`, { timeout: 3_000_000 }, async t => {
    const tell = (line: string) => t.diagnostic(line);
    const { exact, all, differences } = await runForecasts(testEnv.cluster(), {
      seed: SEED,
      workloads: WORKLOADS,
      tell,
    });
    t.diagnostic(`${exact} of ${all} forecasts are one number`);
    assert.deepEqual(differences, []);
  });

  test(`diff --impact is right about ${CHANGES} random changes, seed ${SEED}`, { timeout: 3_000_000 }, async t => {
    const tell = (line: string) => t.diagnostic(line);
    const run = await runChanges(testEnv.cluster(), { seed: SEED, changes: CHANGES, tell });
    const { evicted, promisedOwners, exactOwners, differences } = run;
    t.diagnostic(
      `${evicted} pods were evicted, ${promisedOwners} owners promised a place, ${exactOwners} compared exactly`,
    );
    assert.deepEqual(differences, []);
  });

  test(`drain --check-fit is right about ${DRAINS} random drains, seed ${SEED}`, { timeout: 3_000_000 }, async t => {
    const tell = (line: string) => t.diagnostic(line);
    const run = await runDrains(testEnv.cluster(), { seed: SEED, drains: DRAINS, tell });
    const { certain, moving, without, differences } = run;
    t.diagnostic(`${certain} of ${moving} evicted pods were promised a place, ${without} were to have none`);
    assert.deepEqual(differences, []);
  });

  const forecaster = () => new Forecaster(testEnv.cluster());
  const api = () => raw(testEnv.cluster());
  const room = (cpu: number) => ({ cpu: `${cpu}`, memory: '8Gi', pods: '20' });
  const near = (kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string, selector: object, more: object = {}) => ({
    affinity: {
      [kind]: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey, labelSelector: { matchLabels: selector }, ...more },
        ],
      },
    },
  });
  const claimOf = (storageClassName: string) => ({
    storageClassName,
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
  });

  beforeEach(() => forecaster().clear());

  /** Returns how many replicas are placed. */
  async function check(workload: Workload, least: number, most: number, text: RegExp): Promise<number> {
    const forecast = await forecaster().forecast(workload);
    assert.deepEqual([forecast.least, forecast.most], [least, most], forecast.text);
    assert.equal(forecast.code, least >= workload.replicas ? 0 : 1);
    assert.match(forecast.text, text);
    const placed = await forecaster().run(workload, least);
    assert.ok(placed >= least && placed <= most, `${placed} are placed; ${forecast.text}`);
    return placed;
  }

  test('pods that tolerate a taint for some seconds run that long, and return to tainted nodes if there are no others', async () => {
    await forecaster().nodes({ name: 'n1', labels: role('web'), allocatable: room(4) });
    await forecaster().pool('web');
    const tolerations = [{ key: 'gone', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 4 }];
    const patient: Workload = {
      kind: 'ReplicaSet',
      name: 'patient',
      replicas: 2,
      spec: { containers: [container('1')], tolerations },
    };
    await forecaster().create(patient);
    await forecaster().settled('app=patient', 2);
    const names = async () =>
      (
        (await api().expect('GET', '/api/v1/namespaces/default/pods')) as { items: { metadata: { name: string } }[] }
      ).items
        .map(({ metadata }) => metadata.name)
        .toSorted();
    const before = await names();
    await api().expect('PATCH', '/apis/nodes.lailin.xyz/v1/nodepools/web', {
      spec: { taints: [{ key: 'gone', effect: 'NoExecute' }] },
    });
    const { stdout } = await cliHere(testEnv.cluster(), ['diff', '--impact']);
    const told =
      '2 pods of ReplicaSet default/patient after 4s: may return and are evicted again after 4s, endlessly: 2 on pool web';
    assert.ok(stdout.includes(`  ${told}\n`), stdout);
    const start = Date.now();
    await cliHere(testEnv.cluster(), ['reconcile', '--yes']);
    const areLeft = async () => (await names()).some(name => before.includes(name));
    while (Date.now() - start < 3_000) {
      assert.deepEqual(await names(), before);
      await sleep(250);
    }
    await eventually('they leave', async () => !(await areLeft()));
    await eventually('others come', async () => (await names()).length === 2);
    const second = await names();
    await eventually('these leave, too', async () => (await names()).every(name => !second.includes(name)));
    await forecaster().delete(patient);
  });

  test('each replica of a StatefulSet uses up a local volume', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(30) })));
    await forecaster().volumes('local', ['n1', 'n2']);
    const spec = { containers: [container('1')] };
    const more = { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimOf('local') }] };
    await check({ kind: 'StatefulSet', name: 'db', replicas: 6, spec, more }, 2, 2, /^2 of 6 replicas fit\.$/m);
  });

  test('the zone of the first replica decides how many others fit', async () => {
    await forecaster().nodes(...['a1', 'a2'].map(name => ({ name, labels: { [ZONE]: 'a' }, allocatable: room(2) })), {
      name: 'b1',
      labels: { [ZONE]: 'b' },
      allocatable: room(3),
    });
    const spec = { containers: [container('1')], ...near('podAffinity', ZONE, { app: 'web' }) };
    await check({ kind: 'Deployment', name: 'web', replicas: 4, spec }, 3, 4, /^Between 3 and 4 of 4 replicas fit\.$/m);
  });

  test('replicas that share a claim fit only on the node where the first one binds it', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(1) })));
    await forecaster().volumes('local', ['n1', 'n2']);
    const path = '/api/v1/namespaces/default/persistentvolumeclaims';
    await api().expect('POST', path, { metadata: { name: 'shared' }, spec: claimOf('local') });
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'shared' } }];
    const spec = { containers: [container('1')], volumes };
    await check({ kind: 'Deployment', name: 'web', replicas: 2, spec }, 1, 1, /^1 of 2 replicas fit\.$/m);
  });

  test('rules apply to the labels that a Job or StatefulSet adds to its pods', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(30) })));
    const spec = { containers: [container('1')], restartPolicy: 'Never' };
    const ofJob = { ...spec, ...near('podAntiAffinity', HOST, { 'job-name': 'batch' }) };
    await check({ kind: 'Job', name: 'batch', replicas: 5, spec: ofJob }, 2, 2, /^2 of 5 replicas fit\.$/m);
    const matchLabelKeys = ['apps.kubernetes.io/pod-index'];
    const ofSet = { containers: [container('1')], ...near('podAntiAffinity', HOST, { app: 'db' }, { matchLabelKeys }) };
    await check({ kind: 'StatefulSet', name: 'db', replicas: 5, spec: ofSet }, 5, 5, /^5 replicas fit\.$/m);
  });

  test('if a rule names the label of one replica, only the first replica is promised a place', async () => {
    const index = 'apps.kubernetes.io/pod-index';
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(2) })));
    const text = /^Between 1 and 4 of 4 replicas fit\.$[\s\S]*^Not considered: replicas after the first: /m;
    const nearFirst = { containers: [container('1')], ...near('podAffinity', HOST, { app: 'db', [index]: '0' }) };
    await check({ kind: 'StatefulSet', name: 'db', replicas: 4, spec: nearFirst }, 1, 4, text);
    const completion = 'batch.kubernetes.io/job-completion-index';
    const worker = { ...nearFirst, restartPolicy: 'Never', ...near('podAffinity', HOST, { [completion]: '0' }) };
    const more = { completionMode: 'Indexed' };
    await check({ kind: 'Job', name: 'work', replicas: 4, spec: worker, more }, 1, 4, text);
    const farFromFirst = {
      containers: [container('1')],
      ...near('podAntiAffinity', HOST, { app: 'db', [index]: '0' }),
    };
    await check({ kind: 'StatefulSet', name: 'db', replicas: 4, spec: farFromFirst }, 1, 4, text);
  });

  for (const [kind, key] of [
    ['Deployment', 'pod-template-hash'],
    ['StatefulSet', 'controller-revision-hash'],
  ] as const) {
    test(`spread counts the pods of the same revision of a ${kind}, but not those of an earlier one`, async () => {
      await forecaster().nodes(
        { name: 'n1', labels: { [ZONE]: 'a' }, allocatable: room(30) },
        { name: 'n2', labels: { [ZONE]: 'b' }, allocatable: room(0) },
      );
      const constraint = {
        maxSkew: 1,
        topologyKey: ZONE,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
        matchLabelKeys: [key],
      };
      const spec = { containers: [container('1')], topologySpreadConstraints: [constraint] };
      const web: Workload = { kind, name: 'web', replicas: 1, spec };
      await forecaster().create(web);
      const path = `/apis/apps/v1/namespaces/default/${kind.toLowerCase()}s/web`;
      await eventually('it runs', async () => {
        const { status } = (await api().expect('GET', path)) as { status: { readyReplicas?: number } };
        return status.readyReplicas === 1;
      });
      const same = await forecaster().forecast(web);
      assert.deepEqual([same.least, same.most, same.code], [0, 0, 1], same.text);
      const changed = { ...web, spec: { ...spec, containers: [container('1', { command: ['sleep'] })] } };
      const next = await forecaster().forecast(changed);
      assert.deepEqual([next.least, next.most, next.code], [1, 1, 0], next.text);
      await forecaster().delete(web);
    });
  }

  test('a ResourceQuota can allow fewer replicas than the nodes', async () => {
    await forecaster().nodes({ name: 'n1', allocatable: room(30) });
    await forecaster().quota('small', { pods: '2' });
    const spec = { containers: [container('1')] };
    const text = /^2 of 5 replicas fit\.\nResourceQuota default\/small allows 2 more pods: pods\.$/m;
    await check({ kind: 'Deployment', name: 'web', replicas: 5, spec }, 2, 2, text);
  });

  test('a ResourceQuota of the scope BestEffort counts pods that request 0', async () => {
    await forecaster().nodes({ name: 'n1', allocatable: room(30) });
    await forecaster().quota('small', { pods: '2' }, ['BestEffort']);
    const spec = { containers: [container('0')] };
    await check({ kind: 'ReplicaSet', name: 'web', replicas: 5, spec }, 2, 2, /^2 of 5 replicas fit\.$/m);
  });

  test('a ResourceQuota can leave no room for the ReplicaSet of a Deployment, or for all pods of a DaemonSet', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(4) })));
    await forecaster().quota('small', { 'count/replicasets.apps': '0', pods: '1' });
    const spec = { containers: [container('1')] };
    const text = /^ResourceQuota default\/small allows 0 more pods: count\/replicasets\.apps\.$/m;
    await check({ kind: 'Deployment', name: 'web', replicas: 1, spec }, 0, 0, text);
    await check({ kind: 'DaemonSet', name: 'agent', replicas: 2, spec }, 1, 1, /allows 1 more pod: pods\.$/m);
  });

  test('a ResourceQuota may admit the pods of a DaemonSet that do not fit on their node', async () => {
    await forecaster().nodes(...[4, 4, 0].map((cpu, at) => ({ name: `n${at}`, allocatable: room(cpu) })));
    await forecaster().quota('small', { pods: '2' });
    const spec = { containers: [container('1')] };
    await check(
      { kind: 'DaemonSet', name: 'agent', replicas: 2, spec },
      1,
      2,
      /^Between 1 and 2 of 2 replicas fit\.$/m,
    );
  });

  test('claims that the server binds before the pods use up the volumes that exist', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(30) })));
    await forecaster().volumes('early', ['n1', 'n2'], 'Immediate');
    const set = (name: string, className: string): Workload => ({
      ...{ kind: 'StatefulSet', name, replicas: 4, spec: { containers: [container('1')] } },
      more: { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimOf(className) }] },
    });
    await check(set('db', 'early'), 2, 2, /^2 of 4 replicas fit\.$/m);
    await check(set('other', 'unknown'), 0, 0, /pod has unbound immediate PersistentVolumeClaims/);
  });

  test('rules apply to the zone that the server gives to placed pods', async () => {
    await forecaster().nodes(
      ...['a', 'b'].map(zone => ({ name: `n-${zone}`, labels: { [ZONE]: zone }, allocatable: room(30) })),
    );
    const labelSelector = { matchExpressions: [{ key: ZONE, operator: 'Exists' }] };
    const far = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOST, labelSelector }] };
    const spec = { containers: [container('1')], affinity: { podAntiAffinity: far } };
    const more = { podManagementPolicy: 'OrderedReady' };
    await check({ kind: 'StatefulSet', name: 'db', replicas: 4, spec, more }, 2, 2, /^2 of 4 replicas fit\.$/m);
  });

  test('pods of a DaemonSet make room for its new pods, and its controller ignores the RuntimeClass', async () => {
    const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' as const };
    await forecaster().nodes(
      { name: 'g1', labels: role('gpu'), taints: [taint], allocatable: room(4) },
      { name: 'n1', allocatable: room(4) },
    );
    const agent = (spec: object): Workload => ({ kind: 'DaemonSet', name: 'agent', replicas: 1, spec });
    const ports = [{ containerPort: 80, hostPort: 80 }];
    const plain = agent({ containers: [container('3', { ports })] });
    const once = await forecaster().forecast(plain);
    assert.deepEqual([once.least, once.most, once.code], [1, 1, 0]);
    const path = '/apis/apps/v1/namespaces/default/daemonsets';
    await api().expect('POST', path, {
      metadata: { name: 'agent' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: { metadata: { labels: { app: 'agent' } }, spec: plain.spec },
      },
    });
    const running = async () => {
      const { status } = (await api().expect('GET', `${path}/agent`)) as { status: { numberReady?: number } };
      return status.numberReady === 1;
    };
    await eventually('the agent runs', running);
    const again = await forecaster().forecast(plain);
    assert.deepEqual([again.least, again.most, again.code], [1, 1, 0], again.text);
    await api().expect('DELETE', `${path}/agent`);
    await api().expect('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'gpu' },
      handler: 'gpu',
      scheduling: { nodeSelector: role('gpu'), tolerations: [{ key: 'gpu', operator: 'Exists' }] },
    });
    const ofClass = agent({ runtimeClassName: 'gpu', containers: [container('1')] });
    const { least, most, text } = await forecaster().forecast(ofClass);
    assert.deepEqual([least, most], [0, 0], text);
    assert.equal(await forecaster().run(ofClass, 0), 0);
    await api().expect('DELETE', '/apis/node.k8s.io/v1/runtimeclasses/gpu');
  });

  test('with minDomains, a pod of a DaemonSet counts the pods of its node', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, labels: { [ZONE]: 'a' }, allocatable: room(4) })));
    const path = '/api/v1/namespaces/default/pods';
    await api().expect('POST', path, {
      metadata: { name: 'first', labels: { team: 'a' } },
      spec: { nodeName: 'n1', terminationGracePeriodSeconds: 0, containers: [container('1')] },
    });
    const agent = (minDomains: number): Workload => ({
      ...{ kind: 'DaemonSet', name: 'agent', replicas: 2, labels: { app: 'agent', team: 'a' } },
      spec: {
        containers: [container('1')],
        topologySpreadConstraints: [
          {
            ...{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', minDomains },
            labelSelector: { matchLabels: { team: 'a' } },
          },
        ],
      },
    });
    await check(agent(1), 2, 2, /^2 replicas fit\.$/m);
    await check(agent(2), 1, 1, /^1 of 2 replicas fit\.$/m);
    await api().expect('DELETE', `${path}/first?gracePeriodSeconds=0`);
  });

  test('a pod of another scheduler takes no room on the node that it is nominated to', async () => {
    await forecaster().nodes({ name: 'n1', allocatable: room(4) });
    const path = '/api/v1/namespaces/default/pods';
    await api().expect('POST', path, {
      metadata: { name: 'next' },
      spec: { schedulerName: 'nobody', containers: [container('3')] },
    });
    await api().expect('PATCH', `${path}/next/status`, { status: { nominatedNodeName: 'n1' } });
    const spec = { containers: [container('1')] };
    const text = /^Not considered: a Pending pod may take this room first: default\/next\.$/m;
    await check({ kind: 'Deployment', name: 'web', replicas: 4, spec }, 4, 4, text);
    await api().expect('DELETE', `${path}/next?gracePeriodSeconds=0`);
  });

  test('a pod that preemption has nominated to a node takes room there, but no pod may be near it yet', async () => {
    await forecaster().nodes(...['n1', 'n2'].map(name => ({ name, allocatable: room(4) })));
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    await api().expect('POST', classes, { metadata: { name: 'high' }, value: 1000 });
    const path = '/api/v1/namespaces/default/pods';
    const onFirst = (cpu: string) => ({ nodeSelector: { [HOST]: 'n1' }, containers: [container(cpu)] });
    // The finalizer keeps the preempted pod, so the other one stays nominated.
    await api().expect('POST', path, {
      metadata: { name: 'low', finalizers: ['example.com/stay'] },
      spec: { terminationGracePeriodSeconds: 0, ...onFirst('3') },
    });
    const podOf = async (name: string) =>
      (await api().expect('GET', `${path}/${name}`)) as {
        spec: { nodeName?: string };
        status: { nominatedNodeName?: string };
      };
    await eventually('it has a node', async () => (await podOf('low')).spec.nodeName === 'n1');
    await api().expect('POST', path, {
      metadata: { name: 'next', labels: { app: 'db' } },
      spec: { priorityClassName: 'high', ...onFirst('2') },
    });
    await eventually('it is nominated', async () => (await podOf('next')).status.nominatedNodeName === 'n1');
    const spec = { containers: [container('1')] };
    await check({ kind: 'Deployment', name: 'web', replicas: 8, spec }, 4, 4, /^4 of 8 replicas fit\.$/m);
    const beside = { containers: [container('100m')], ...near('podAffinity', HOST, { app: 'db' }) };
    await check({ kind: 'Deployment', name: 'near', replicas: 2, spec: beside }, 0, 0, /^0 of 2 replicas fit\.$/m);
    const constraint = {
      maxSkew: 1,
      topologyKey: HOST,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['db', 'even'] }] },
    };
    const even = { containers: [container('100m')], topologySpreadConstraints: [constraint] };
    await check({ kind: 'Deployment', name: 'even', replicas: 6, spec: even }, 1, 1, /^1 of 6 replicas fit\.$/m);
    await api().expect('PATCH', `${path}/low`, { metadata: { finalizers: [] } });
    await api().expect('DELETE', `${path}?gracePeriodSeconds=0`);
    await api().expect('DELETE', `${classes}/high`);
  });

  test('a pod with spec.nodeName fits on a cordoned node, because it skips the scheduler', async () => {
    await forecaster().nodes({ name: 'n1', allocatable: room(4), unschedulable: true });
    const spec = { nodeName: 'n1', containers: [container('1')] };
    await check({ kind: 'ReplicaSet', name: 'direct', replicas: 2, spec }, 2, 2, /^2 replicas fit\.$/m);
  });
});
