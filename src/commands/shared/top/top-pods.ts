/** The rows of `top --pods`: what each pod requests and uses, compared with what its node has. */
import type { PodLoad, PodUsage } from '../../../kube/resources/pods.ts';
import { type Amounts, ZERO } from '../../../nodepool/quantity/amounts.ts';
import type { Figures, Tally } from '../../../nodepool/quantity/resource-usage.ts';
import type { Node } from '../../../nodepool/types.ts';

export interface TopNode {
  node: Node;
  pool: string | undefined;
  /** Of this node alone. */
  tally: Tally;
}

export interface TopPod {
  pod: PodLoad;
  /** Undefined on a node of no pool. */
  pool: string | undefined;
  /** `allocatable` is that of its node; nothing is `free`. */
  tally: Pick<Tally, 'nodes' | 'figures'>;
}

/**
 * By node in the order given, then by namespace and name; without the pods on other nodes.
 * @param nodes with the resources to show
 */
export function topPods(nodes: readonly TopNode[], pods: readonly PodLoad[], usage: PodUsage | undefined): TopPod[] {
  const byNode = Map.groupBy(pods, ({ node }) => node);
  return nodes.flatMap(({ node, pool, tally }) =>
    (byNode.get(node.name) ?? []).toSorted(byName).map(pod => {
      const used = usage?.kind === 'served' ? usage.byPod.get(`${pod.namespace}/${pod.name}`) : undefined;
      return { pod, pool, tally: { nodes: 0, figures: figuresOf(tally.figures, pod, used) } };
    }),
  );
}

function figuresOf(
  ofNode: ReadonlyMap<string, Figures>,
  { requests, limits }: PodLoad,
  used: Amounts | undefined,
): Map<string, Figures> {
  const figures = new Map<string, Figures>();
  for (const [resource, { allocatable }] of ofNode) {
    // Every pod takes one place, which it does not request.
    if (resource === 'pods') continue;
    const [requested, limit] = [requests.get(resource) ?? ZERO, limits.get(resource) ?? ZERO];
    const its = { allocatable, requested, limits: limit, used: used?.get(resource), free: undefined };
    figures.set(resource, { ...its, maxFree: undefined });
  }
  return figures;
}

function byName(a: PodLoad, b: PodLoad): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}
