/** `diff -o json|yaml`. */
import { printDocument } from '../../../print/printers.ts';
import { isChanging } from '../../../print/question.ts';
import type { FitReasons } from '../../../scheduling/fit-reasons.ts';
import type {
  DaemonImpact,
  EvictionImpact,
  KeyImpact,
  PodDestination,
  PodsImpact,
  SelectedBy,
} from '../../../scheduling/impact/types.ts';
import type { FoundImpact } from '../impact/find-impact.ts';
import type { AppliedPool } from './applied.ts';
import type { PrintedDiff } from './print-diff.ts';

/** Without the last newline. @param diff no RuntimeClasses if they could not be read; printed as null */
export function printDiff(
  {
    nodes,
    later,
    runtimeClasses,
    pools,
    ...rest
  }: Omit<PrintedDiff, 'runtimeClasses'> & Partial<Pick<PrintedDiff, 'runtimeClasses'>> & { pools?: AppliedPool[] },
  format: 'json' | 'yaml',
  impact?: FoundImpact,
): string {
  const { conflicts, invalid, blocked, rollouts } = rest;
  const changed = nodes.filter(isChanging);
  return printDocument(
    'Diff',
    {
      ...(pools === undefined ? {} : { pools: pools.map(poolOf) }),
      nodes: changed.map(nodeOf),
      later: later.map(({ pausedBy, ...plan }) => ({ ...nodeOf(plan), pausedBy: pausedBy ?? null })),
      runtimeClasses: runtimeClasses?.map(({ name, kind }) => ({ name, action: kind })) ?? null,
      rollouts: rollouts.map(({ pool, nodes: members, pending, settling, failed, next }) => {
        return { pool, nodes: members, pending, settling, failed, next };
      }),
      conflicts,
      invalid,
      circles: blocked.flatMap(({ kind, node, pools }) => (kind === 'circle' ? { node, pools } : [])),
      oversized: blocked.flatMap(({ kind, node }) => (kind === 'oversized' ? node : [])),
      ...(impact === undefined ? {} : { impact: impactData(impact) }),
    },
    format,
  );
}

function poolOf({ pool: { metadata }, source, isNew, changes, kept }: AppliedPool) {
  const fields = changes.map(({ path, from = null, to = null }) => ({ path, from, to }));
  return {
    name: metadata.name,
    source,
    action: isNew ? 'create' : fields.length > 0 ? 'change' : 'none',
    changes: fields,
    kept,
  };
}

function nodeOf({ node, previous, owner, changes, drain }: PrintedDiff['nodes'][number]) {
  const afterEvictions = drain === undefined ? {} : { afterEvictions: drain.changes };
  return { name: node.name, from: previous ?? null, to: owner ?? null, changes, ...afterEvictions };
}

// `impact` of `diff --impact -o json|yaml`.

export function impactData({ impact, isKnown, poolOf, isWellKnownOnly, runtimeClasses }: FoundImpact) {
  return {
    known: isKnown,
    keys: impact.keys.map(
      ({ change, nodes, holders, drain, daemonSets, notAgain, evicted, shutOut, selectedBy }: KeyImpact) => ({
        ...change,
        nodes,
        otherNodes: holders ?? null,
        drain: drain === undefined ? null : { nodes: drain.nodes, closedBy: drain.closedBy ?? null },
        daemonSets: daemonSets.map(daemonData),
        notScheduledAgain: notAgain.map(podsData),
        evicted: evicted.map(podsData),
        shutOut,
        selectedBy: selectedBy.map(selectingData),
      }),
    ),
    daemonSets: impact.daemonSets.map(daemonData),
    notScheduledAgain: impact.notAgain.map(group => ({ ...podsData(group), ...nextData(group.next, poolOf) })),
    evicted: impact.evicted.map(group => evictedData(group, poolOf)),
    podDisruptionBudgets: impact.budgets,
    notJudged: impact.notJudged.map(({ what, pods }) => ({ what, pods: pods.map(podsData) })),
    wellKnownFieldsOnly: isWellKnownOnly,
    changedRuntimeClasses: runtimeClasses.flatMap(({ name, kind }) =>
      kind === 'patch' || kind === 'replace' ? name : [],
    ),
  };
}

function selectingData({ kind, namespace, name, where, isPreferred, isAffected, isPending, isRefused }: SelectedBy) {
  const names = { kind, ...(namespace === '' ? {} : { namespace }), name };
  return {
    ...names,
    where,
    preferred: isPreferred,
    affected: isAffected,
    newPodsPending: isPending,
    newPodsRefused: isRefused,
  };
}

function daemonData({ reasons, ...found }: DaemonImpact) {
  return { ...found, reasons: reasonsData(reasons) };
}

function reasonsData(reasons: FitReasons | undefined) {
  return Object.fromEntries(reasons?.list().map(({ words, nodes }) => [words, nodes]) ?? []);
}

function podsData({ namespace, owner, pods }: PodsImpact) {
  return { namespace, owner: owner ?? null, pods };
}

function evictedData(
  {
    later,
    next,
    mayReturn,
    pendingAfter,
    blockedByBudget,
    failed,
    deletedWithJob,
    afterDrain,
    ...group
  }: EvictionImpact,
  poolOf: PoolOf,
) {
  return {
    ...podsData(group),
    later: later === undefined ? null : { pods: later.pods, minSeconds: later.min, maxSeconds: later.max },
    ...nextData(next, poolOf),
    mayReturn,
    pendingAfter,
    held: blockedByBudget,
    failed,
    deletedWithJob: deletedWithJob ?? null,
    afterDrain:
      afterDrain === undefined
        ? null
        : { canGo: placesData(afterDrain.nodes, poolOf), returns: placesData(afterDrain.returns, poolOf) },
  };
}

type PoolOf = FoundImpact['poolOf'];

function nextData(next: PodDestination | undefined, poolOf: PoolOf) {
  return {
    canGo: next === undefined ? null : placesData(next.nodes, poolOf),
    returns: next === undefined ? null : placesData(next.returns, poolOf),
    returnSeconds: next === undefined || next.returnSeconds === Infinity ? null : next.returnSeconds,
    uncertain: next?.uncertain ?? null,
    contested: next?.isContested ?? null,
    pending: next?.pending ?? null,
    waiting: next?.waiting ?? null,
    reasons: reasonsData(next?.reasons),
  };
}

function placesData(nodes: ReadonlyMap<string, number>, poolOf: PoolOf) {
  return [...nodes].map(([node, pods]) => ({ node, pool: poolOf(node) ?? null, pods }));
}
