/** Plans a drain: which nodes and pods, and what stands in the way. Pods that may not be evicted are found before anything is written. */
import type { Budget } from '../../nodepool/drain/budgets.ts';
import { type DrainPod, groupByOutcome, isRecreated, podName } from '../../nodepool/drain/drain-filters.ts';
import { toleratesCordon } from '../../nodepool/drain/placement.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { noun } from '../../nodepool/plural.ts';
import type { Node } from '../../nodepool/types.ts';
import { type Warning, warningText } from '../../nodepool/warning.ts';
import { chooseMembers } from '../shared/cordon/cordon.ts';
import { heldNodes, heldWarnings } from '../shared/cordon/maintenance.ts';
import { readMembers } from '../shared/cordon/pool-members.ts';
import { type BlockedPods, outlookOf } from './drain-outlook.ts';
import { type JudgedPods, type PodOutcome, podReader } from './drain-pods.ts';
import type { DrainOptions } from './options.ts';

export interface DrainPlan {
  pools: PlannedPool[];
  /** About pods that a flag allows to evict, or to leave, and what does not pass by waiting: a line for each. */
  warnings: Warning[];
  /** What the drain will wait for. */
  notes: string[];
  blocked: BlockedPods;
  /** All that could be read; none where no pod is evicted by the Eviction API. */
  budgets: readonly Budget[];
  /** As in Outlook. */
  knowsVolumes: boolean;
  /** The pool that a node belongs to as it is then, by the pools of the plan. */
  ownerOf: (node: Node) => string | undefined;
}

export interface PlannedPool {
  pool: string;
  nodes: PlannedNode[];
  /** Members that are not drained. */
  otherMembers: Node[];
}

export interface PlannedNode {
  node: Node;
  /** Pods to evict. */
  pods: DrainPod[];
  /** UIDs of those that a warning is about. */
  warned: ReadonlySet<string>;
  /** Pods that are terminating for too long to be waited for, as `namespace/name`. */
  terminating?: readonly string[];
  /** It is in the maintenance of somebody else, and is not drained. */
  isLeftAlone?: boolean;
}

/** Writes nothing. Throws when a pool does not exist, a node is no member, or one of the pods may not be evicted. */
export async function planDrain(names: readonly string[], options: DrainOptions): Promise<DrainPlan> {
  const { cluster, cordon, maintenance, disableEviction, isRolling } = options;
  const { members, nodes: all, ownerOf } = await readMembers('drain', names, cluster);
  const chosen = new Set(chooseMembers([...members.values()].flat(), options.nodes, names));
  const others = await heldNodes([...chosen], cordon, maintenance);
  const held = new Set(others.map(({ name }) => name));
  const reader = podReader(options);
  const judged = await Promise.all(
    [...members].flatMap(([pool, nodes]) =>
      nodes
        .filter(node => chosen.has(node) && !held.has(node.name))
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
          .filter(node => chosen.has(node) && held.has(node.name))
          .map(node => ({ node, pods: [], warned: new Set<string>(), isLeftAlone: true })),
      ],
      otherMembers: ofPool.filter(node => !chosen.has(node)),
    })),
    warnings: [
      ...groupByOutcome(judged.flatMap(each => [...each.warnings, ...lastingPods(each, options)])),
      ...obstacles,
      ...warnings,
      ...heldWarnings(others, options.now),
    ],
    ...outlook,
    ownerOf,
  };
}

/** Pods that are there after the drain, or may be. */
function lastingPods({ evict, terminating }: JudgedPods, { rules }: DrainOptions): PodOutcome[] {
  const slow = `not waiting for pods that are terminating for more than ${rules.skipWaitForDeleteSeconds} s`;
  return [
    ...evict
      .filter(pod => isRecreated(pod) && toleratesCordon(pod.placement))
      .map(pod => ({ what: 'these pods tolerate a cordon and may come back', pod: podName(pod) })),
    ...terminating.map(pod => ({ what: slow, pod: podName(pod) })),
  ];
}

/** Names all obstacles in one error, so that a user does not meet them one run after the other. */
function refusedBy(
  refusing: readonly { pool: string; refusals: PodOutcome[] }[],
  obstacles: readonly Warning[],
): NodepoolError {
  const pools = [...new Set(refusing.map(({ pool }) => `"${pool}"`))];
  const refusals = groupByOutcome(refusing.flatMap(({ refusals }) => refusals));
  return new NodepoolError(
    'input',
    `cannot drain ${noun(pools.length, 'nodepool')} ${pools.join(', ')}, and nothing was changed:`,
    'use the flags named above, or remove these pods first',
    { items: [...refusals, ...obstacles.map(warningText)] },
  );
}
