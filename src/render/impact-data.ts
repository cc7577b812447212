/** `impact` of `diff --impact -o json|yaml`. */
import type { FoundImpact } from '../operations/impact/find-impact.ts';
import type { Evicted, KeyImpact, PodsImpact } from '../scheduling/impact/types.ts';

export function impactData({ impact, poolOf }: Pick<FoundImpact, 'impact' | 'poolOf'>) {
  return {
    keys: impact.keys.map(({ change, nodes, daemonSets, notAgain, evicted, selectedBy }: KeyImpact) => ({
      ...change,
      nodes,
      daemonSets,
      notScheduledAgain: notAgain.map(podsData),
      evicted: evicted.map(podsData),
      selectedBy: selectedBy.map(({ namespace, ...rest }) => (namespace === '' ? rest : { namespace, ...rest })),
    })),
    daemonSets: impact.daemonSets,
    notScheduledAgain: impact.notAgain.map(podsData),
    evicted: impact.evicted.map(group => evictedData(group, poolOf)),
  };
}

function podsData({ namespace, owner, pods }: PodsImpact) {
  return { namespace, owner: owner ?? null, pods };
}

function evictedData({ later, next, ...group }: Evicted, poolOf: FoundImpact['poolOf']) {
  const places = [...(next?.nodes ?? [])].map(([node, pods]) => ({ node, pool: poolOf(node) ?? null, pods }));
  return {
    ...podsData(group),
    later: later === undefined ? null : { pods: later.pods, minSeconds: later.min, maxSeconds: later.max },
    canGo: next === undefined ? null : places,
    pending: next?.pending ?? null,
    reasons: Object.fromEntries(next?.reasons.list().map(({ words, nodes }) => [words, nodes]) ?? []),
  };
}
