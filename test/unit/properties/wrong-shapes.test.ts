/** A server that sends objects with fields of any type gets an error that names the field, and no command reports a bug. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../../src/controller/clock.ts';
import { Api } from '../../../src/kube/api/api.ts';
import { controllerRevisionsClient } from '../../../src/kube/resources/controller-revisions.ts';
import { crdPort } from '../../../src/kube/resources/crd.ts';
import { eventsPort } from '../../../src/kube/resources/events.ts';
import { evictionsClient, podsOnNode } from '../../../src/kube/resources/evictions.ts';
import { impactPort } from '../../../src/kube/resources/impact.ts';
import { KeptAnnotations } from '../../../src/kube/resources/kept-annotations.ts';
import { leasePort } from '../../../src/kube/resources/leases.ts';
import { nodePoolsClient } from '../../../src/kube/resources/node-pools.ts';
import { annotatedNodes, datedNode, nodeLabels, nodesClient } from '../../../src/kube/resources/nodes.ts';
import { podDemand } from '../../../src/kube/resources/pod-demand.ts';
import { countPods, podsOn } from '../../../src/kube/resources/pods.ts';
import { runtimeClassesClient } from '../../../src/kube/resources/runtime-classes.ts';
import { schedulingPort } from '../../../src/kube/resources/scheduling.ts';
import { workloadsPort } from '../../../src/kube/resources/workloads.ts';
import type { Transport } from '../../../src/kube/transport/transport.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { quantityReader } from '../../../src/nodepool/quantity/amounts.ts';
import { planRevision, poolRevisions } from '../../../src/nodepool/rollout/revisions.ts';
import { readPlacedPod } from '../../../src/scheduling/pod/read-pod.ts';
import { quotaLimit } from '../../../src/scheduling/quota.ts';
import { property } from './property.ts';

const time = '2026-01-01T00:00:00Z';
const owner = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'a', uid: 'u', controller: true };
const metadata = {
  ...{ name: 'a', namespace: 'default', uid: 'u', resourceVersion: '7', creationTimestamp: time, generation: 1 },
  labels: { 'node-role.kubernetes.io/a': '', 'pod-template-hash': 'x' },
  annotations: { 'nodes.lailin.xyz/applied': '{"pool":"a","labels":{"k":"v"}}', note: 'x' },
  ownerReferences: [owner],
  finalizers: ['x'],
  managedFields: [{ manager: 'm', operation: 'Update', time, fieldsV1: { 'f:spec': { 'f:taints': {} } } }],
};
const conditions = [{ type: 'Ready', status: 'True', reason: 'R', message: 'm', lastTransitionTime: time }];
const expression = { key: 'k', operator: 'In', values: ['v'] };
const terms = { nodeSelectorTerms: [{ matchExpressions: [expression], matchFields: [expression] }] };
const podSpec = {
  ...{ nodeName: 'a', runtimeClassName: 'node-pool-a', nodeSelector: { k: 'v' }, hostNetwork: false },
  tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3 }],
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        {
          topologyKey: 'zone',
          labelSelector: { matchLabels: { a: 'b' }, matchExpressions: [expression] },
          namespaces: ['x'],
        },
      ],
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'zone' } }],
    },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { a: 'b' } } },
  ],
  containers: [
    {
      name: 'c',
      ports: [{ hostPort: 80, protocol: 'TCP' }],
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
      resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
    },
  ],
  initContainers: [{ name: 'i', restartPolicy: 'Always', resources: { requests: { cpu: '1' } } }],
  overhead: { cpu: '1' },
  volumes: [
    { name: 'v', persistentVolumeClaim: { claimName: 'p' } },
    { name: 'e', emptyDir: {} },
  ],
};
const workload = {
  metadata: { ...metadata, ownerReferences: [] },
  spec: {
    ...{ replicas: 1, selector: { matchLabels: { a: 'b' } }, template: { metadata, spec: podSpec } },
    updateStrategy: { rollingUpdate: { partition: 1 } },
  },
  status: { currentRevision: 'a', updateRevision: 'b' },
};
const SAMPLES = {
  node: {
    metadata,
    spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule', timeAdded: time }], unschedulable: true },
    status: { allocatable: { cpu: '4', memory: '1Gi' }, conditions, nodeInfo: { bootID: 'x' } },
  },
  pool: {
    metadata,
    spec: { labels: { a: 'b' }, taints: [{ key: 'k', effect: 'NoSchedule' }], annotations: { x: 'y' } },
    status: { status: 200, conditions, allocatable: { cpu: '4' } },
  },
  pod: { metadata, spec: podSpec, status: { phase: 'Running', conditions } },
  budget: {
    metadata,
    spec: { selector: { matchLabels: { a: 'b' }, matchExpressions: [expression] }, minAvailable: 1 },
    status: { disruptionsAllowed: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, conditions },
  },
  event: {
    metadata,
    ...{ regarding: { kind: 'NodePool', name: 'a', apiVersion: 'nodes.lailin.xyz/v1', uid: 'u' }, type: 'Normal' },
    ...{ reason: 'R', note: 'n', eventTime: time, series: { count: 2, lastObservedTime: time } },
    ...{ deprecatedSource: { component: 'c' }, deprecatedCount: 2, deprecatedFirstTimestamp: time },
  },
  lease: {
    metadata,
    spec: { holderIdentity: 'h', leaseDurationSeconds: 15, renewTime: time, acquireTime: time, leaseTransitions: 1 },
  },
  runtimeClass: {
    metadata,
    handler: 'h',
    overhead: { podFixed: { cpu: '1' } },
    scheduling: { nodeSelector: { k: 'v' }, tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }] },
  },
  revision: { metadata, revision: 1, data: { spec: { labels: { a: 'b' } } } },
  crd: {
    metadata,
    spec: {
      group: 'g',
      names: { kind: 'K', plural: 'k', shortNames: ['s'] },
      versions: [{ name: 'v1', served: true }],
    },
    status: { conditions },
  },
  workload,
  job: {
    metadata: { ...metadata, ownerReferences: [] },
    spec: {
      jobTemplate: { spec: workload.spec },
      backoffLimit: 1,
      completions: 1,
      podFailurePolicy: {
        rules: [
          { action: 'Count', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { operator: 'In', values: [143] } },
        ],
      },
    },
    status: { conditions, failed: 1, succeeded: 1 },
  },
  quota: {
    metadata,
    spec: {
      scopes: ['NotTerminating'],
      scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['x'] }] },
    },
    status: { hard: { pods: '2', 'requests.cpu': '1' }, used: { pods: '1' } },
  },
  limitRange: {
    metadata,
    spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { memory: '1Gi' } }] },
  },
  deviceClass: { metadata, spec: { extendedResourceName: 'example.com/gpu' } },
  pending: { metadata, spec: { ...podSpec, priority: 1 }, status: { nominatedNodeName: 'a' } },
  volume: {
    metadata,
    spec: { nodeAffinity: { required: terms }, claimRef: { name: 'p', namespace: 'x' }, storageClassName: 's' },
  },
  claim: {
    metadata,
    spec: { volumeName: 'v', storageClassName: 's', accessModes: ['ReadWriteOnce'] },
    status: { phase: 'Bound' },
  },
  storageClass: {
    metadata,
    ...{ provisioner: 'p', volumeBindingMode: 'WaitForFirstConsumer' },
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
  },
};

type Read = (api: Api, transport: Transport) => Promise<unknown>;
const drain: (read: (port: ReturnType<typeof evictionsClient>) => unknown) => Read = read => async api =>
  read(evictionsClient(api));
/** Those that are read differently. A CronJob has a sample of its own. */
const KINDS = ['Deployment', 'ReplicationController', 'Job'] as const;
const pods = async (api: Api, transport: Transport) => {
  const seen: unknown[] = [];
  const fields = { labels: true, placement: true, owners: true };
  await schedulingPort(api, transport).placedPods(
    fields,
    pod => seen.push(readPlacedPod(pod, quantityReader(), () => {})),
    () => {},
  );
  await schedulingPort(api, transport).placedLabels(
    pod => seen.push(pod),
    () => {},
  );
  return seen;
};

/** The sample has not the conditions that it waits for. */
const established: Read = api =>
  assert.rejects(crdPort(api, systemClock).waitUntilEstablished(-1), error => error instanceof NodepoolError);

/** The readers of each kind of object. */
const READERS: Record<keyof typeof SAMPLES, Read[]> = {
  node: [
    (api, transport) => nodesClient(api, transport, new KeptAnnotations(['note'])).list(),
    (api, transport) => nodesClient(api, transport, new KeptAnnotations()).get('a'),
    (api, transport) => nodesClient(api, transport, new KeptAnnotations()).fieldSetters('a', [['spec', 'taints']]),
    api => datedNode(api, new KeptAnnotations(), 'a'),
    api => annotatedNodes(api, new KeptAnnotations()),
    api => nodeLabels(api),
  ],
  pool: [
    (api, transport) => nodePoolsClient(api, transport, new KeptAnnotations()).listCoerced(),
    (api, transport) => nodePoolsClient(api, transport, new KeptAnnotations()).list(),
    (api, transport) => nodePoolsClient(api, transport, new KeptAnnotations()).get('a'),
  ],
  pod: [
    api => podsOnNode(api, 'a', undefined),
    api => podsOn(api, ['a']),
    api => podDemand(api, undefined, true),
    api => countPods(api),
    api => workloadsPort(api).pods(new Set(['node-pool-a'])),
    pods,
  ],
  budget: [drain(port => port.budgets())],
  event: [
    (api, transport) => eventsPort(api, transport).list(undefined),
    (api, transport) => eventsPort(api, transport).listObjects('a'),
    (api, transport) => eventsPort(api, transport).listAboutNode('a'),
  ],
  lease: [
    async (api, transport) => {
      const lease = await leasePort(api, transport, 'default', 'a').get();
      return [lease?.record.renewed.toISOString(), lease?.record.acquired.toISOString(), lease?.record.holder.trim()];
    },
  ],
  runtimeClass: [
    async (api, transport) => (await runtimeClassesClient(api, transport).list()).map(each => each.metadata.name),
    api => impactPort(api).selecting('RuntimeClass'),
  ],
  quota: [
    async (api, transport) => {
      const quotas = await schedulingPort(api, transport).quotas('default');
      return quotaLimit({ spec: { priorityClassName: 'x' } }, quotas, quantityReader(), '');
    },
    (api, transport) => schedulingPort(api, transport).exceededQuotas(),
  ],
  limitRange: [(api, transport) => schedulingPort(api, transport).limitRanges()],
  deviceClass: [(api, transport) => schedulingPort(api, transport).deviceResources()],
  pending: [
    async (api, transport) => {
      const all = await schedulingPort(api, transport).pendingPods();
      return all.map(pod => [readPlacedPod(pod, quantityReader(), () => {}), pod.status?.nominatedNodeName]);
    },
  ],
  revision: [
    async api => {
      const pool = { metadata: { ...metadata }, spec: { labels: { a: 'b' } } };
      return planRevision(pool as never, poolRevisions(pool as never, await controllerRevisionsClient(api).heads('a')));
    },
  ],
  crd: [api => crdPort(api, systemClock).get(), established],
  workload: [
    ...KINDS.map(
      (kind): Read =>
        api =>
          impactPort(api).selecting(kind),
    ),
    api => impactPort(api).daemonSets(),
    api => impactPort(api).parallelSets(),
    api => impactPort(api).newRevisions(),
    (api, transport) => schedulingPort(api, transport).templateHash('default', 'a', () => true),
    (api, transport) => schedulingPort(api, transport).setRevision('default', 'a'),
    (api, transport) => schedulingPort(api, transport).workload('DaemonSet', 'default', 'a'),
    ...(['Deployment', 'DaemonSet'] as const).map(
      (kind): Read =>
        api =>
          workloadsPort(api).templates(kind, new Set(['node-pool-a'])),
    ),
  ],
  job: [
    api => impactPort(api).selecting('CronJob'),
    api => impactPort(api).jobs(),
    api => workloadsPort(api).templates('CronJob', new Set(['node-pool-a'])),
  ],
  volume: [
    api => impactPort(api).selecting('PersistentVolume'),
    (api, transport) => schedulingPort(api, transport).boundVolumes(new Set()),
  ],
  claim: [(api, transport) => schedulingPort(api, transport).boundVolumes(new Set(['x']))],
  storageClass: [
    api => impactPort(api).selecting('StorageClass'),
    (api, transport) => schedulingPort(api, transport).storage(new Set()),
  ],
};

/** Answers a list with one object, and any other request with the object. */
function server(object: unknown): Transport {
  const access = { cluster: { name: 'c', server: 'https://server' }, context: 'c', user: {} };
  const request = async ({ path, onBody }: { path: string; onBody?: (chunk: Buffer) => void }) => {
    const isOne = /\/(a|nodepools\.nodes\.lailin\.xyz)$/.test(path);
    const text = JSON.stringify(isOne ? object : { kind: 'List', metadata: { resourceVersion: '7' }, items: [object] });
    onBody?.(Buffer.from(text));
    return { status: 200, headers: { 'content-type': 'application/json' }, text };
  };
  return { access, request } as unknown as Transport;
}

const WRONG = [null, 0, 'x', true, [], {}, [null], ['x'], [[]], { x: null }, { x: [] }];

/** Each place of the object with another value, or without one. */
function placesIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys: (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap(key => placesIn((value as Record<string | number, unknown>)[key], [...path, key]))];
}

function withValue(object: unknown, [key, ...rest]: (string | number)[], value: unknown): unknown {
  if (key === undefined) return value;
  const copy = (Array.isArray(object) ? [...object] : { ...(object as object) }) as Record<string | number, unknown>;
  copy[key] = withValue(copy[key], rest, value);
  return copy;
}

async function readWith(kind: keyof typeof SAMPLES, object: unknown): Promise<void> {
  const transport = server(object);
  for (const read of READERS[kind]) {
    try {
      await read(new Api(transport, () => new Date()), transport);
    } catch (error) {
      if (error instanceof NodepoolError) continue;
      throw new Error(`${kind}: ${JSON.stringify(object)}`, { cause: error });
    }
  }
}

for (const kind of Object.keys(SAMPLES) as (keyof typeof SAMPLES)[]) {
  test(`${kind}: reads valid objects, and no wrong value anywhere causes a bug`, async () => {
    const transport = server(SAMPLES[kind]);
    for (const read of READERS[kind]) await read(new Api(transport, () => new Date()), transport);
    for (const path of placesIn(SAMPLES[kind])) {
      for (const wrong of [...WRONG, undefined]) await readWith(kind, withValue(SAMPLES[kind], path, wrong));
    }
  });

  const mutated = fc
    .array(fc.tuple(fc.constantFrom(...placesIn(SAMPLES[kind])), fc.oneof(fc.constantFrom(...WRONG), fc.jsonValue())), {
      minLength: 1,
      maxLength: 3,
    })
    .map(changes => changes.reduce<unknown>(change, SAMPLES[kind]));
  property(
    `${kind}: several wrong values cause no bug`,
    fc.asyncProperty(mutated, object => readWith(kind, object)),
  );
}

function change(object: unknown, [path, value]: [(string | number)[], unknown]): unknown {
  try {
    return withValue(object, path, value);
  } catch {
    // An earlier change took the place away.
    return object;
  }
}

test('names the field in the error', async () => {
  const node = withValue(SAMPLES.node, ['status', 'conditions'], 'x');
  await assert.rejects(readNode(node), /status.conditions is "x", not a list/);
  const nulls = withValue(SAMPLES.node, ['status', 'conditions'], [null, ...conditions]);
  assert.deepEqual(
    (await readNode(nulls)).map(({ ready }) => ready),
    [true],
  );
});

test('refuses an object without name, a RuntimeClass without handler, a revision without number', async () => {
  for (const [kind, path, says] of [
    ['node', ['metadata', 'name'], 'metadata.name is missing'],
    ['pool', ['metadata', 'name'], 'metadata.name is missing'],
    ['runtimeClass', ['handler'], 'handler is missing'],
    ['revision', ['revision'], 'revision is missing'],
  ] as const) {
    const transport = server(withValue(SAMPLES[kind], [...path], null));
    const [read = assert.fail()] = READERS[kind];
    await assert.rejects(read(new Api(transport, () => new Date()), transport), new RegExp(says), kind);
  }
});

test('drops malformed conditions of a pool', async () => {
  const pool = withValue(SAMPLES.pool, ['status', 'conditions'], [null, 'x', ...conditions]);
  const transport = server(pool);
  const [read] = await nodePoolsClient(new Api(transport, () => new Date()), transport, new KeptAnnotations()).list();
  assert.deepEqual(
    read?.status?.conditions?.map(({ type }) => type),
    ['Ready'],
  );
});

const readNode = (object: unknown) => {
  const transport = server(object);
  return nodesClient(new Api(transport, () => new Date()), transport, new KeptAnnotations()).list();
};
