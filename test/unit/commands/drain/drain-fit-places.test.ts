/** What `drain --check-fit` promises pods that are evicted at the same time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DrainFit, drainFit } from '../../../../src/commands/drain/drain-fit.ts';
import type { PoolsDrainPlan } from '../../../../src/commands/drain/plan-drain.ts';
import type { JobFacts, NewRevision } from '../../../../src/kube/resources/impact.ts';
import type { Budget } from '../../../../src/nodepool/drain/budgets.ts';
import type { DrainPod } from '../../../../src/nodepool/drain/drain-filters.ts';
import { quantityReader } from '../../../../src/nodepool/quantity/amounts.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { exceededQuotas } from '../../../../src/scheduling/exceeded-quotas.ts';
import { limitRangeEffects, type RawLimitRange } from '../../../../src/scheduling/limit-ranges.ts';
import type { RawPod, RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { placementOf } from '../../../../src/scheduling/pod/read-pod.ts';
import type { RawQuota } from '../../../../src/scheduling/quota.ts';
import { NO_STORAGE, readStorageClass, readVolume, type Storage } from '../../../../src/scheduling/volumes/storage.ts';
import { makeBudget } from '../../nodepool/budget.ts';
import { asks, site } from '../../scheduling/fixtures.ts';

const HOST = 'kubernetes.io/hostname';

interface Placed {
  name: string;
  on: string;
  spec: RawPodSpec;
  labels?: Record<string, string>;
  owner?: [kind: string, name: string];
  isReady?: boolean;
}

interface More {
  storage?: Storage;
  budgets?: Budget[];
  jobs?: Map<string, JobFacts>;
  pending?: RawPod[];
  quotas?: RawQuota[];
  ranges?: RawLimitRange[];
  revisions?: Map<string, NewRevision>;
  parallel?: string[];
}

const namespace = 'default';
const labelsOf = ({ name, labels = { app: name.split('-')[0] ?? '' } }: Placed) => labels;

function drainPod(pod: Placed): DrainPod {
  const labels = labelsOf(pod);
  const [kind, name] = pod.owner ?? ['ReplicaSet', labels.app ?? ''];
  return {
    ...{
      namespace,
      name: pod.name,
      uid: pod.name,
      phase: 'Running',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels,
    },
    ...{ isMirror: false, hasEmptyDir: false, isReady: pod.isReady ?? true, placement: placementOf(pod.spec) },
    controller: { apiVersion: 'apps/v1', kind, name },
  };
}

/** @param drained names of the nodes */
async function drain(nodes: Node[], drained: string[], pods: Placed[], more: More = {}): Promise<DrainFit> {
  const { storage = NO_STORAGE, budgets = [], jobs = new Map(), pending = [], quotas = [] } = more;
  const { ranges = [], revisions = new Map(), parallel = [] } = more;
  const leaving = nodes.filter(({ name }) => drained.includes(name));
  const plan = {
    pools: [{ nodes: leaving.map(node => ({ node, pods: pods.filter(({ on }) => on === node.name).map(drainPod) })) }],
    budgets,
  } as unknown as PoolsDrainPlan;
  const port = {
    placedPods: async (_: object, add: (pod: RawPod) => void) => {
      for (const pod of pods)
        add({
          metadata: { namespace, name: pod.name, labels: labelsOf(pod) },
          spec: { ...pod.spec, nodeName: pod.on },
        });
    },
    storage: async () => storage,
    pendingPods: async () => pending,
    limitRanges: async () => ranges.flatMap(range => limitRangeEffects(range) ?? []),
    exceededQuotas: async () => quotas.flatMap(quota => exceededQuotas(quota, quantityReader())),
  };
  const ports = {
    cluster: { nodes: { list: async () => nodes } },
    scheduling: async () => port,
    impact: async () => ({
      jobs: async () => jobs,
      newRevisions: async () => revisions,
      parallelSets: async () => new Set(parallel),
    }),
  };
  return drainFit(plan, ports as unknown as Parameters<typeof drainFit>[1]);
}

const node = (name: string, cpu: string, pods = '10', labels: Record<string, string> = {}) =>
  site(name, { allocatable: { cpu, memory: '8Gi', pods }, labels });
const zone = (name: string) => ({ zone: name });
const near = (kind: 'podAffinity' | 'podAntiAffinity', app: string, topologyKey = HOST): RawPodSpec => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app } } }],
    },
  },
});
const local = (size: string): RawPodSpec => {
  const spec = {
    storageClassName: 'local',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: size } },
  };
  return { volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec } } }] };
};
const volume = (name: string, size: string, on: string) => {
  const nodeSelectorTerms = [{ matchExpressions: [{ key: HOST, operator: 'In', values: [on] }] }];
  const spec = { storageClassName: 'local', accessModes: ['ReadWriteOnce'], capacity: { storage: size } };
  const raw = { spec: { ...spec, nodeAffinity: { required: { nodeSelectorTerms } } }, status: { phase: 'Available' } };
  return readVolume({ metadata: { name }, ...raw });
};
const storageOf = (...volumes: ReturnType<typeof volume>[]): Storage => ({
  claims: new Map(),
  volumes: new Map(volumes.map(each => [each.name, each])),
  classes: new Map(
    [
      {
        metadata: { name: 'local' },
        provisioner: 'kubernetes.io/no-provisioner',
        volumeBindingMode: 'WaitForFirstConsumer',
      },
      { metadata: { name: 'now' }, provisioner: 'csi.example.com', volumeBindingMode: 'Immediate' },
    ].map(raw => [raw.metadata.name, readStorageClass(raw)]),
  ),
});
const one = asks({ cpu: '1' });
const counts = ({ moving, withoutPlace, uncertain }: DrainFit) => [moving, withoutPlace, uncertain];

test('replicas that must be apart have a place for certain only where others cannot fill their nodes', async () => {
  const apart = { ...one, ...near('podAntiAffinity', 'a') };
  const pods = [
    { name: 'a-0', on: 'n1', spec: apart },
    { name: 'a-1', on: 'n1', spec: apart },
    { name: 'b-0', on: 'n1', spec: one },
  ];
  const nodes = [node('n1', '10'), node('n2', '100', '1'), node('n3', '5')];
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods)), [3, 0, 2]);
  assert.deepEqual(counts(await drain([...nodes, node('n4', '5')], ['n1'], pods)), [3, 0, 0]);
});

test('pods of two owners may take the volume that the other one needs', async () => {
  const storage = storageOf(volume('v1', '1Gi', 'n2'), volume('v2', '5Gi', 'n3'));
  const nodes = ['n1', 'n2', 'n3'].map(name => node(name, '10'));
  const pods = ['1Gi', '5Gi'].map((size, at) => ({
    name: `${'ab'[at]}-0`,
    on: 'n1',
    spec: { ...one, ...local(size) },
  }));
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods, { storage })), [2, 0, 2]);
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods.slice(1), { storage })), [1, 0, 0]);
});

test('the pods of a StatefulSet are placed together', async () => {
  const nodes = [
    node('n1', '10', '10', zone('a')),
    ...['n2', 'n3'].map(name => node(name, '2', '10', zone('b'))),
    node('n4', '3', '10', zone('c')),
  ];
  const pods = [0, 1, 2, 3].map(at => ({
    name: `db-${at}`,
    on: 'n1',
    spec: { ...one, ...near('podAffinity', 'db', 'zone') },
    labels: { app: 'db', 'statefulset.kubernetes.io/pod-name': `db-${at}`, 'apps.kubernetes.io/pod-index': `${at}` },
    owner: ['StatefulSet', 'db'] as [string, string],
  }));
  // Where the first one goes to zone c, that has no room for the fourth.
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods)), [4, 0, 1]);
  // These differ for the scheduler, and the place of one matters to the next.
  const different = pods.map(pod => ({ ...pod, labels: { app: 'db', index: pod.name } }));
  assert.deepEqual(counts(await drain(nodes, ['n1'], different)), [4, 0, 4]);
});

test('a pod that tolerates the cordon may take the room of others', async () => {
  const spec = { ...asks({ cpu: '2' }), tolerations: [{ operator: 'Exists' }] };
  const pods = [
    { name: 't-0', on: 'n1', spec },
    { name: 'w-0', on: 'n1', spec: asks({ cpu: '2' }) },
  ];
  assert.deepEqual(counts(await drain([node('n1', '10'), node('n2', '2')], ['n1'], pods)), [1, 0, 1]);
  assert.deepEqual(counts(await drain([node('n1', '10'), node('n2', '4')], ['n1'], pods)), [1, 0, 0]);
});

test('with a budget, a pod that must be near others of its owner may wait for one that is not evicted yet', async () => {
  const pods = ['n1', 'n2'].map((on, at) => ({
    name: `c-${at}`,
    on,
    spec: { ...one, ...near('podAffinity', 'c', 'zone') },
  }));
  const nodes = ['n1', 'n2', 'n3'].map((name, at) => node(name, '10', '10', zone(at === 2 ? 'b' : 'a')));
  const budget = makeBudget({ namespace, name: 'c', selector: { matchLabels: { app: 'c' } } });
  assert.deepEqual(counts(await drain(nodes, ['n1', 'n2'], pods)), [2, 0, 0]);
  assert.deepEqual(counts(await drain(nodes, ['n1', 'n2'], pods, { budgets: [budget] })), [2, 0, 2]);
});

test('only pods that no order gives a place would not fit', async () => {
  const pods = [5, 4, 4, 3, 2, 2].map((cpu, at) => ({ name: `p${at}-0`, on: 'n1', spec: asks({ cpu: `${cpu}` }) }));
  const nodes = [node('n1', '40'), node('n2', '10'), node('n3', '10')];
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods)), [6, 0, 6]);
  const big = { name: 'big-0', on: 'n1', spec: asks({ cpu: '11' }) };
  const { unfit, ...found } = await drain(nodes, ['n1'], [...pods, big]);
  assert.equal(found.withoutPlace, 1);
  assert.match(
    unfit.join('\n'),
    /^1 pod would not fit: 2 Insufficient cpu .*: default\/big-0\n1 pod may not fit: 2 Insu/,
  );
});

test('a pod that must be near another one that leaves may have a place', async () => {
  const pods = [
    { name: 'a-0', on: 'n1', spec: { ...one, ...near('podAffinity', 'b') } },
    { name: 'b-0', on: 'n1', spec: one },
  ];
  assert.deepEqual(counts(await drain([node('n1', '10'), node('n2', '10')], ['n1'], pods)), [2, 0, 1]);
});

test('replicas differ in the zone of their node, which the server adds to their labels', async () => {
  const apart = { ...one, ...near('podAntiAffinity', 'a') };
  const pods = ['n1', 'n2'].map((on, at) => {
    return { name: `a-${at}`, on, spec: apart, labels: { app: 'a', 'topology.kubernetes.io/zone': on } };
  });
  const nodes = ['n1', 'n2', 'n3'].map(name => node(name, '10'));
  assert.deepEqual(counts(await drain(nodes, ['n1', 'n2'], pods)), [2, 1, 0]);
});

test('topology spread that honors taints does not count nodes that are drained', async () => {
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', nodeTaintsPolicy: 'Honor' };
  const spec = { ...one, topologySpreadConstraints: [{ ...constraint, labelSelector: { matchLabels: { app: 's' } } }] };
  const pods = ['n1', 'n2'].map((on, at) => ({ name: `s-${at}`, on, spec }));
  const nodes = ['n1', 'n2'].map(name => node(name, '10', '10', zone(name)));
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods)), [1, 0, 0]);
});

test('pods that preemption has nominated to a node keep their room', async () => {
  const nodes = [node('n1', '10'), node('n2', '4')];
  const pods = [{ name: 'w-0', on: 'n1', spec: asks({ cpu: '2' }) }];
  const next = { metadata: { namespace, name: 'next' }, spec: asks({ cpu: '3' }), status: { nominatedNodeName: 'n2' } };
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods)), [1, 0, 0]);
  assert.deepEqual(counts(await drain(nodes, ['n1'], pods, { pending: [next] })), [1, 0, 1]);
});

test('a Job that allows no more failed pods gets none', async () => {
  const pods = [0, 1].map(at => ({ name: `j-${at}`, on: 'n1', spec: one, owner: ['Job', 'j'] as [string, string] }));
  const nodes = [node('n1', '10'), node('n2', '4')];
  const withLeft = (failuresLeft: number) => ({ jobs: new Map([['default/j', { failuresLeft, notJudged: [] }]]) });
  const failed = await drain(nodes, ['n1'], pods, withLeft(1));
  assert.deepEqual([...counts(failed), failed.failed], [0, 0, 0, 2]);
  const recreated = await drain(nodes, ['n1'], pods, withLeft(2));
  assert.deepEqual([...counts(recreated), recreated.failed], [2, 0, 0, 0]);
  const jobs = new Map([['default/j', { failuresLeft: 2, notJudged: ['rules by exit code'] }]]);
  assert.deepEqual((await drain(nodes, ['n1'], pods, { jobs })).notJudged, ['rules by exit code, for Job default/j']);
});

test('a Job without completions recreates no pod once another one has succeeded', async () => {
  const pods = [0, 1].map(at => ({ name: `j-${at}`, on: 'n1', spec: one, owner: ['Job', 'j'] as [string, string] }));
  const facts = { failuresLeft: 6, notJudged: ['rules by exit code'], createsNoMore: true as const };
  const found = await drain([node('n1', '10'), node('n2', '4')], ['n1'], pods, {
    jobs: new Map([['default/j', facts]]),
  });
  assert.deepEqual([...counts(found), found.failed, found.done, found.notJudged], [0, 0, 0, 0, 2, []]);
});

test('what is not judged is named as by fit', async () => {
  const spec = local('1Gi');
  const template = spec.volumes?.[0]?.ephemeral?.volumeClaimTemplate?.spec;
  if (template !== undefined) template.storageClassName = 'now';
  const pods = [{ name: 'a-0', on: 'n1', spec: { ...one, ...spec } }];
  const { notJudged } = await drain([node('n1', '4'), node('n2', '4')], ['n1'], pods, { storage: storageOf() });
  assert.ok(
    notJudged.includes(
      'the future zone of the volume of data: its StorageClass now does not wait for the pod, for default/a-0',
    ),
  );
});

test('pods that an exceeded ResourceQuota may refuse are promised no place', async () => {
  const pods = [0, 1, 2].map(at => ({ name: `w-${at}`, on: 'n1', spec: one }));
  const nodes = [node('n1', '4'), node('n2', '4')];
  const quota = (hard: Record<string, string>, used: Record<string, string>): RawQuota => {
    return { metadata: { namespace, name: 'q' } as object, status: { hard, used } };
  };
  const drained = (...quotas: RawQuota[]) => drain(nodes, ['n1'], pods, { quotas });
  const { unfit, ...found } = await drained(quota({ pods: '1' }, { pods: '3' }));
  assert.deepEqual([found.withoutPlace, found.uncertain], [0, 2]);
  assert.deepEqual(unfit, ['2 pods may not be created again: ResourceQuota default/q (pods: 3 used, 1 allowed)']);
  const ofCpu = { 'requests.cpu': '1500m', services: '0', 'requests.storage': '1Gi' };
  const used = { 'requests.cpu': '3', services: '2', 'requests.storage': '2Gi' };
  assert.deepEqual(counts(await drained(quota(ofCpu, used))), [3, 0, 3]);
  const others = quota({ pods: '3', services: '0' }, { pods: '3', services: '2' });
  assert.deepEqual(counts(await drained(others)), [3, 0, 0]);
  const elsewhere = quota({ pods: '1' }, { pods: '3' });
  assert.deepEqual(
    counts(await drained({ ...elsewhere, metadata: { namespace: 'x', name: 'q' } as object })),
    [3, 0, 0],
  );
});

test('Pending pods may take the room of evicted pods first', async () => {
  const nodes = [node('n1', '4'), node('n2', '4')];
  const pods = ['w-0', 'x-0', 'x-1', 'x-2'].map(name => ({ name, on: 'n1', spec: one }));
  const waiting = (spec: RawPodSpec) => [0, 1, 2].map(at => ({ metadata: { namespace, name: `pend-${at}` }, spec }));
  const drained = (spec: RawPodSpec) => drain(nodes, ['n1'], pods, { pending: waiting(spec) });
  const { unfit, ...found } = await drained({ ...one, ...near('podAffinity', 'w') });
  assert.deepEqual([found.withoutPlace, found.uncertain], [0, 4]);
  assert.ok(unfit.includes('Pending pods may take room first: default/pend-0, default/pend-1, default/pend-2'));
  assert.deepEqual(counts(await drained({ ...one, schedulingGates: [{ name: 'x.io/y' }] })), [4, 0, 0]);
  assert.deepEqual(counts(await drained({ ...one, nodeSelector: { gpu: 'yes' } })), [4, 0, 0]);
  assert.deepEqual(counts(await drained(asks({ cpu: '5' }))), [4, 0, 0]);
});

test('a budget with AlwaysAllow lets unhealthy pods go that find no place', async () => {
  const stuck = async (isReady: boolean[], currentHealthy: number, alwaysAllowsUnhealthy = true) => {
    const pods = isReady.map((each, at) => ({ name: `w-${at}`, on: 'n1', spec: one, isReady: each }));
    const status = { disruptionsAllowed: 0, currentHealthy, desiredHealthy: 1, expectedPods: 2 };
    const of = { namespace, name: 'w', selector: { matchLabels: { app: 'w' } }, alwaysAllowsUnhealthy, status };
    return (await drain([node('n1', '4'), node('n2', '1')], ['n1'], pods, { budgets: [makeBudget(of)] })).stuck.length;
  };
  assert.equal(await stuck([false, false], 0), 0);
  assert.equal(await stuck([false, false], 0, false), 1);
  assert.equal(await stuck([false, true], 1), 0);
  assert.equal(await stuck([true, true, false], 2), 0);
  assert.equal(await stuck([true, true, true], 1), 1);
});

test('pods that are not evicted yet count for topology spread, so others may have a place', async () => {
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  const spec = { ...one, topologySpreadConstraints: [{ ...constraint, labelSelector: { matchLabels: { app: 'w' } } }] };
  const status = { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 };
  const budgets = [makeBudget({ namespace, name: 'w', selector: { matchLabels: { app: 'w' } }, status })];
  const drained = (count: number, cpu: string) => {
    const pods = Array.from({ length: count }, (_, at) => ({ name: `w-${at}`, on: 'n1', spec }));
    return drain([node('n1', '8', '10', zone('a')), node('n2', cpu, '10', zone('b'))], ['n1'], pods, { budgets });
  };
  const found = await drained(3, '8');
  assert.deepEqual([...counts(found), found.stuck], [3, 0, 2, []]);
  // Without room, or without others, the order does not matter.
  assert.deepEqual(counts(await drained(3, '1')), [3, 2, 0]);
  assert.deepEqual(counts(await drained(1, '8')), [1, 0, 0]);
});

test('a StatefulSet with a newer revision recreates its pods with that template', async () => {
  const pods = [0, 1].map(at => {
    return { name: `db-${at}`, on: 'n1', spec: one, owner: ['StatefulSet', 'db'] as [string, string] };
  });
  const nodes = [node('n1', '4'), node('n2', '4')];
  const drained = (partition: number, name = 'db') => {
    const template = { metadata: { labels: { app: 'db' } }, spec: asks({ cpu: '3' }) };
    return drain(nodes, ['n1'], pods, {
      revisions: new Map([[`default/${name}`, { revision: 'b', partition, template }]]),
    });
  };
  assert.deepEqual(counts(await drained(0)), [2, 1, 0]);
  assert.deepEqual(counts(await drained(1)), [2, 0, 0]);
  assert.deepEqual(counts(await drained(0, 'other')), [2, 0, 0]);
});

test('an exceeded quota of claims concerns only pods with claims of their own', async () => {
  const quotas = [
    {
      metadata: { namespace, name: 'q' },
      status: { hard: { persistentvolumeclaims: '1' }, used: { persistentvolumeclaims: '2' } },
    },
  ];
  const claims = { ...one, volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: {} } } }] };
  const drained = (spec: RawPodSpec) =>
    drain([node('n1', '4'), node('n2', '4')], ['n1'], [{ name: 'w-0', on: 'n1', spec }], { quotas });
  assert.deepEqual((await drained(claims)).unfit, [
    '1 pod may not be created again: ResourceQuota default/q (persistentvolumeclaims: 2 used, 1 allowed)',
  ]);
  assert.deepEqual((await drained(one)).unfit, []);
});

test('pods of a StatefulSet wait for one of an earlier ordinal that is Pending', async () => {
  const pods = [1, 2].map(at => {
    return { name: `db-${at}`, on: 'n1', spec: one, owner: ['StatefulSet', 'db'] as [string, string] };
  });
  const ownerReferences = [{ kind: 'StatefulSet', name: 'db', controller: true }];
  const pending = (name: string) => [{ metadata: { namespace, name, ownerReferences }, spec: asks({ cpu: '99' }) }];
  const drained = (name: string, parallel: string[] = []) =>
    drain([node('n1', '4'), node('n2', '4')], ['n1'], pods, { pending: pending(name), parallel });
  const found = await drained('db-0');
  assert.deepEqual(counts(found), [2, 0, 2]);
  assert.deepEqual(found.unfit, ['2 pods may not be created again before default/db-0 runs, which is Pending']);
  assert.deepEqual(counts(await drained('db-1')), [2, 0, 1]);
  assert.deepEqual(counts(await drained('db-3')), [2, 0, 0]);
  assert.deepEqual(counts(await drained('db-0', ['default/db'])), [2, 0, 0]);
});

test('a pod that its budget keeps fails no Job', async () => {
  const spec = { ...one, restartPolicy: 'Never' };
  const pods = [0, 1].map(at => ({
    ...{ name: `j-${at}`, on: 'n1', spec, owner: ['Job', 'j'] as [string, string], labels: { app: `j-${at}` } },
  }));
  const status = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  const keeps = makeBudget({
    namespace,
    name: 'j',
    selector: { matchLabels: { app: 'j-0' } },
    maxUnavailable: 0,
    status,
  });
  const jobs = new Map([['default/j', { failuresLeft: 1, active: 2, notJudged: [] }]]);
  const drained = (budgets: Budget[]) => drain([node('n1', '4'), node('n2', '4')], ['n1'], pods, { jobs, budgets });
  assert.equal((await drained([])).failed, 2);
  assert.equal((await drained([keeps])).failed, 0);
});

test('pods without requests may be recreated with those of a LimitRange', async () => {
  const range = (limits: object[], of = namespace): RawLimitRange => ({
    metadata: { namespace: of, name: 'l' },
    spec: { limits },
  });
  const nodes = [node('n1', '4'), node('n2', '4')];
  const drained = (spec: RawPodSpec, ranges: RawLimitRange[]) =>
    drain(nodes, ['n1'], [{ name: 'w-0', on: 'n1', spec }], { ranges });
  const ofCpu = [range([{ type: 'Container', default: { cpu: '3' }, defaultRequest: { cpu: '3' } }])];
  const { unfit, ...found } = await drained(asks({}), ofCpu);
  assert.deepEqual([found.withoutPlace, found.uncertain], [0, 1]);
  assert.deepEqual(unfit, ['1 pod may be created with other requests: LimitRange default/l (cpu)']);
  assert.deepEqual(counts(await drained(one, ofCpu)), [1, 0, 0]);
  const strict = await drained(asks({}), [range([{ type: 'Container', max: { cpu: '3' } }])]);
  assert.deepEqual(counts(strict), [1, 0, 0]);
  assert.deepEqual(strict.notJudged, ['what LimitRange default/l allows (max), for default/w-0']);
  const ofDisk = [range([{ type: 'Container', defaultRequest: { 'ephemeral-storage': '3Gi' } }])];
  assert.deepEqual((await drained(one, ofDisk)).uncertain, 1);
  assert.deepEqual(counts(await drained(asks({}), [range(ofCpu[0]?.spec?.limits ?? [], 'x')])), [1, 0, 0]);
});
