/**
 * Random changes of a pool on a small cluster: how many pods `diff --impact` says are evicted, find a place and stay Pending, and what
 * `reconcile`, kube-scheduler and the controllers do. Everything follows from the seed.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BudgetImpact } from '../../src/scheduling/impact/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { Dice } from './dice.ts';
import { BUDGETS, container, Forecaster, type Workload } from './forecaster.ts';
import { addVolumes, podPlaces } from './forecasts.ts';
import { HOST, ZONE } from './random-cluster.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const PODS = '/api/v1/namespaces/default/pods';
const JOBS = '/apis/batch/v1/namespaces/default/jobs';
const POOL = 'changed';
const TAINT = 'dedicated';
/** A drain that a budget holds up is given up after it, another one on a busy machine. */
const [HELD_DRAIN, DRAIN] = ['12s', '60s'];
/** The Job controller creates the first pod after a failure 10 s later, the next one 20 s later. */
const [EXPECTED_MS, EXPECTED_OF_JOBS_MS] = [25_000, 100_000];
const QUIET_MS = 1_000;
const MAX_DIFFERENCES = 10;
/** So many changes have owners of every sort. */
const ENOUGH_CHANGES = 20;

export interface ChangeRun {
  evicted: number;
  /** Recreated pods whose owner's forecast is one number. */
  exact: number;
  /** Owners of which some pods had a place for certain, and those whose forecast was compared from below and from above. */
  promisedOwners: number;
  exactOwners: number;
  pending: number;
  failed: number;
  held: number;
  differences: string[];
}

export async function runChanges(
  cluster: ControlPlane,
  { seed, changes, tell }: { seed: number; changes: number; tell: (line: string) => void },
): Promise<ChangeRun> {
  const random = new Dice(seed);
  const owners = { promisedOwners: 0, exactOwners: 0 };
  const run: ChangeRun = { evicted: 0, exact: 0, ...owners, pending: 0, failed: 0, held: 0, differences: [] };
  for (let at = 0; at < changes; at++) {
    const found = await new RandomChange(cluster, random).compare(run);
    if (found.length > 0) {
      run.differences.push(`change ${at}: ${found.join('\n')}`);
      tell(run.differences.at(-1) ?? '');
      if (run.differences.length >= MAX_DIFFERENCES) break;
    }
    if (at % 10 === 9) tell(`${at + 1} of ${changes} changes, ${run.evicted} pods evicted`);
  }
  if (changes >= ENOUGH_CHANGES && (run.promisedOwners === 0 || run.exactOwners === 0))
    run.differences.push(`${run.promisedOwners} owners were promised a place, ${run.exactOwners} compared exactly`);
  return run;
}

interface OwnedPod {
  metadata: { name: string; uid: string; labels: { app: string }; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { phase?: string };
}

interface EvictedGroup {
  owner: { kind: string; name: string };
  pods: string[];
  later: { pods: number } | null;
  canGo: { node: string; pods: number }[] | null;
  returns: unknown[] | null;
  uncertain: number | null;
  contested: boolean | null;
  pending: number | null;
  mayReturn: number;
  held: number;
  failed: number;
  afterDrain: { canGo: { node: string; pods: number }[]; returns: unknown[] } | null;
}

interface Told {
  evicted: EvictedGroup[];
  podDisruptionBudgets: BudgetImpact[];
}

/** Budgets that keep a drain from its end. */
function holding({ podDisruptionBudgets }: Told): BudgetImpact[] {
  return podDisruptionBudgets.filter(({ kind }) => kind !== 'waits' && kind !== 'undercut');
}

/** Whether the drain may end all the same. */
function isUnsure(impact: BudgetImpact): boolean {
  return impact.kind === 'stuck' && impact.certain === false;
}

class RandomChange {
  readonly #cluster: ControlPlane;
  readonly #random: Dice;
  readonly #forecaster: Forecaster;

  constructor(cluster: ControlPlane, random: Dice) {
    this.#cluster = cluster;
    this.#random = random;
    this.#forecaster = new Forecaster(cluster);
  }

  get #api() {
    return raw(this.#cluster);
  }

  /** Returns a line for each difference. The cluster is without pods afterwards. */
  async compare(run: ChangeRun): Promise<string[]> {
    const random = this.#random;
    await this.#forecaster.clear();
    const isDrain = random.chance(0.4);
    const names = Array.from({ length: random.between(3, 6) }, (_, at) => `n${at}`);
    const changed = new Set(names.slice(0, random.between(1, Math.ceil(names.length / 2))));
    const spec = { labels: { tier: 'a' }, ...(isDrain ? { noExecute: 'Drain' } : {}) };
    await this.#forecaster.pool(POOL, spec);
    await this.#forecaster.nodes(
      ...names.map(name => ({
        name,
        labels: { [ZONE]: random.pick(['a', 'b']), ...(changed.has(name) ? role(POOL) : {}) },
        allocatable: { cpu: `${random.between(3, 9)}`, memory: '8Gi', pods: podPlaces(random) },
      })),
    );
    await this.#cli(['reconcile', '--yes']);
    const workloads: Workload[] = [];
    for (let at = 0; at < random.between(2, 4); at++) {
      const workload = this.#workload(at);
      if (workload.otherContainers === undefined && random.chance(0.15))
        await addVolumes(workload, names, random, this.#forecaster);
      const { least } = await this.#forecaster.forecast(workload);
      if (least === 0) continue;
      workloads.push({ ...workload, replicas: least });
      await this.#forecaster.create({ ...workload, replicas: least });
      await this.#forecaster.settled(`app=${workload.name}`, least);
      // Of the pods of a Job, the disruption controller does not know how many there should be.
      if (workload.kind !== 'Job' && random.chance(0.4)) await this.#forecaster.budget(workload.name, least, random);
    }
    const before = await this.#quiet();
    const patch = this.#patch();
    await this.#api.expect('PATCH', `/apis/nodes.lailin.xyz/v1/nodepools/${POOL}`, { spec: patch });
    const { stdout, stderr, code: found } = await cliHere(this.#cluster, ['diff', '--impact', '-o', 'json']);
    const isChange = patch.taints.length > 0 || patch.labels !== undefined;
    assert.equal(found, isChange ? 1 : 0, stderr);
    const impact = (JSON.parse(stdout || '{}') as { impact?: Told }).impact;
    const told: Told = impact ?? { evicted: [], podDisruptionBudgets: [] };
    const waiting = isDrain ? ['--wait', '--timeout', holding(told).length > 0 ? HELD_DRAIN : DRAIN] : [];
    const { code, stderr: said } = await cliHere(this.#cluster, ['reconcile', '--yes', ...waiting]);
    if (!isDrain) assert.equal(code, 0, said);
    const differences = [
      ...this.#budgets(told, { isDrain, code: code ?? -1 }),
      ...(await this.#pods(told, { before, changed, workloads, run })),
    ];
    for (const workload of workloads) await this.#forecaster.delete(workload);
    await this.#api.expect('DELETE', BUDGETS);
    if (differences.length === 0) return [];
    return [...differences, JSON.stringify({ patch, isDrain, changed: [...changed], told, workloads, stderr, said })];
  }

  /** Whether the drain ends as its budgets were said to let it. */
  #budgets(told: Told, { isDrain, code }: { isDrain: boolean; code: number }): string[] {
    if (isDrain && code !== 0 && holding(told).length === 0)
      return [`reconcile --wait exits with ${code}, and no budget was said to hold it`];
    // Which pods stay Pending, and so which budgets lack them, is not one answer.
    if (!isDrain || told.evicted.some(({ contested, uncertain }) => contested || (uncertain ?? 0) > 0)) return [];
    if (told.podDisruptionBudgets.some(isUnsure)) return [];
    if (holding(told).length > 0 === (code !== 0)) return [];
    return [`reconcile --wait exits with ${code}, told: ${JSON.stringify(told.podDisruptionBudgets)}`];
  }

  async #pods(
    told: Told,
    {
      before,
      changed,
      workloads,
      run,
    }: { before: OwnedPod[]; changed: Set<string>; workloads: Workload[]; run: ChangeRun },
  ): Promise<string[]> {
    const differences: string[] = [];
    // Some nodes do not get the taint, and which of their pods are evicted meanwhile depends on time.
    if (told.podDisruptionBudgets.some(({ kind }) => kind === 'returning')) return [];
    const isOneNumber =
      told.evicted.every(({ contested, uncertain }) => !contested && uncertain === 0) &&
      !told.podDisruptionBudgets.some(isUnsure);
    for (const { name, kind, otherContainers } of workloads) {
      const group = told.evicted.find(({ owner }) => owner.name === name);
      const old = before.filter(({ metadata }) => metadata.labels.app === name);
      const uids = new Set(old.map(({ metadata }) => metadata.uid));
      const { pods = [], held = 0, failed = 0, later = null } = group ?? {};
      // Those that stay 600 s.
      const going = pods.length - (later?.pods ?? 0);
      const recreated = going - held - (later === null ? failed : 0);
      const places = [...(group?.canGo ?? []), ...(group?.afterDrain?.canGo ?? [])];
      const placed = Math.min(
        recreated,
        places.reduce((sum, each) => sum + each.pods, 0),
      );
      const isKnown = later === null && (group?.mayReturn ?? 0) === 0 && (group?.returns ?? []).length === 0;
      const least = isKnown ? placed - (group?.uncertain ?? 0) : 0;
      const read = async () => {
        const now = await this.#live(name);
        const gone = old.length - now.filter(({ metadata }) => uids.has(metadata.uid)).length;
        const fresh = now.filter(({ metadata, spec }) => !uids.has(metadata.uid) && spec.nodeName !== undefined);
        return { gone, fresh };
      };
      const isReached = async () => {
        const { gone, fresh } = await read();
        return gone >= going - held && fresh.length >= least;
      };
      const limit = kind === 'Job' ? EXPECTED_OF_JOBS_MS : EXPECTED_MS;
      await eventually('it is as told', isReached, limit).catch(() => {});
      await sleep(QUIET_MS);
      const { gone, fresh } = await read();
      run.evicted += gone;
      run.failed += failed;
      run.held += held;
      // A Job that fails for good deletes the pods that still run.
      const most = failed > 0 && later === null ? old.length : going - held;
      const hasBudgetToTake = !isOneNumber && told.podDisruptionBudgets.length > 0;
      if (!hasBudgetToTake && (gone < going - held || gone > most))
        differences.push(`${name}: ${gone} of ${old.length} are evicted, told ${going} and ${held} held`);
      // Of two Jobs, one may fail.
      if (failed > 0 && later === null && otherContainers === undefined)
        differences.push(...(await this.#failure(name)));
      if (!isKnown || hasBudgetToTake) continue;
      if (least > 0) run.promisedOwners++;
      if (fresh.length < least) differences.push(`${name}: ${fresh.length} have a node, told at least ${least}`);
      if (group?.contested || recreated === 0) continue;
      run.exact += group?.uncertain === 0 ? recreated : 0;
      run.pending += group?.pending ?? 0;
      // One that was placed while nodes were still being written may stand where it would not be placed afterwards.
      const isOnTheWay = ({ spec }: OwnedPod) =>
        changed.has(spec.nodeName ?? '') && !places.some(({ node }) => node === spec.nodeName);
      const standing = fresh.filter(pod => !isOnTheWay(pod)).length;
      if (isOneNumber) run.exactOwners++;
      if (standing > placed && isOneNumber)
        differences.push(`${name}: ${standing} have a node, told ${placed} at most`);
    }
    return differences;
  }

  async #failure(name: string): Promise<string[]> {
    const isFailed = async () => {
      const { status } = (await this.#api.expect('GET', `${JOBS}/${name}`)) as {
        status: { conditions?: { type: string; status: string }[] };
      };
      return status.conditions?.some(({ type, status }) => type === 'Failed' && status === 'True') ?? false;
    };
    const failed = await eventually('the Job fails', isFailed, EXPECTED_MS).then(
      () => true,
      () => false,
    );
    return failed ? [] : [`${name}: its Job has not failed`];
  }

  #workload(at: number): Workload {
    const random = this.#random;
    const kind = random.pick(['Deployment', 'Deployment', 'StatefulSet', 'ReplicaSet', 'Job'] as const);
    const name = `c${at}`;
    const labelSelector = { matchLabels: { app: name } };
    const topologyKey = random.pick([ZONE, HOST]);
    const rules = random.pick([
      {},
      {},
      { nodeSelector: { tier: 'a' } },
      { nodeSelector: { [ZONE]: random.pick(['a', 'b']) } },
      { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }] },
      {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOST, labelSelector }],
          },
        },
      },
      {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE, labelSelector }],
          },
        },
      },
    ]);
    const toleration = random.pick([
      undefined,
      undefined,
      undefined,
      { operator: 'Exists' },
      { key: TAINT, operator: 'Exists' },
      { key: TAINT, operator: 'Exists', effect: 'NoSchedule' },
      { key: TAINT, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 600 },
    ]);
    const spec = {
      containers: [container(`${random.between(1, 2)}`)],
      ...rules,
      ...(toleration === undefined ? {} : { tolerations: [toleration] }),
      ...(kind === 'Job' ? { restartPolicy: 'Never' } : {}),
    };
    const isInOrder = kind === 'StatefulSet' && random.chance(0.4);
    const more = {
      ...(kind === 'Job' ? { backoffLimit: random.pick([0, 1, 6]) } : {}),
      ...(isInOrder ? { podManagementPolicy: 'OrderedReady' } : {}),
    };
    // The larger size first: as many of it fit, so all do.
    const isOfTwoSizes = kind === 'Job' && random.chance(0.5);
    const sizes = isOfTwoSizes
      ? { spec: { ...spec, containers: [container('2')] }, otherContainers: [container('1')] }
      : { spec };
    return { kind, name, replicas: random.between(2, 6), ...sizes, labels: { app: name }, more };
  }

  #patch(): { taints: object[]; labels?: object } {
    const random = this.#random;
    const effect = random.pick(['NoExecute', 'NoExecute', 'NoExecute', 'NoSchedule']);
    const taints = random.chance(0.8) ? [{ key: TAINT, effect }] : [];
    return { taints, ...(random.chance(0.4) ? { labels: { tier: random.pick(['b', null]) } } : {}) };
  }

  async #live(name: string): Promise<OwnedPod[]> {
    const { items } = (await this.#api.expect('GET', `${PODS}?labelSelector=app=${name}`)) as { items: OwnedPod[] };
    const isLive = ({ metadata, status }: OwnedPod) =>
      metadata.deletionTimestamp === undefined && status.phase !== 'Failed';
    return items.filter(isLive);
  }

  /** All pods, once they run. */
  async #quiet(): Promise<OwnedPod[]> {
    let pods: OwnedPod[] = [];
    await eventually('all pods run', async () => {
      ({ items: pods } = (await this.#api.expect('GET', PODS)) as { items: OwnedPod[] });
      return pods.every(({ status }) => status.phase === 'Running');
    });
    return pods;
  }

  async #cli(args: string[]): Promise<void> {
    const { code, stderr } = await cliHere(this.#cluster, args);
    assert.equal(code, 0, stderr);
  }
}
