/**
 * What the tests of forecasts make in a cluster: workloads, nodes, volumes, quotas and budgets. And what `fit` says of a
 * workload, beside what kube-scheduler and the controllers do with it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cliHere } from '../cluster/harness.ts';
import { createNodes, deleteNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import type { Dice } from './dice.ts';
import { HOST } from './random-cluster.ts';
import { eventually } from './watching.ts';

export const NAMESPACE = 'default';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const CRON_JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/cronjobs`;
export const BUDGETS = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`;
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
/** An unschedulable pod is tried again some seconds after others have changed its chances. */
const SETTLE_MS = 60_000;
/** So long no further pod was bound. */
const QUIET_MS = 700;

export interface Workload {
  kind: 'Deployment' | 'StatefulSet' | 'ReplicaSet' | 'Job' | 'DaemonSet';
  /** Two Jobs of a CronJob: one asks for these containers instead. */
  otherContainers?: object[];
  name: string;
  replicas: number;
  spec: object;
  /** Of the pods; app: NAME if there are none. */
  labels?: Record<string, string>;
  /** More of the spec of the workload itself. */
  more?: object;
}

export interface Forecast {
  /** Of all nodes, and what the ResourceQuota allows; at most as many as were asked for. */
  least: number;
  most: number;
  /** Exit code of `fit --replicas`. */
  code: number;
  text: string;
}

const PATHS = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  Job: 'batch/v1',
};
const KINDS = Object.keys(PATHS) as (keyof typeof PATHS)[];

export function objectOf({ kind, name, replicas, spec, labels = { app: name }, more = {} }: Workload): object {
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, ...spec } };
  const count =
    kind === 'Job'
      ? { parallelism: replicas, completions: replicas }
      : kind === 'DaemonSet'
        ? { selector: { matchLabels: labels } }
        : { replicas, selector: { matchLabels: labels } };
  const policy = kind === 'StatefulSet' ? { podManagementPolicy: 'Parallel', serviceName: name } : {};
  return { apiVersion: PATHS[kind], kind, metadata: { name }, spec: { ...count, ...policy, ...more, template } };
}

interface OwnedPod {
  metadata: { name: string; ownerReferences?: object[]; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { phase?: string };
}

function pathOf({ kind }: Pick<Workload, 'kind'>): string {
  return `/apis/${PATHS[kind]}/namespaces/${NAMESPACE}/${kind.toLowerCase()}s`;
}

const OWNERS = KINDS.map(kind => pathOf({ kind }));

function isPlaced({ metadata, spec, status }: OwnedPod): boolean {
  return spec.nodeName !== undefined && metadata.deletionTimestamp === undefined && status.phase !== 'Failed';
}

export function selectorOf({ name, labels = { app: name } }: Workload): string {
  return Object.entries(labels)
    .map(entry => entry.join('='))
    .join();
}

/** Compares what `fit` says of a workload with what happens when it is created. The cluster is as before afterwards. */
export class Forecaster {
  readonly #cluster: ControlPlane;

  constructor(cluster: ControlPlane) {
    this.#cluster = cluster;
  }

  get #api() {
    return raw(this.#cluster);
  }

  async forecast(workload: Workload): Promise<Forecast> {
    const folder = await mkdtemp(join(tmpdir(), 'nodepool-forecast-'));
    const file = join(folder, 'workload.json');
    await writeFile(file, JSON.stringify(objectOf(workload)));
    const args = ['fit', '-f', file, '--replicas', `${workload.replicas}`];
    const { code, stdout, stderr } = await cliHere(this.#cluster, [...args, '-o', 'json']);
    const { stdout: text } = await cliHere(this.#cluster, args);
    await rm(folder, { recursive: true });
    assert.ok(code === 0 || code === 1, stderr);
    const [item] = (
      JSON.parse(stdout) as {
        items: { total: { replicas: number; maxReplicas: number }; quota?: { replicas: number } }[];
      }
    ).items;
    assert.ok(item !== undefined);
    const limit = Math.min(
      workload.kind === 'DaemonSet' ? Infinity : workload.replicas,
      item.quota?.replicas ?? Infinity,
    );
    const { replicas, maxReplicas } = item.total;
    return { least: Math.min(replicas, limit), most: Math.min(maxReplicas, limit), code: code ?? -1, text };
  }

  /** Creates it, waits until its pods have a node or no more get one, and deletes it. Returns how many have one. */
  async run(workload: Workload, atLeast: number): Promise<number> {
    await this.create(workload);
    try {
      return await this.settled(selectorOf(workload), atLeast);
    } finally {
      await this.delete(workload);
    }
  }

  async create(workload: Workload): Promise<void> {
    const { otherContainers, name, replicas, spec } = workload;
    if (otherContainers === undefined) {
      await this.#api.expect('POST', pathOf(workload), objectOf(workload));
      return;
    }
    const jobTemplate = { spec: { template: { spec: { restartPolicy: 'Never', containers: otherContainers } } } };
    const { metadata } = (await this.#api.expect('POST', CRON_JOBS, {
      metadata: { name },
      spec: { schedule: '0 0 1 1 *', suspend: true, jobTemplate },
    })) as { metadata: { uid: string } };
    const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name, uid: metadata.uid, controller: true };
    const labels = { app: name };
    for (const [count, specOf] of [
      [Math.ceil(replicas / 2), spec],
      [Math.floor(replicas / 2), { ...spec, containers: otherContainers }],
    ] as const) {
      if (count === 0) continue;
      const job = {
        ...workload,
        name: `${name}-${count}-${specOf === spec ? 'a' : 'b'}`,
        labels,
        replicas: count,
        spec: specOf,
      };
      const object = objectOf(job) as { metadata: object };
      await this.#api.expect('POST', pathOf(job), {
        ...object,
        metadata: { ...object.metadata, ownerReferences: [owner] },
      });
    }
  }

  /** How many pods with an owner have a node, once no more get one. @param atLeast so many are waited for */
  async settled(selector: string, atLeast: number): Promise<number> {
    const end = Date.now() + SETTLE_MS;
    let [count, since] = [-1, Date.now()];
    for (;;) {
      const now = (await this.#owned(selector)).filter(isPlaced).length;
      if (now !== count) [count, since] = [now, Date.now()];
      const isQuiet = Date.now() - since >= QUIET_MS;
      if ((isQuiet && count >= atLeast) || Date.now() > end) return count;
      await sleep(60);
    }
  }

  async delete(workload: Workload): Promise<void> {
    const path = workload.otherContainers === undefined ? pathOf(workload) : CRON_JOBS;
    await this.#api.expect('DELETE', `${path}/${workload.name}?propagationPolicy=Background`);
    // The garbage collector deletes the pods: a ReplicaSet or Job that is left would replace one that is deleted here.
    const labelled = `?labelSelector=${encodeURIComponent(selectorOf(workload))}`;
    await eventually(
      `the pods of ${workload.name} are gone`,
      async () => {
        const left = await this.#count(OWNERS.map(owners => owners + labelled));
        return left + (await this.#owned(selectorOf(workload))).length === 0;
      },
      60_000,
    );
    await this.#api.expect('DELETE', `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`);
  }

  async #count(paths: readonly string[]): Promise<number> {
    const lists = await Promise.all(paths.map(path => this.#api.expect('GET', path)));
    return (lists as { items: unknown[] }[]).reduce((sum, { items }) => sum + items.length, 0);
  }

  /** Without those that runs() made, and that are on their way out. */
  async #owned(selector: string): Promise<OwnedPod[]> {
    const path = `${PODS}?labelSelector=${encodeURIComponent(selector)}`;
    const { items } = (await this.#api.expect('GET', path)) as { items: OwnedPod[] };
    return items.filter(({ metadata }) => metadata.ownerReferences !== undefined);
  }

  async pool(name: string, spec: object = {}): Promise<void> {
    await this.#api.expect('POST', POOLS, {
      metadata: { name },
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      spec,
    });
  }

  /** On no node, the pod with these labels runs as if somebody had placed it. */
  async runs(name: string, node: string, labels: Record<string, string>, cpu = '0'): Promise<void> {
    const spec = { nodeName: node, terminationGracePeriodSeconds: 0, containers: [container(cpu)] };
    await this.#api.expect('POST', PODS, { metadata: { name, labels }, spec });
  }

  /** A class without a provisioner, and volumes of it on these nodes. */
  async volumes(
    className: string,
    nodes: readonly string[],
    volumeBindingMode = 'WaitForFirstConsumer',
  ): Promise<void> {
    await this.#api.expect('POST', '/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: className },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode,
    });
    for (const [at, node] of nodes.entries()) {
      const nodeSelectorTerms = [{ matchExpressions: [{ key: HOST, operator: 'In', values: [node] }] }];
      await this.#api.expect('POST', '/api/v1/persistentvolumes', {
        metadata: { name: `${className}-${at}` },
        spec: {
          storageClassName: className,
          accessModes: ['ReadWriteOnce'],
          capacity: { storage: '1Gi' },
          local: { path: '/mnt' },
          nodeAffinity: { required: { nodeSelectorTerms } },
        },
      });
    }
    // The scheduler knows a volume that is Available.
    await eventually('volumes are available', async () => {
      const { items } = (await this.#api.expect('GET', '/api/v1/persistentvolumes')) as {
        items: { spec: { storageClassName: string }; status: { phase: string } }[];
      };
      return items.every(({ spec, status }) => spec.storageClassName !== className || status.phase === 'Available');
    });
  }

  async quota(name: string, hard: Record<string, string>, scopes: readonly string[] = []): Promise<void> {
    await this.#api.expect('POST', `/api/v1/namespaces/${NAMESPACE}/resourcequotas`, {
      metadata: { name },
      spec: { hard, scopes },
    });
    await eventually('the quota has a status', async () => {
      const { status } = (await this.#api.expect('GET', `/api/v1/namespaces/${NAMESPACE}/resourcequotas/${name}`)) as {
        status: { hard?: object; used?: object };
      };
      return status.hard !== undefined && status.used !== undefined;
    });
  }

  /** A PodDisruptionBudget of the pods `app=NAME`, once its status counts them. @param pods how many there are */
  async budget(name: string, pods: number, random: Dice): Promise<void> {
    const limits = [
      { maxUnavailable: 1 },
      { maxUnavailable: '50%' },
      { minAvailable: '50%' },
      { minAvailable: pods },
      { minAvailable: Math.max(1, pods - 1) },
    ];
    const unhealthyPodEvictionPolicy = random.pick(['AlwaysAllow', 'IfHealthyBudget']);
    const spec = { ...random.pick(limits), unhealthyPodEvictionPolicy, selector: { matchLabels: { app: name } } };
    await this.#api.expect('POST', BUDGETS, { metadata: { name }, spec });
    await eventually('the budget knows its pods', async () => {
      const { status } = (await this.#api.expect('GET', `${BUDGETS}/${name}`)) as {
        status: { currentHealthy?: number; expectedPods?: number };
      };
      return status.expectedPods === pods && status.currentHealthy === pods;
    });
  }

  /** Without nodes, pods, volumes and quotas. */
  async clear(): Promise<void> {
    const areGone = async (paths: readonly string[]) => (await this.#count(paths)) === 0;
    for (const path of [...OWNERS, CRON_JOBS]) await this.#api.expect('DELETE', path);
    await eventually('no workloads are left', () => areGone([...OWNERS, CRON_JOBS]));
    for (const path of [
      `/api/v1/namespaces/${NAMESPACE}/resourcequotas`,
      BUDGETS,
      `${PODS}?gracePeriodSeconds=0`,
      `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`,
      '/api/v1/persistentvolumes',
      '/apis/storage.k8s.io/v1/storageclasses',
      POOLS,
    ]) {
      await this.#api.expect('DELETE', path);
    }
    const { items } = (await this.#api.expect('GET', POOLS)) as { items: { metadata: { name: string } }[] };
    for (const { metadata } of items)
      await this.#api.expect('PATCH', `${POOLS}/${metadata.name}`, { metadata: { finalizers: [] } });
    await this.#api.expect('DELETE', '/apis/node.k8s.io/v1/runtimeclasses');
    await eventually('no pods are left', () => areGone([PODS]));
    await deleteNodes(this.#cluster);
  }

  async nodes(...nodes: Parameters<typeof createNodes>[1]): Promise<void> {
    await createNodes(this.#cluster, nodes);
  }
}

export function container(cpu: string, more: object = {}): object {
  return { name: 'main', image: 'registry.example.com/main:1', resources: { requests: { cpu } }, ...more };
}
