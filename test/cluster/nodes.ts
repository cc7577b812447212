/** Simulated nodes: objects as a kubelet writes them, about 11 kB of JSON each, without a machine. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Taint } from '../../src/nodepool/types.ts';
import { ALLOCATABLE } from '../allocatable.ts';
import { type RawClient, raw } from './raw.ts';

const IMAGES = 40;
const CONCURRENCY = 32;
const [REFUSED_MS, RETRY_MS] = [30_000, 200];
const KUBELET_VERSION = 'v1.36.3';

/** The annotation by which kwok knows the nodes that it is the kubelet of (controllers.ts). */
export const SIMULATED = ['kwok.x-k8s.io/node', 'fake'] as const;

export interface NodeSpec {
  name: string;
  labels?: Record<string, string>;
  /** Besides those that a cluster sets on a node that is not ready or cordoned. */
  taints?: readonly Taint[];
  /** Besides those of every node. */
  annotations?: Record<string, string>;
  /** Default true. */
  ready?: boolean;
  unschedulable?: boolean;
  /** Types of further conditions that are True. */
  conditions?: readonly string[];
  /** Over the default of 4 cpu, 3064520Ki of memory and 110 pods. */
  allocatable?: Record<string, string>;
}

/** Those of every node. */
export const NODE_ANNOTATIONS: Readonly<Record<string, string>> = {
  [SIMULATED[0]]: SIMULATED[1],
  'node.alpha.kubernetes.io/ttl': '0',
  'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
};

type Target = Parameters<typeof raw>[0];

/** Creates all of them, 32 at a time by default; throws on the first refusal. One request each: create keeps the status. */
export async function createNodes(
  cluster: Target,
  specs: readonly NodeSpec[],
  options: { concurrency?: number } = {},
): Promise<void> {
  const client = raw(cluster);
  await inParallel(specs, options.concurrency ?? CONCURRENCY, spec => register(client, nodeObject(spec)));
}

/** As a kubelet, it tries again: a server that has just started refuses nodes that manifests/born-in-pool.yaml would change. */
async function register(client: RawClient, node: object): Promise<void> {
  const path = '/api/v1/nodes?fieldManager=kubelet';
  for (const end = performance.now() + REFUSED_MS; ; await sleep(RETRY_MS)) {
    const { status, body } = await client.request('POST', path, node);
    if (status < 300) return;
    if (status !== 503 || performance.now() > end) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`);
  }
}

/** Sets labels; null removes one. */
export async function labelNode(cluster: Target, name: string, labels: Record<string, string | null>): Promise<void> {
  await raw(cluster).expect('PATCH', `/api/v1/nodes/${name}`, { metadata: { labels } });
}

/** Replaces the Ready condition's status, as a kubelet that stops or comes back would. */
export async function setReady(cluster: Target, name: string, ready: boolean): Promise<void> {
  await raw(cluster).expect(
    'PATCH',
    `/api/v1/nodes/${name}/status`,
    { status: { conditions: [readyCondition(ready, new Date().toISOString())] } },
    'application/strategic-merge-patch+json',
  );
}

/** Reports a condition, as an agent of the node would; null removes it. */
export async function setCondition(
  cluster: Target,
  name: string,
  type: string,
  status: 'True' | 'False' | 'Unknown' | null,
): Promise<void> {
  const now = new Date().toISOString();
  const reported =
    status === null ? { type, $patch: 'delete' } : condition(type, 'Agent', 'as the agent says', now, status);
  const path = `/api/v1/nodes/${name}/status`;
  const body = { status: { conditions: [reported] } };
  await raw(cluster).expect('PATCH', path, body, 'application/strategic-merge-patch+json');
}

/** Deletes these nodes, or all; ignores missing ones. */
export async function deleteNodes(cluster: Target, names?: readonly string[]): Promise<void> {
  const client = raw(cluster);
  if (names === undefined) {
    await client.deleteAll('/api/v1/nodes');
    return;
  }
  await inParallel(names, CONCURRENCY, async name => {
    const { status, body } = await client.request('DELETE', `/api/v1/nodes/${name}`);
    if (status >= 300 && status !== 404) throw new Error(`DELETE node ${name}: ${status} ${JSON.stringify(body)}`);
  });
}

/** The node as its kubelet would create it. */
export function nodeObject(spec: NodeSpec): Record<string, unknown> {
  const { name, ready = true, unschedulable = false } = spec;
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const allocatable = { ...ALLOCATABLE, ...spec.allocatable };
  const taints: Taint[] = [...(spec.taints ?? [])];
  if (!ready) taints.push({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' });
  if (unschedulable) taints.push({ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'beta.kubernetes.io/arch': 'amd64',
        'beta.kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'node.kubernetes.io/instance-type': 'standard-4',
        'topology.kubernetes.io/region': 'region-1',
        'topology.kubernetes.io/zone': `region-1-${'abc'[digest(name, 0) % 3]}`,
        ...spec.labels,
      },
      annotations: { ...NODE_ANNOTATIONS, ...spec.annotations },
    },
    spec: {
      providerID: `demo://region-1/${name}`,
      ...(taints.length > 0 ? { taints } : {}),
      ...(unschedulable ? { unschedulable } : {}),
    },
    status: {
      addresses: [
        { type: 'InternalIP', address: `10.${digest(name, 1)}.${digest(name, 2)}.${digest(name, 3)}` },
        { type: 'Hostname', address: name },
      ],
      allocatable,
      capacity: { ...allocatable, 'ephemeral-storage': '101430960Ki', memory: '3166920Ki' },
      conditions: [
        condition('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available', now),
        condition('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure', now),
        condition('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available', now),
        readyCondition(ready, now),
        ...(spec.conditions ?? []).map(type => condition(type, 'Agent', 'as the agent says', now, 'True')),
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      images: images(),
      nodeInfo: {
        architecture: 'amd64',
        bootID: uuid(`${name}/boot`),
        containerRuntimeVersion: 'containerd://2.2.1',
        kernelVersion: '6.12.48-cloud-amd64',
        kubeProxyVersion: '',
        kubeletVersion: KUBELET_VERSION,
        machineID: hash(`${name}/machine`).slice(0, 32),
        operatingSystem: 'linux',
        osImage: 'Debian GNU/Linux 13 (trixie)',
        systemUUID: uuid(`${name}/system`),
      },
    },
  };
}

/** As a kubelet reports them: by digest and by tag, the largest first. */
function images() {
  return Array.from({ length: IMAGES }, (_, index) => {
    const image = `images.example.com/platform/service-${index}`;
    return {
      names: [`${image}@sha256:${hash(image)}`, `${image}:v1.${index}.0`],
      sizeBytes: 600_000_000 - index * 12_345_678,
    };
  });
}

function condition(type: string, reason: string, message: string, now: string, status = 'False') {
  return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime: now };
}

function readyCondition(ready: boolean, now: string) {
  return ready
    ? condition('Ready', 'KubeletReady', 'kubelet is posting ready status', now, 'True')
    : condition('Ready', 'KubeletNotReady', 'container runtime network not ready', now);
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const digest = (text: string, index: number) => createHash('sha256').update(text).digest()[index] ?? 0;
const uuid = (text: string) => hash(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

async function inParallel<T>(items: readonly T[], limit: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: limit }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
