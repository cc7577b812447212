/**
 * Workloads of random rules on small clusters: how many replicas `fit` promises, and how many kube-scheduler and the controllers of
 * the workloads run. And drains. Everything follows from the seed.
 */
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { Dice } from './dice.ts';
import { container, Forecaster, NAMESPACE, objectOf, selectorOf, type Workload } from './forecaster.ts';
import { HOST, ZONE } from './random-cluster.ts';
import { role } from './test-env.ts';

const KEYS = [ZONE, HOST, 'rack'];
const NODES_EVERY = 12;
const MAX_DIFFERENCES = 10;

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
    ...(random.chance(0.2) ? { minDomains: random.between(2, 4) } : {}),
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
  if (random.chance(0.3)) {
    const [resource, scopes] = random.pick(QUOTAS);
    await forecaster.quota('limit', { [resource]: `${random.between(2, 8)}` }, scopes);
  }
  return { kind, name, replicas: random.between(1, 8), spec, labels, more };
}

/** Each pod requests one CPU, and no deadline. */
const QUOTAS: readonly [resource: string, scopes: readonly string[]][] = [
  ['pods', []],
  ['count/pods', []],
  ['cpu', []],
  ['requests.cpu', ['NotBestEffort']],
  ['pods', ['NotTerminating', 'NotBestEffort']],
  ['pods', ['BestEffort']],
  ['pods', ['Terminating']],
];

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
    const nodes = names.map(name => ({
      name,
      labels: { [ZONE]: random.pick(['a', 'b']), ...(leaving.includes(name) ? role('drained') : {}) },
      allocatable: { cpu: `${random.between(3, 9)}`, memory: '8Gi', pods: podPlaces(random) },
    }));
    // The last one may join once the workloads run.
    const first = random.chance(0.3) ? nodes.slice(0, -1) : nodes;
    await forecaster.nodes(...first);
    const workloads: Workload[] = [];
    for (let i = 0; i < random.between(2, 5); i++) {
      const workload = drainedWorkload(random, i, names);
      if (random.chance(0.2)) await addVolumes(workload, names, random, forecaster);
      const { least } = await forecaster.forecast(workload);
      if (least === 0) continue;
      // The replicas that do not fit are Pending.
      const replicas = random.chance(0.3) ? workload.replicas : least;
      await forecaster.create({ ...workload, replicas });
      await forecaster.settled(selectorOf(workload), least);
      workloads.push({ ...workload, replicas });
      // The disruption controller does not know how many pods a Job should have.
      if (replicas === least && workload.kind !== 'Job' && random.chance(0.3))
        await forecaster.budget(workload.name, least, random);
    }
    if (first.length < nodes.length) await forecaster.nodes(...nodes.slice(first.length));
    const before = await forecaster.settled('drain=yes', 0);
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
    const expected = before - moving + certain;
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
  const all = /^(?:All (\d+) recreated pods fit|(The) recreated pod fits) /m.exec(stderr);
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
  const kind = random.pick(['Deployment', 'StatefulSet', 'ReplicaSet', 'Job'] as const);
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
  const spec = { containers: [container(cpu)], ...rules, ...(kind === 'Job' ? { restartPolicy: 'Never' } : {}) };
  const more = kind === 'StatefulSet' && random.chance(0.3) ? { podManagementPolicy: 'OrderedReady' } : {};
  // A Job waits 10 s after its first failure, and twice as long after each further one.
  return { kind, name, replicas: random.between(1, kind === 'Job' ? 2 : 4), spec, labels, more };
}
