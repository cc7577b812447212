/** Nodes by rules that only concern the node: computed once per placement, because thousands of owners share a few. */
import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import { evictedAfter } from '../../nodepool/spec/taints.ts';
import { FitReasons } from '../fit-reasons.ts';
import { firstNodeRefusal, nodeNamesIn } from '../node/node-rules.ts';
import type { Snapshot } from '../snapshot.ts';

export interface OpenTo {
  /** Node names. */
  nodes: readonly string[];
  /** Names of nodes whose NoExecute taints evict the pod after some time. */
  returns: readonly string[];
  /** The shortest such time in seconds; Infinity if there is none. */
  returnSeconds: number;
  /** Why the other nodes do not take it. */
  refused: FitReasons;
}

export class OpenNodes {
  readonly #snapshot: Snapshot;
  readonly #byPlacement = new Map<number, OpenTo>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Whether any node takes it, even if only for some time. */
  isAny(placement: PodPlacement): boolean {
    const { nodes, returns } = this.to(placement);
    return nodes.length + returns.length > 0;
  }

  to(placement: PodPlacement): OpenTo {
    const key = this.#snapshot.parts.id(placement);
    const known = this.#byPlacement.get(key);
    if (known !== undefined) return known;
    const named = nodeNamesIn(placement.nodeTerms);
    const [nodes, returns]: [string[], string[]] = [[], []];
    let returnSeconds = Infinity;
    const refused = new FitReasons();
    for (const { node } of this.#snapshot.nodes.values()) {
      const reason = firstNodeRefusal(node, placement, named);
      if (reason !== undefined) {
        refused.add([reason]);
        continue;
      }
      const seconds = evictedAfter(placement.tolerations, node.taints);
      returnSeconds = Math.min(returnSeconds, seconds);
      (seconds === Infinity ? nodes : returns).push(node.name);
    }
    const found = { nodes, returns, returnSeconds, refused };
    this.#byPlacement.set(key, found);
    return found;
  }
}
