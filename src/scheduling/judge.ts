/** The rules of kube-scheduler 1.36's default profile, in its order and words. What is left out: not-judged.ts. */
import type { Node } from '../nodepool/types.ts';
import {
  judgeAffinity,
  judgeName,
  judgeTaints,
  judgeUnschedulable,
  NAMES_CONFLICT,
  NOT_NAMED,
  namedNodes,
} from './node/node-rules.ts';
import { judgePorts, judgeResources } from './node/resources.ts';
import type { NodeState, Snapshot } from './snapshot.ts';
import { PodAffinity } from './spread/pod-affinity.ts';
import { TopologySpread } from './spread/spread.ts';
import type { PodTraits, UnfitReason } from './types.ts';
import { judgeDisks } from './volumes/storage.ts';
import { PodVolumes } from './volumes/volumes.ts';

/** One pod and a snapshot, of which it reads what concerns all nodes once: a snapshot that changes later needs a new one. */
export class Judge {
  readonly pod: PodTraits;
  /** Every node refuses the pod: the scheduler looks at none. */
  readonly refusal: UnfitReason | undefined;
  readonly volumes: PodVolumes;
  // Computed at the first use: it takes all groups of pods, and is not needed where no node takes the pod anyway.
  #spread: TopologySpread | undefined;
  #affinity: PodAffinity | undefined;
  readonly #snapshot: Snapshot;
  readonly #named: ReadonlySet<string> | undefined;

  constructor(pod: PodTraits, snapshot: Snapshot) {
    this.pod = pod;
    this.#snapshot = snapshot;
    this.#named = namedNodes(pod.placement.nodeTerms);
    this.volumes = new PodVolumes(pod, snapshot);
    this.refusal = gatesRefusal(pod) ?? (this.#named?.size === 0 ? NAMES_CONFLICT : this.volumes.refusal);
  }

  get spread(): TopologySpread {
    this.#spread ??= new TopologySpread(this.pod, this.#snapshot);
    return this.#spread;
  }

  get affinity(): PodAffinity {
    this.#affinity ??= new PodAffinity(this.pod, this.#snapshot);
    return this.#affinity;
  }

  /** All reasons of all rules, in the scheduler's order. Throws if the snapshot has no such node. */
  whyNot(node: string): UnfitReason[] {
    return [...this.#reasons(this.#stateOf(node))];
  }

  /** As the scheduler reports: the reasons of the first rule that fails. */
  firstWhyNot(node: string): UnfitReason[] {
    const state = this.#stateOf(node);
    const reasons: UnfitReason[] = [];
    for (const reason of this.#reasons(state)) {
      if (reasons.length > 0 && reason.rule !== reasons[0]?.rule) break;
      reasons.push(reason);
    }
    return reasons;
  }

  /** Whether the node takes the pod by all rules but resources, spread and pod affinity, which placed replicas change. */
  isAllowed(node: string): boolean {
    if (this.refusal !== undefined) return false;
    const state = this.#stateOf(node);
    for (const reasons of [this.#fixedReasons(state), this.#volumeReasons(state)]) {
      for (const _ of reasons) return false;
    }
    return true;
  }

  /** Counts one more pod of this kind on the node, for spread and pod affinity. */
  place(node: Node): void {
    this.spread.place(node);
    this.affinity.place(node);
  }

  *#reasons(state: NodeState): Generator<UnfitReason> {
    if (this.refusal !== undefined) yield this.refusal;
    yield* this.#fixedReasons(state);
    yield* judgeResources(this.pod.requests, state);
    yield* this.#volumeReasons(state);
    yield* some(this.spread.judge(state.node));
    yield* this.affinity.judge(state.node);
  }

  *#fixedReasons({ node, hostPorts }: NodeState): Generator<UnfitReason> {
    const { placement, nodeName, hostPorts: requested } = this.pod;
    const isNamed = this.#named === undefined || this.#named.has(node.name);
    // The scheduler asks no other rule of a node that is not named.
    if (!isNamed) yield NOT_NAMED;
    yield* some(judgeUnschedulable(node, placement));
    yield* some(judgeName(node, nodeName));
    yield* some(judgeTaints(node, placement.tolerations));
    if (isNamed) yield* some(judgeAffinity(node, placement));
    yield* some(judgePorts(requested, hostPorts));
  }

  *#volumeReasons({ node, disks }: NodeState): Generator<UnfitReason> {
    if (this.pod.disks.length > 0) yield* some(judgeDisks(this.pod.disks, disks));
    if (this.pod.claims.length === 0) return;
    yield* some(this.volumes.judgeUse());
    yield* this.volumes.judge(node);
    yield* some(this.volumes.judgeZone(node));
  }

  #stateOf(node: string): NodeState {
    const state = this.#snapshot.nodes.get(node);
    if (state === undefined) throw new RangeError(`the snapshot has no node ${node}`);
    return state;
  }
}

function gatesRefusal({ gates }: PodTraits): UnfitReason | undefined {
  if (gates.length === 0) return undefined;
  return { rule: 'gates', words: `waiting for scheduling gates: [${gates.join(' ')}]` };
}

function* some(reason: UnfitReason | undefined): Generator<UnfitReason> {
  if (reason !== undefined) yield reason;
}
