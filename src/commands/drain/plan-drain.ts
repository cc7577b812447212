/** Plans a drain: nodes, pods and obstacles. Finds pods that may not be evicted before anything is written. */
import type { EvictionsClient } from '../../kube/cluster.ts';
import {
  type Budget,
  type BudgetForecast,
  budgetMatcher,
  forecastBudgets,
  neverEvicted,
} from '../../nodepool/drain/budgets.ts';
import { type DrainPod, groupByOutcome, isRecreated, podName } from '../../nodepool/drain/drain-filters.ts';
import {
  isMatching,
  type PodPlacement,
  toleratesCordon,
  untoleratedTaints,
  whyUnplaced,
} from '../../nodepool/drain/placement.ts';
import { NodepoolError, type Warning, warningText } from '../../nodepool/errors.ts';
import { noun, plural } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Storage, Volume } from '../../scheduling/volumes/storage.ts';
import { isWithin } from '../../scheduling/volumes/volumes.ts';
import { chooseMembers, readMembers } from '../shared/cordon/cordon.ts';
import { maintenanceWarnings, nodesInMaintenance } from '../shared/cordon/maintenance.ts';
import { valueOrRefusal } from '../shared/refusals.ts';
import { type JudgedPods, type PodOutcome, podReader } from './drain-pods.ts';
import type { DrainOptions } from './options.ts';

export interface PoolsDrainPlan {
  pools: PlannedPool[];
  /** A line each: pods that are evicted or left because of a flag, and obstacles that waiting does not remove. */
  warnings: Warning[];
  /** What the drain will wait for. */
  notes: string[];
  blocked: BlockedPods;
  /** All budgets that could be read; empty if no pod is evicted by the Eviction API. */
  budgets: readonly Budget[];
  /** Whether the volumes of the pods were considered. */
  knowsVolumes: boolean;
  /** The pool that owns the node in its current state, given the pools of the plan. */
  ownerOf: (node: Node) => string | undefined;
}

export interface PlannedPool {
  pool: string;
  nodes: PlannedNode[];
  otherMembers: Node[];
}

export interface PlannedNode {
  node: Node;
  pods: DrainPod[];
  /** UIDs of pods that a warning is about. */
  warned: ReadonlySet<string>;
  /** Pods that are terminating for too long to wait for, as `namespace/name`. */
  terminating?: readonly string[];
  /** The node is under maintenance by someone else, and is not drained. */
  inOthersMaintenance?: boolean;
}

/** Writes nothing. Throws if a pool does not exist, a node is no member, or a pod may not be evicted. */
export async function planDrain(names: readonly string[], options: DrainOptions): Promise<PoolsDrainPlan> {
  const { cluster, cordon, maintenance, disableEviction, isRolling } = options;
  const { members, nodes: all, ownerOf } = await readMembers('drain', names, cluster);
  const chosen = new Set(chooseMembers([...members.values()].flat(), options.nodes, names, all));
  const others = await nodesInMaintenance([...chosen], cordon, maintenance);
  const othersNodes = new Set(others.map(({ name }) => name));
  const reader = podReader(options);
  const judged = await Promise.all(
    [...members].flatMap(([pool, nodes]) =>
      nodes
        .filter(node => chosen.has(node) && !othersNodes.has(node.name))
        .map(async node => ({ pool, node, ...(await reader.read(node.name)) })),
    ),
  );
  const byPool = Map.groupBy(judged, ({ pool }) => pool);
  const drained = new Set(judged.map(({ node }) => node.name));
  const isOther = ({ name }: Node) => !drained.has(name);
  const pods = judged.flatMap(({ evict, refused }) => [...evict, ...refused]);
  const isGradual = isRolling && judged.length > 1;
  const { obstacles, warnings, ...outlook } = await outlookOf(
    { pods, others: all.filter(isOther), disableEviction, isGradual },
    options.evictions,
    options.volumes,
  );
  const refusing = judged.filter(({ refusals }) => refusals.length > 0);
  if (refusing.length > 0) throw refusedBy(refusing, obstacles);
  return {
    pools: [...members].map(([pool, ofPool]) => ({
      pool,
      nodes: [
        ...(byPool.get(pool) ?? []).map(({ node, evict, warnings, terminating }) => ({
          node,
          pods: evict,
          terminating: terminating.map(podName),
          warned: new Set(warnings.flatMap(({ evicts }) => evicts ?? [])),
        })),
        ...ofPool
          .filter(node => chosen.has(node) && othersNodes.has(node.name))
          .map(node => ({ node, pods: [], warned: new Set<string>(), inOthersMaintenance: true })),
      ],
      otherMembers: ofPool.filter(node => !chosen.has(node)),
    })),
    warnings: [
      ...groupByOutcome(judged.flatMap(each => [...each.warnings, ...lastingPods(each, options)])),
      ...obstacles,
      ...warnings,
      ...maintenanceWarnings(others, options.now),
    ],
    ...outlook,
    ownerOf,
  };
}

/** Pods that remain or may remain after the drain. */
function lastingPods({ evict, terminating }: JudgedPods, { rules }: DrainOptions): PodOutcome[] {
  const slow = `not waiting for pods that are terminating for more than ${rules.skipWaitForDeleteSeconds} s`;
  return [
    ...evict
      .filter(pod => isRecreated(pod) && toleratesCordon(pod.placement))
      .map(pod => ({ what: 'these pods tolerate a cordon and may come back', pod: podName(pod) })),
    ...terminating.map(pod => ({ what: slow, pod: podName(pod) })),
  ];
}

/** Reports all obstacles in one error, so that users do not meet them one run at a time. */
function refusedBy(
  refusing: readonly { pool: string; refusals: PodOutcome[] }[],
  obstacles: readonly Warning[],
): NodepoolError {
  const pools = [...new Set(refusing.map(({ pool }) => `"${pool}"`))];
  const refusals = groupByOutcome(refusing.flatMap(({ refusals }) => refusals));
  return new NodepoolError(
    'input',
    `cannot drain ${noun(pools.length, 'nodepool')} ${pools.join(', ')}; nothing was changed:`,
    'use the flags above, or remove these pods first',
    { items: [...refusals, ...obstacles.map(warningText)] },
  );
}

// What will block or delay a drain: budgets over all pods, and pods that no other node takes. Reads no pods.

interface DrainOutlook {
  /** Budgets that waiting does not change, each with a fix. */
  obstacles: Warning[];
  /** Other things that someone may have to fix first. */
  warnings: Warning[];
  /** What a drain waits for, usually only for a while. */
  notes: string[];
  blocked: BlockedPods;
  /** The budgets that could be read. */
  budgets: Budget[];
  /** Whether the volumes of the pods were considered. */
  knowsVolumes: boolean;
}

/** Pods that stay blocked however long the drain waits. */
interface BlockedPods {
  pods: number;
  /** Their PodDisruptionBudgets, as `ns/web`. */
  budgets: string[];
  /** The reason for each pod, by its UID. */
  why: ReadonlyMap<string, string>;
}

interface DrainScope {
  pods: readonly DrainPod[];
  /** Nodes that are not drained. */
  others: readonly Node[];
  /** Budgets are ignored. */
  disableEviction: boolean;
  /** Until the last node is cordoned, nodes that are drained later still accept pods. */
  isGradual: boolean;
}

async function outlookOf(
  scope: DrainScope,
  evictions: Pick<EvictionsClient, 'budgets'>,
  readVolumes: DrainOptions['volumes'],
): Promise<DrainOutlook> {
  const { pods, others, disableEviction } = scope;
  const budgets = async () =>
    disableEviction || pods.length === 0 ? { value: [] } : await valueOrRefusal(() => evictions.budgets());
  const [read, { storage, isRefused }] = await Promise.all([budgets(), volumesOf(pods, readVolumes)]);
  const pending = unplacedPods(pods, others, storage);
  const unplaced = unplacedLines(pending, scope.isGradual);
  const knowsVolumes = !isRefused;
  if ('refusal' in read) {
    const unknown = `cannot tell what PodDisruptionBudgets allow: ${read.refusal.oneLine}`;
    return {
      obstacles: [],
      warnings: [unknown, ...unplaced],
      notes: [],
      blocked: { pods: 0, budgets: [], why: new Map() },
      budgets: [],
      knowsVolumes,
    };
  }
  const forecasts = forecastBudgets(pods, read.value);
  return {
    obstacles: [...forecasts.flatMap(neverText), ...forecasts.flatMap(unknownText), ...severalLines(forecasts)],
    warnings: unplaced,
    notes: forecasts.flatMap(each => noteText(each, pendingOf(each, pending, read.value))),
    blocked: { ...blockedBy(forecasts), why: neverEvicted(pods, read.value) },
    budgets: read.value,
    knowsVolumes,
  };
}

function blockedBy(forecasts: readonly BudgetForecast[]): Omit<BlockedPods, 'why'> {
  let pods = 0;
  const budgets = new Set<string>();
  for (const each of forecasts) {
    if (each.kind === 'never') {
      pods += each.pods;
      budgets.add(each.budget);
    } else if (each.kind === 'several') {
      pods++;
      const namespace = each.pod.slice(0, each.pod.indexOf('/'));
      for (const name of each.budgets) budgets.add(`${namespace}/${name}`);
    }
  }
  return { pods, budgets: [...budgets] };
}

function neverText(forecast: BudgetForecast): string[] {
  if (forecast.kind !== 'never') return [];
  const { budget, pods, why } = forecast;
  return [
    `PodDisruptionBudget ${budget} never allows an eviction: ${why}; ${plural(pods, 'pod')} would not be evicted: add replicas, change the budget, or use --disable-eviction`,
  ];
}

function severalLines(forecasts: readonly BudgetForecast[]): string[] {
  return groupByOutcome(
    forecasts.flatMap(forecast => {
      if (forecast.kind !== 'several') return [];
      const budgets = forecast.budgets.join(', ');
      const what = `the server evicts no pod with more than one PodDisruptionBudget (${budgets}); keep one of them, or use --disable-eviction`;
      return [{ what, pod: forecast.pod }];
    }),
  );
}

/** The server refuses evictions of pods with such a budget. */
function unknownText(forecast: BudgetForecast): Warning[] {
  if (forecast.kind !== 'unknown') return [];
  const { budget, pods, why } = forecast;
  const reason = why === undefined ? '' : ` (${why})`;
  const [namespace, name] = budget.split('/');
  return [
    {
      message: `PodDisruptionBudget ${budget} has no current status${reason} and allows no eviction without a status; ${plural(pods, 'pod')} would wait`,
      next: `see \`kubectl describe poddisruptionbudget ${name} -n ${namespace}\`, or use --disable-eviction`,
    },
  ];
}

/** Pods counted by the budget that would stay Pending: the budget waits until they are Ready again. */
function pendingOf(forecast: BudgetForecast, pending: readonly UnplacedPod[], budgets: readonly Budget[]): number {
  if (forecast.kind !== 'waits' || pending.length === 0) return 0;
  const budgetsOf = budgetMatcher(budgets);
  const isCovered = ({ pod }: UnplacedPod) =>
    budgetsOf(pod).some(({ name }) => `${pod.namespace}/${name}` === forecast.budget);
  return pending.filter(isCovered).length;
}

function noteText(forecast: BudgetForecast, pending: number): string[] {
  if (forecast.kind !== 'waits') return [];
  const { budget, pods, allowed, unready = 0 } = forecast;
  const waits =
    pending === 0
      ? 'the drain waits until the budget allows more'
      : `${pending} of the evicted pods would stay Pending, so the budget may never allow more`;
  const remedy = unready === 0 ? waits : unreadyText(unready);
  return [`PodDisruptionBudget ${budget} allows ${allowed} of ${plural(pods, 'pod')} to be evicted now; ${remedy}`];
}

/** The budget allows fewer evictions while pods are not Ready. */
function unreadyText(unready: number): string {
  const are = unready === 1 ? '1 is' : `${unready} are`;
  return `${are} not Ready: the drain waits until they are Ready; to evict them, set unhealthyPodEvictionPolicy: AlwaysAllow in the budget, or use --disable-eviction`;
}

// Pods that no other node takes, by nodeSelector, node affinity, tolerations and the location of their volumes.

interface UnplacedPod {
  pod: DrainPod;
  why: keyof typeof REASONS;
}

const REASONS = {
  'no nodes': 'because every other node is cordoned or not Ready',
  'no match': 'because no other schedulable node matches their nodeSelector and node affinity',
  taints: 'because they do not tolerate the taints of the other schedulable nodes that match',
  volumes: 'because their volumes are not reachable from another suitable node',
};

/** Of the pods that a controller recreates with the same claims, except ephemeral volumes. @param others not drained */
function unplacedPods(
  pods: readonly DrainPod[],
  others: readonly Node[],
  storage: Pick<Storage, 'claims' | 'volumes'> | undefined,
): UnplacedPod[] {
  const nodes = others.filter(({ ready, unschedulable }) => ready && !unschedulable);
  // All pods of one template have the same result, except for their volumes.
  const known = new Map<string, UnplacedPod['why'] | undefined>();
  const whyOf = ({ placement, namespace, claims = [] }: DrainPod) => {
    const volumes = storage === undefined ? [] : claims.flatMap(name => volumeOf(`${namespace}/${name}`, storage));
    const key = JSON.stringify([placement, ...volumes.map(({ name }) => name)]);
    if (!known.has(key)) known.set(key, whyUnplaced(placement, nodes) ?? whyNoVolume(placement, volumes, nodes));
    return known.get(key);
  };
  return pods.flatMap(pod => {
    if (!isMoving(pod)) return [];
    const why = whyOf(pod);
    return why === undefined ? [] : [{ pod, why }];
  });
}

/** Reads nothing if no moving pod has a claim. `isRefused`: the volumes could not be read. */
async function volumesOf(
  pods: readonly DrainPod[],
  read: DrainOptions['volumes'],
): Promise<{ storage?: Pick<Storage, 'claims' | 'volumes'>; isRefused: boolean }> {
  const claiming = pods.filter(pod => isMoving(pod) && pod.claims !== undefined);
  if (claiming.length === 0) return { isRefused: false };
  const answer = await valueOrRefusal(() => read(new Set(claiming.map(({ namespace }) => namespace))));
  return 'value' in answer ? { storage: answer.value, isRefused: false } : { isRefused: true };
}

/** Pods that tolerate the cordon return to the drained node. */
function isMoving(pod: DrainPod): boolean {
  return isRecreated(pod) && !toleratesCordon(pod.placement);
}

function volumeOf(name: string, { claims, volumes }: Pick<Storage, 'claims' | 'volumes'>): Volume[] {
  const claim = claims.get(name);
  const volume = claim?.isBound ? volumes.get(claim.volumeName) : undefined;
  return volume === undefined ? [] : [volume];
}

function whyNoVolume(placement: PodPlacement, volumes: readonly Volume[], nodes: readonly Node[]) {
  if (volumes.length === 0) return undefined;
  const isTaking = (node: Node) =>
    isMatching(placement, node) &&
    untoleratedTaints(node, placement.tolerations) === undefined &&
    volumes.every(volume => isWithin(volume, node));
  return nodes.some(isTaking) ? undefined : 'volumes';
}

/** A line for each reason. @param isGradual until the last node is cordoned, nodes cordoned later accept pods */
function unplacedLines(unplaced: readonly UnplacedPod[], isGradual: boolean): string[] {
  const ofNodes = isGradual ? ' once all nodes of the drain are cordoned' : '';
  const lines = unplaced.map(({ pod, why }) => {
    const when = why === 'volumes' ? ' until nodes of the drain are uncordoned' : ofNodes;
    return { what: `pods will stay Pending${when}, ${REASONS[why]}`, pod: podName(pod) };
  });
  return groupByOutcome(lines);
}
