/** By the rules that ask for the node alone: found once for each placement, as thousands of owners have a few. */
import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import { evictedAfter } from '../../nodepool/spec/taints.ts';
import { FitReasons } from '../fit-reasons.ts';
import { firstNodeRefusal, namedNodes } from '../node/node-rules.ts';
import type { Snapshot } from '../snapshot.ts';

export interface OpenTo {
  /** Names. */
  nodes: readonly string[];
  /** Names of those whose taints with NoExecute evict the pod after a time. */
  returns: readonly string[];
  /** The shortest such time, in seconds; Infinity without one. */
  returnSeconds: number;
  /** Why the others do not take it. */
  refused: FitReasons;
}

export class OpenNodes {
  readonly #snapshot: Snapshot;
  readonly #byPlacement = new Map<number, OpenTo>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Whether any node takes it, if only for a time. */
  isAny(placement: PodPlacement): boolean {
    const { nodes, returns } = this.to(placement);
    return nodes.length + returns.length > 0;
  }

  to(placement: PodPlacement): OpenTo {
    const key = this.#snapshot.parts.id(placement);
    const known = this.#byPlacement.get(key);
    if (known !== undefined) return known;
    const named = namedNodes(placement.nodeTerms);
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
