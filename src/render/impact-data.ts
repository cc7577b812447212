/** `impact` of `diff --impact -o json|yaml`. */
import type { FoundImpact } from '../operations/impact/find-impact.ts';
import type { Evicted, KeyImpact, PodsImpact, StrandedPods } from '../scheduling/impact/types.ts';

export function impactData({ impact, poolOf }: Pick<FoundImpact, 'impact' | 'poolOf'>) {
  return {
    keys: impact.keys.map(
      ({ change, nodes, holders, drain, daemonSets, notAgain, evicted, selectedBy }: KeyImpact) => ({
        ...change,
        nodes,
        otherNodes: holders ?? null,
        drain: drain === undefined ? null : { nodes: drain.nodes, closedBy: drain.closedBy ?? null },
        daemonSets,
        notScheduledAgain: notAgain.map(strandedData),
        evicted: evicted.map(podsData),
        selectedBy: selectedBy.map(({ namespace, isAffected: affected, isPending: newPodsPending, ...rest }) => ({
          ...(namespace === '' ? {} : { namespace }),
          ...rest,
          affected,
          newPodsPending,
        })),
      }),
    ),
    daemonSets: impact.daemonSets,
    notScheduledAgain: impact.notAgain.map(strandedData),
    evicted: impact.evicted.map(group => evictedData(group, poolOf)),
    podDisruptionBudgets: impact.budgets,
  };
}

function podsData({ namespace, owner, pods }: PodsImpact) {
  return { namespace, owner: owner ?? null, pods };
}

function strandedData({ nowhere, ...group }: StrandedPods) {
  return { ...podsData(group), nowhere };
}

function evictedData({ later, next, held, afterDrain, ...group }: Evicted, poolOf: FoundImpact['poolOf']) {
  const places = (nodes: ReadonlyMap<string, number>) =>
    [...nodes].map(([node, pods]) => ({ node, pool: poolOf(node) ?? null, pods }));
  return {
    ...podsData(group),
    later: later === undefined ? null : { pods: later.pods, minSeconds: later.min, maxSeconds: later.max },
    canGo: next === undefined ? null : places(next.nodes),
    returns: next === undefined ? null : places(next.returns),
    returnSeconds: next === undefined || next.returnSeconds === Infinity ? null : next.returnSeconds,
    pending: next?.pending.length ?? null,
    held,
    afterDrain:
      afterDrain === undefined ? null : { canGo: places(afterDrain.nodes), returns: places(afterDrain.returns) },
    reasons: Object.fromEntries(next?.reasons.list().map(({ words, nodes }) => [words, nodes]) ?? []),
  };
}
