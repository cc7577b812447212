/**
 * Workloads of random rules on small clusters: how many replicas `fit` promises, and how many kube-scheduler and the controllers of
 * the workloads run. Everything follows from the seed.
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
import { Dice } from './dice.ts';
import { HOST, ZONE } from './random-cluster.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const KEYS = [ZONE, HOST, 'rack'];
const NAMESPACE = 'default';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const CRON_JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/cronjobs`;
export const BUDGETS = `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets`;
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
/** An unschedulable pod is tried again some seconds after others have changed its chances. */
const SETTLE_MS = 60_000;
/** So long no further pod was bound. */
const QUIET_MS = 700;
const NODES_EVERY = 12;
const MAX_DIFFERENCES = 10;

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

function objectOf({ kind, name, replicas, spec, labels = { app: name }, more = {} }: Workload): object {
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
  metadata: { name: string; ownerReferences?: object[] };
  spec: { nodeName?: string };
}

function pathOf({ kind }: Workload): string {
  return `/apis/${PATHS[kind]}/namespaces/${NAMESPACE}/${kind.toLowerCase()}s`;
}

function selectorOf({ name, labels = { app: name } }: Workload): string {
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
      const now = (await this.#owned(selector)).filter(({ spec }) => spec.nodeName !== undefined).length;
      if (now !== count) [count, since] = [now, Date.now()];
      const isQuiet = Date.now() - since >= QUIET_MS;
      if ((isQuiet && count >= atLeast) || Date.now() > end) return count;
      await sleep(60);
    }
  }

  async delete(workload: Workload): Promise<void> {
    const path = workload.otherContainers === undefined ? pathOf(workload) : CRON_JOBS;
    await this.#api.expect('DELETE', `${path}/${workload.name}?propagationPolicy=Background`);
    await eventually(
      `the pods of ${workload.name} are gone`,
      async () => {
        const owned = await this.#owned(selectorOf(workload));
        for (const { metadata } of owned)
          await this.#api.request('DELETE', `${PODS}/${metadata.name}?gracePeriodSeconds=0`);
        return owned.length === 0;
      },
      60_000,
    );
    await this.#api.expect('DELETE', `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`);
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
  async volumes(className: string, nodes: readonly string[]): Promise<void> {
    await this.#api.expect('POST', '/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: className },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
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

  async quota(name: string, hard: Record<string, string>): Promise<void> {
    await this.#api.expect('POST', `/api/v1/namespaces/${NAMESPACE}/resourcequotas`, {
      metadata: { name },
      spec: { hard },
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
    const limits = [{ maxUnavailable: 1 }, { minAvailable: pods }, { minAvailable: Math.max(1, pods - 1) }];
    const spec = { ...random.pick(limits), selector: { matchLabels: { app: name } } };
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
    for (const path of [
      ...Object.keys(PATHS).map(kind => pathOf({ kind } as Workload)),
      CRON_JOBS,
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
    await eventually('no pods are left', async () => {
      return ((await this.#api.expect('GET', PODS)) as { items: unknown[] }).items.length === 0;
    });
    await deleteNodes(this.#cluster);
  }

  async nodes(...nodes: Parameters<typeof createNodes>[1]): Promise<void> {
    await createNodes(this.#cluster, nodes);
  }
}

export function container(cpu: string, more: object = {}): object {
  return { name: 'main', image: 'registry.example.com/main:1', resources: { requests: { cpu } }, ...more };
}

/** Number of workloads whose forecast is one number, and of all. */
export interface ForecastRun {
  exact: number;
  all: number;
  differences: string[];
}

export async function runForecasts(
  cluster: ControlPlane,
  { seed, workloads, tell }: { seed: number; workloads: number; tell: (line: string) => void },
): Promise<ForecastRun> {
  const random = new Dice(seed);
  const forecaster = new Forecaster(cluster);
  const differences: string[] = [];
  let exact = 0;
  let nodes: string[] = [];
  for (let at = 0; at < workloads; at++) {
    if (at % NODES_EVERY === 0) {
      await forecaster.clear();
      nodes = await randomNodes(random, forecaster);
    }
    const workload = await randomWorkload(random, at, nodes, forecaster);
    const forecast = await forecaster.forecast(workload);
    const { least, most, code } = forecast;
    const placed = await forecaster.run(workload, least);
    const isEnough = workload.kind === 'DaemonSet' ? least > 0 : least >= workload.replicas;
    if (least === most) exact++;
    if (placed < least || placed > most || (workload.kind !== 'DaemonSet' && (code === 0) !== isEnough)) {
      differences.push(
        `workload ${at}: ${placed} run, fit said ${least}-${most} (exit ${code})\n${forecast.text}\n${JSON.stringify(objectOf(workload))}`,
      );
      tell(differences.at(-1) ?? '');
      if (differences.length >= MAX_DIFFERENCES) break;
    }
    await raw(cluster).expect('DELETE', `/api/v1/namespaces/${NAMESPACE}/resourcequotas`);
    if (at % 25 === 24) tell(`${at + 1} of ${workloads}, ${exact} exact`);
  }
  return { exact, all: workloads, differences };
}

async function randomNodes(random: Dice, forecaster: Forecaster): Promise<string[]> {
  const names = Array.from({ length: random.between(2, 6) }, (_, at) => `n${at}`);
  await forecaster.nodes(
    ...names.map(name => ({
      name,
      labels: {
        [ZONE]: random.pick(['a', 'b', 'c']),
        ...(random.chance(0.7) ? { rack: random.pick(['r1', 'r2']) } : {}),
      },
      allocatable: { cpu: `${random.between(1, 4)}`, memory: '8Gi', pods: '20' },
      taints: random.chance(0.15)
        ? [{ key: 'dedicated', value: 'x', effect: random.pick(['NoSchedule', 'NoExecute'] as const) }]
        : [],
      unschedulable: random.chance(0.08),
    })),
  );
  for (const name of names) if (random.chance(0.2)) await forecaster.runs(`web-${name}`, name, { app: 'web' });
  return names;
}

async function randomWorkload(random: Dice, at: number, nodes: string[], forecaster: Forecaster): Promise<Workload> {
  const kind = random.pick([
    'Deployment',
    'Deployment',
    'StatefulSet',
    'StatefulSet',
    'ReplicaSet',
    'Job',
    'DaemonSet',
  ] as const);
  const name = `w${at}`;
  const labels = { app: random.chance(0.5) ? 'web' : name, run: name };
  const own = OWN_KEYS[kind];
  const keys = (): object => (own !== undefined && random.chance(0.3) ? { matchLabelKeys: [own] } : {});
  const labelSelector = () => ({
    matchLabels: kind === 'Job' && random.chance(0.5) ? { 'job-name': name } : { app: labels.app },
  });
  const term = () => ({ topologyKey: random.pick(KEYS), labelSelector: labelSelector(), ...keys() });
  const affinity = {
    ...(random.chance(0.25) ? { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term()] } } : {}),
    ...(random.chance(0.3) ? { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term()] } } : {}),
  };
  const constraint = () => ({
    maxSkew: random.between(1, 2),
    topologyKey: random.pick(KEYS),
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: labelSelector(),
    ...keys(),
  });
  const spread = random.chance(0.35) ? [constraint()] : [];
  if (spread.length === 1 && random.chance(0.3)) {
    const second = constraint();
    if (second.topologyKey !== spread[0]?.topologyKey) spread.push(second);
  }
  const spec: Record<string, unknown> = {
    containers: [container('1')],
    affinity,
    topologySpreadConstraints: spread,
    ...(kind === 'Job' ? { restartPolicy: 'Never' } : {}),
    ...(random.chance(0.2) ? { tolerations: [{ key: 'dedicated', operator: 'Exists' }] } : {}),
  };
  const more: Record<string, unknown> = {};
  if (kind !== 'DaemonSet' && random.chance(0.3)) {
    const on = Array.from({ length: random.between(1, 5) }, () => random.pick(nodes));
    await forecaster.volumes(name, on);
    const claim = {
      storageClassName: name,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
    };
    if (kind === 'StatefulSet') more.volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: claim }];
    else spec.volumes = [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: claim } } }];
  }
  if (kind === 'Job' && random.chance(0.3)) more.completionMode = 'Indexed';
  if (kind === 'Job') more.backoffLimit = 6;
  if (random.chance(0.2)) await forecaster.quota('limit', { pods: `${random.between(2, 8)}` });
  return { kind, name, replicas: random.between(1, 8), spec, labels, more };
}

const OWN_KEYS: Partial<Record<Workload['kind'], string>> = {
  Deployment: 'pod-template-hash',
  StatefulSet: 'apps.kubernetes.io/pod-index',
  Job: 'batch.kubernetes.io/job-name',
};

// Drains: how many of the evicted pods `drain --check-fit` promises a place, and how many get one.

export async function runDrains(
  cluster: ControlPlane,
  { seed, drains, tell }: { seed: number; drains: number; tell: (line: string) => void },
): Promise<{ certain: number; moving: number; without: number; differences: string[] }> {
  const random = new Dice(seed);
  const forecaster = new Forecaster(cluster);
  const differences: string[] = [];
  let [allCertain, allMoving, allWithout] = [0, 0, 0];
  for (let at = 0; at < drains; at++) {
    await forecaster.clear();
    await forecaster.pool('drained');
    const names = Array.from({ length: random.between(3, 6) }, (_, i) => `n${i}`);
    const leaving = names.slice(0, random.between(1, 2));
    await forecaster.nodes(
      ...names.map(name => ({
        name,
        labels: { [ZONE]: random.pick(['a', 'b']), ...(leaving.includes(name) ? role('drained') : {}) },
        allocatable: { cpu: `${random.between(3, 9)}`, memory: '8Gi', pods: podPlaces(random) },
      })),
    );
    const workloads: Workload[] = [];
    for (let i = 0; i < random.between(2, 5); i++) {
      const workload = drainedWorkload(random, i, names);
      if (random.chance(0.2)) await addVolumes(workload, names, random, forecaster);
      const { least } = await forecaster.forecast(workload);
      if (least === 0) continue;
      await forecaster.create({ ...workload, replicas: least });
      await forecaster.settled(selectorOf(workload), least);
      workloads.push({ ...workload, replicas: least });
      if (random.chance(0.3)) await forecaster.budget(workload.name, least, random);
    }
    const all = workloads.reduce((sum, { replicas }) => sum + replicas, 0);
    const flags = ['drain', 'drained', '--force'];
    const asked = await cliHere(cluster, [...flags, '--check-fit', '--dry-run']);
    const { moving, certain, without } = promisedBy(asked.stderr);
    const isHeld = /never allows an eviction|the drain would wait until its timeout/.test(asked.stderr);
    const drained = await cliHere(cluster, [...flags, '--yes', '--timeout', isHeld ? '12s' : '60s']);
    // Where a place is not certain, a budget may miss the pod.
    if (isHeld || certain === moving) {
      if ((drained.code !== 0) !== isHeld) {
        differences.push(
          `drain ${at}: exit ${drained.code}\n${asked.stderr}\n${drained.stderr}\n${JSON.stringify(workloads)}`,
        );
        tell(differences.at(-1) ?? '');
      }
    }
    const expected = all - moving + certain;
    const placed = await forecaster.settled('drain=yes', expected);
    allCertain += certain;
    allMoving += moving;
    // Where the drain ends, all are evicted: those that would find no place have none.
    const most = drained.code === 0 ? all - without : all;
    allWithout += without;
    if (placed < expected || placed > most) {
      differences.push(
        `drain ${at}: ${placed} of ${all} pods have a node, ${certain} of ${moving} were promised, ${without} were to have none\n${asked.stderr}\n${JSON.stringify(workloads)}`,
      );
      tell(differences.at(-1) ?? '');
      if (differences.length >= MAX_DIFFERENCES) break;
    }
    for (const workload of workloads) await forecaster.delete(workload);
  }
  return { certain: allCertain, moving: allMoving, without: allWithout, differences };
}

/** What the output of --check-fit promises. `without`: those that find no place in any case. */
function promisedBy(stderr: string): { moving: number; certain: number; without: number } {
  const all = /^(?:All (\d+) pods|(The) pod)/m.exec(stderr);
  if (all !== null) return { moving: Number(all[1] ?? 1), certain: Number(all[1] ?? 1), without: 0 };
  const some = /(at least )?(\d+) of (\d+) pods? (may|would) find no place/.exec(stderr);
  if (some === null) return { moving: 0, certain: 0, without: 0 };
  const [count, moving] = [Number(some[2]), Number(some[3])];
  return { moving, certain: some[1] === undefined ? moving - count : 0, without: some[4] === 'would' ? count : 0 };
}

/** Some nodes have room for a few pods only. */
export function podPlaces(random: Dice): string {
  return random.chance(0.7) ? '20' : `${random.between(2, 6)}`;
}

/** Each pod gets a local volume; these are on some of the nodes. */
export async function addVolumes(
  workload: Workload,
  nodes: readonly string[],
  random: Dice,
  forecaster: Forecaster,
): Promise<void> {
  const { name, kind } = workload;
  const on = Array.from({ length: random.between(2, 6) }, () => random.pick(nodes));
  await forecaster.volumes(name, on);
  const spec = { storageClassName: name, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  if (kind === 'StatefulSet')
    workload.more = { ...workload.more, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec }] };
  else workload.spec = { ...workload.spec, volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec } } }] };
}

function drainedWorkload(random: Dice, at: number, nodes: string[]): Workload {
  const kind = random.pick(['Deployment', 'StatefulSet', 'ReplicaSet'] as const);
  const name = `d${at}`;
  const labels = { app: name, drain: 'yes' };
  const labelSelector = { matchLabels: { app: name } };
  const topologyKey = random.pick([ZONE, HOST]);
  const rules = random.pick([
    {},
    {},
    { nodeSelector: { [ZONE]: random.pick(['a', 'b']) } },
    { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }] },
    {
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }] },
      },
    },
    {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE, labelSelector }] },
      },
    },
    { tolerations: [{ operator: 'Exists' }] },
    {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: HOST, operator: 'In', values: [random.pick(nodes), random.pick(nodes)] }] },
            ],
          },
        },
      },
    },
  ]);
  // Those that return to their nodes have room there, whichever comes first.
  const cpu = 'tolerations' in rules ? '1' : `${random.between(1, 2)}`;
  const spec = { containers: [container(cpu)], ...rules };
  const more = kind === 'StatefulSet' && random.chance(0.3) ? { podManagementPolicy: 'OrderedReady' } : {};
  return { kind, name, replicas: random.between(1, 4), spec, labels, more };
}
