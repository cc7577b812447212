import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderFit } from '../../../../src/commands/fit/print.ts';
import { type FitDeps, fit, type PodFit } from '../../../../src/commands/fit/run.ts';
import type { SchedulingPort } from '../../../../src/kube/resources/scheduling.ts';
import { makeStyle } from '../../../../src/print/style.ts';
import type { RawPod, RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import type { RawQuota } from '../../../../src/scheduling/quota.ts';
import { NO_STORAGE, readVolume, type Storage } from '../../../../src/scheduling/volumes/storage.ts';
import { asks, raw, site } from '../../scheduling/fixtures.ts';

const HOST = 'kubernetes.io/hostname';
const INDEX = 'apps.kubernetes.io/pod-index';
const template = (spec: RawPodSpec) => ({ metadata: { labels: { app: 'db' } }, spec });
const workload = (kind: string, spec: RawPodSpec, name = 'db') => ({
  value: { apiVersion: 'apps/v1', kind, metadata: { name }, spec: { template: template(spec) } },
  source: 'file.yaml',
  placeOf: () => 'file.yaml',
});

interface Cluster {
  nodes?: ReturnType<typeof site>[];
  placed?: RawPod[];
  pending?: RawPod[];
  version?: string;
  quotas?: RawQuota[];
  storage?: Storage;
  /** The workload on the server. */
  live?: { template: unknown };
  set?: Awaited<ReturnType<SchedulingPort['setRevision']>>;
}

async function fitted(
  documents: ReturnType<typeof workload>[],
  {
    nodes = [site('n1')],
    placed = [],
    pending = [],
    set,
    version = 'v1.36.3',
    live,
    quotas = [],
    storage = NO_STORAGE,
  }: Cluster,
  replicas: number | undefined,
): Promise<PodFit[]> {
  const port: Partial<SchedulingPort> = {
    namespace: 'default',
    rehearse: async (_, pod) => ({ kind: 'created', pod }),
    placedPods: async (_, onPod) => placed.forEach(onPod),
    pendingPods: async () => pending,
    quotas: async () => quotas,
    storage: async () => storage,
    setRevision: async () => set,
    workload: async () => live,
  };
  const deps = {
    cluster: { pools: { listCoerced: async () => [] }, nodes: { list: async () => nodes } },
    scheduling: async () => port,
    serverVersion: async () => version,
  } as unknown as FitDeps;
  const { fits } = await fit(
    { of: { documents }, namespace: undefined, pools: [], selector: undefined, replicas },
    deps,
  );
  return fits;
}

/** The text of `fit -f`. */
async function told(documents: ReturnType<typeof workload>[], cluster: Cluster, replicas = 4): Promise<string> {
  const fits = await fitted(documents, cluster, replicas);
  return renderFit(fits, { headers: true, columns: undefined, replicas }, makeStyle(false));
}

const term = (matchLabels: Record<string, string>) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOST, labelSelector: { matchLabels } }],
});

test('rules that name the label of one replica promise no place to the others', async () => {
  const nodes = ['n1', 'n2'].map(name => site(name, { allocatable: { cpu: '2', pods: '10' } }));
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const affinity = { [kind]: term({ app: 'db', [INDEX]: '0' }) };
    const text = await told([workload('StatefulSet', { ...asks({ cpu: '1' }), affinity })], { nodes });
    assert.match(text, /^Between 1 and 4 of 4 replicas fit\.$/m);
    assert.match(text, /^Not considered: replicas after the first: rules name labels that differ between replicas\.$/m);
  }
  // A term about other pods tells no replica from another one.
  const affinity = { podAntiAffinity: term({ app: 'cache', [INDEX]: '0' }) };
  const text = await told([workload('StatefulSet', { ...asks({ cpu: '1' }), affinity })], { nodes });
  assert.match(text, /^4 replicas fit\.$/m);
});

test('a running pod that keeps one replica away leaves the others in doubt', async () => {
  const far = { affinity: { podAntiAffinity: term({ app: 'db', [INDEX]: '3' }) }, nodeName: 'n1' };
  const text = await told([workload('StatefulSet', asks({ cpu: '1' }))], { placed: [raw(far)] });
  assert.match(text, /^Between 1 and 4 of 4 replicas fit\.$/m);
});

test('pods of the same revision of a StatefulSet count', async () => {
  const nodes = [
    site('n1', { labels: { zone: 'a' } }),
    site('n2', { labels: { zone: 'b' }, allocatable: { cpu: '0', pods: '10' } }),
  ];
  const constraint = {
    maxSkew: 1,
    topologyKey: 'zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'db' } },
    matchLabelKeys: ['controller-revision-hash'],
  };
  const spec = { ...asks({ cpu: '1' }), topologySpreadConstraints: [constraint] };
  const placed = [raw({ nodeName: 'n1' }, { labels: { app: 'db', 'controller-revision-hash': 'db-abc' } })];
  const set = { template: template(spec), revision: 'db-abc', isAlone: true };
  const documents = [workload('StatefulSet', spec)];
  assert.match(await told(documents, { nodes, placed, set }, 1), /^0 of 1 replica fit\.$/m);
  const other = { ...set, template: template(asks({ cpu: '2' })) };
  const changed = await told(documents, { nodes, placed, set: other }, 1);
  assert.match(changed, /^1 replica fit\.$/m);
  assert.doesNotMatch(changed, /revision/);
  const rolling = await told(documents, { nodes, placed, set: { ...other, isAlone: false } }, 1);
  assert.match(rolling, /^Not considered: which pods have the revision of this template: a rollout /m);
});

test('several documents are judged alone, and the text says so', async () => {
  const one = workload('Deployment', asks({ cpu: '3' }));
  assert.doesNotMatch(await told([one], {}, 1), /judged alone/);
  assert.match(await told([one, one], {}, 1), /\n\nEach document is judged alone\.$/);
});

test('of Pending pods, those that no chosen node takes by its own rules do not compete', async () => {
  const pending = (name: string, spec: RawPodSpec) => raw(spec, { name });
  const text = await told([workload('Deployment', asks({ cpu: '1' }))], {
    pending: [pending('stuck', { nodeSelector: { no: 'where' } }), pending('next', asks({ cpu: '3' }))],
  });
  assert.match(text, /^Not considered: a Pending pod may take this room first: default\/next\.$/m);
});

/** A pod of app=next that preemption has nominated to n1. */
const nominated = (spec: RawPodSpec) => ({
  ...raw(spec, { name: 'next', labels: { app: 'next' } }),
  status: { nominatedNodeName: 'n1' },
});

test('a pod nominated to a node takes room there, unless another scheduler is responsible for it', async () => {
  const documents = [workload('Deployment', asks({ cpu: '1' }))];
  const own = await told(documents, { pending: [nominated(asks({ cpu: '3' }))] });
  assert.match(own, /^1 of 4 replicas fit\.$/m);
  assert.doesNotMatch(own, /Pending/);
  const other = await told(documents, { pending: [nominated({ ...asks({ cpu: '3' }), schedulerName: 'nobody' })] });
  assert.match(other, /^4 replicas fit\.$/m);
  assert.match(other, /^Not considered: a Pending pod may take this room first: default\/next\.$/m);
});

test('a pod nominated to a node keeps others away, but nothing may rely on it', async () => {
  const nodes = ['n1', 'n2'].map(name => site(name, { labels: { zone: 'a' } }));
  const numberOf = async (spec: RawPodSpec, of: RawPodSpec = {}) => {
    const text = await told([workload('Deployment', { ...asks({ cpu: '1' }), ...spec })], {
      nodes,
      pending: [nominated(of)],
    });
    return text.match(/^(.*) of 4 replicas fit\.$/m)?.[1] ?? text;
  };
  assert.equal(await numberOf({ affinity: { podAffinity: term({ app: 'next' }) } }), '0');
  const rule = (topologyKey: string) => ({
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }] },
  });
  assert.equal(await numberOf({ affinity: rule(HOST) }), '1');
  // Its own rule about the zone counts only on its node.
  assert.match(await numberOf({}, { affinity: rule('zone') }), /^4 replicas fit\.$/m);
});

test('topology spread counts a nominated pod only on its node', async () => {
  const constraint = {
    maxSkew: 1,
    topologyKey: HOST,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
  };
  const documents = [workload('Deployment', { ...asks({ cpu: '1' }), topologySpreadConstraints: [constraint] })];
  const nodes = ['n1', 'n2'].map(name => site(name));
  // n1 has no room beside it, and n2 takes one replica more than n1 has pods.
  const full = await told(documents, { nodes, pending: [nominated(asks({ cpu: '4' }))] });
  assert.match(full, /^1 of 4 replicas fit\.$/m);
  const running = [raw({ nodeName: 'n2' })];
  const unsure = await told(documents, { nodes, placed: running, pending: [nominated({})] });
  assert.match(unsure, /^Between 1 and 4 of 4 replicas fit\.$/m);
  assert.match(unsure, /^Not considered: replicas after the first: topology spread counts pods nominated to nodes: /m);
});

test('rules apply to the zone that the server copies to placed pods, from Kubernetes 1.35 on', async () => {
  const ZONE = 'topology.kubernetes.io/zone';
  const nodes = ['n1', 'n2'].map((name, at) => site(name, { labels: { [ZONE]: `z${at}` } }));
  const labelSelector = { matchExpressions: [{ key: ZONE, operator: 'Exists' }] };
  const far = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOST, labelSelector }] };
  const documents = [workload('Deployment', { ...asks({ cpu: '1' }), affinity: { podAntiAffinity: far } })];
  assert.match(await told(documents, { nodes }), /^2 of 4 replicas fit\.$/m);
  assert.match(await told(documents, { nodes, version: 'v1.34.1' }), /^4 replicas fit\.$/m);
  const constraint = { maxSkew: 1, topologyKey: HOST, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
  const even = workload('Deployment', { ...asks({ cpu: '2' }), topologySpreadConstraints: [constraint] });
  // The next replica does not count itself, so a node may have two more than the other.
  const full = site('n3', { labels: { [ZONE]: 'z3' }, allocatable: { cpu: '0', pods: '10' } });
  assert.match(await told([even], { nodes: [...nodes.slice(0, 1), full] }), /^2 of 4 replicas fit\.$/m);
  const placed = [raw({ nodeName: 'n1' }, { labels: { [ZONE]: 'z0' } })];
  assert.match(await told(documents, { nodes, placed }), /^1 of 4 replicas fit\.$/m);
  const uneven = await told(documents, { nodes: [...nodes, site('n3')] });
  assert.match(uneven, /^Between 1 and 4 of 4 replicas fit\.$/m);
  assert.match(uneven, /^Not considered: replicas after the first: rules name labels that differ between replicas\.$/m);
});

test('with maxSurge, new pods of a DaemonSet need room beside the running ones', async () => {
  const spec = asks({ cpu: '3' });
  const daemon = (maxSurge: number | string, type = 'RollingUpdate') => {
    const { value, ...rest } = workload('DaemonSet', spec);
    const updateStrategy = { type, rollingUpdate: { maxSurge } };
    return [{ ...rest, value: { ...value, spec: { ...value.spec, updateStrategy } } }];
  };
  const placed = [raw({ ...spec, nodeName: 'n1' }, { labels: { app: 'db' } })];
  const other = { placed, live: { template: template(asks({ cpu: '2' })) } };
  const beside = await told(daemon(1), other, 1);
  assert.match(
    beside,
    /^0 of 1 replica fit\.\nRunning pods of the DaemonSet keep their room, because it has maxSurge\.$/m,
  );
  assert.match(await told(daemon('0%'), other, 1), /^1 replica fit\.$/m);
  assert.match(await told(daemon(1, 'OnDelete'), other, 1), /^1 replica fit\.$/m);
  assert.match(await told(daemon('10%'), { placed, live: { template: template(spec) } }, 1), /^1 replica fit\.$/m);
});

test('a quota on the objects that a workload makes before its pods counts', async () => {
  const quotas = [
    {
      metadata: { name: 'q' },
      status: { hard: { 'count/replicasets.apps': '1' }, used: { 'count/replicasets.apps': '1' } },
    },
  ];
  const spec = asks({ cpu: '1' });
  const documents = [workload('Deployment', spec)];
  const text = await told(documents, { quotas });
  assert.match(
    text,
    /^0 of 4 replicas fit\.\nResourceQuota default\/q allows 0 more pods: count\/replicasets\.apps\.$/m,
  );
  assert.match(await told([workload('StatefulSet', spec)], { quotas }), /^4 replicas fit\.$/m);
  assert.match(await told(documents, { quotas, live: { template: template(spec) } }), /^4 replicas fit\.$/m);
  assert.match(await told(documents, { quotas, live: { template: template({}) } }), /^0 of 4 replicas fit\.$/m);
});

test('a quota counts the new pods of a DaemonSet, but not those that they replace', async () => {
  const nodes = ['n1', 'n2'].map(name => site(name));
  const cluster = {
    nodes,
    quotas: [{ metadata: { name: 'q' }, status: { hard: { pods: '2' }, used: { pods: '1' } } }],
  };
  const documents = [workload('DaemonSet', asks({ cpu: '1' }))];
  const [few] = await fitted(documents, cluster, undefined);
  assert.deepEqual([few?.fits, few?.total.replicas.most, few?.quota?.replicas], [false, 2, 1]);
  const placed = [raw({ nodeName: 'n1' }, { labels: { app: 'db' } })];
  const [enough] = await fitted(documents, { ...cluster, placed }, undefined);
  assert.deepEqual([enough?.fits, enough?.quota?.replicas], [true, 2]);
});

test('volumes of the claims of a StatefulSet leave the number of replicas open, unless its pods use them', async () => {
  const set = workload('StatefulSet', asks({ cpu: '1' }));
  const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: {} }];
  const documents = [{ ...set, value: { ...set.value, spec: { ...set.value.spec, volumeClaimTemplates } } }];
  const storageOf = (name: string): Storage => {
    const claimRef = { namespace: 'default', name };
    return {
      ...NO_STORAGE,
      volumes: new Map([['v', readVolume({ spec: { claimRef }, status: { phase: 'Available' } })]]),
    };
  };
  const storage = storageOf('data-db-1');
  const text = await told(documents, { storage });
  assert.match(text, /^Between 0 and 4 of 4 replicas fit\.$/m);
  assert.match(text, /^Not considered: where the existing volumes of its replicas are: data-db-1\.$/m);
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-1' } }];
  assert.doesNotMatch(
    await told(documents, { storage, placed: [raw({ nodeName: 'n1', volumes })] }),
    /existing volumes/,
  );
  assert.doesNotMatch(await told(documents, { storage: storageOf('data-db-x-1') }), /existing volumes/);
});
