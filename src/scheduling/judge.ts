/**
 * The rules of kube-scheduler 1.36's default profile, in its order and wording. Omissions: not-judged.ts. A pod with
 * spec.nodeName bypasses the scheduler: the kubelet's rules apply (pkg/kubelet/lifecycle/predicate.go).
 */
import type { Node } from '../nodepool/types.ts';
import {
  judgeAffinity,
  judgeName,
  judgeNoExecute,
  judgeTaints,
  judgeUnschedulable,
  NAMES_CONFLICT,
  NOT_NAMED,
  nodeNamesIn,
} from './node/node-rules.ts';
import { judgePorts, judgeResources } from './node/resources.ts';
import type { NodeState, Snapshot } from './snapshot.ts';
import { PodAffinity } from './spread/pod-affinity.ts';
import { replicasDiffer } from './spread/replicas.ts';
import { TopologySpread } from './spread/spread.ts';
import type { PodTraits, UnfitReason } from './types.ts';
import { judgeDisks } from './volumes/storage.ts';
import { PodVolumes } from './volumes/volumes.ts';

/** Judges one pod in a snapshot. Facts about all nodes are read once, so a changed snapshot needs a new Judge. */
export class Judge {
  readonly pod: PodTraits;
  /** Every node refuses the pod: the scheduler checks none. */
  readonly refusal: UnfitReason | undefined;
  readonly volumes: PodVolumes;
  // Computed lazily: both need all groups of pods, and are not needed if no node takes the pod anyway.
  #spread: TopologySpread | undefined;
  #affinity: PodAffinity | undefined;
  readonly #snapshot: Snapshot;
  readonly #named: ReadonlySet<string> | undefined;

  constructor(pod: PodTraits, snapshot: Snapshot) {
    this.pod = pod;
    this.#snapshot = snapshot;
    this.#named = nodeNamesIn(pod.placement.nodeTerms);
    this.volumes = new PodVolumes(pod, snapshot);
    this.refusal =
      pod.nodeName !== undefined
        ? (this.volumes.refusal ?? this.volumes.refusalWithoutScheduler)
        : (gatesRefusal(pod) ?? (this.#named?.size === 0 ? NAMES_CONFLICT : this.volumes.refusal));
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

  /** Like the scheduler's report: the reasons of the first rule that fails. */
  firstWhyNot(node: string): UnfitReason[] {
    const state = this.#stateOf(node);
    const reasons: UnfitReason[] = [];
    for (const reason of this.#reasons(state)) {
      if (reasons.length > 0 && reason.rule !== reasons[0]?.rule) break;
      reasons.push(reason);
    }
    return reasons;
  }

  /** Whether the placement of one replica affects the next. */
  get isSelfMatching(): boolean {
    if (this.pod.nodeName !== undefined) return this.volumes.isSelfMatching;
    return this.spread.isSelfMatching || this.affinity.isSelfMatching || this.volumes.isSelfMatching;
  }

  /** Whether the result for one replica says nothing about the next ones. */
  get replicasDiffer(): boolean {
    return this.pod.nodeName === undefined && replicasDiffer(this.pod, this.#snapshot);
  }

  /** Whether all rules allow the node, except resources, spread and pod affinity, which placed replicas change. */
  isAllowed(node: string): boolean {
    if (this.refusal !== undefined) return false;
    const state = this.#stateOf(node);
    for (const reasons of [this.#fixedReasons(state), this.#volumeReasons(state)]) {
      for (const _ of reasons) return false;
    }
    return true;
  }

  /** Counts one more pod of this kind on the node, for spread, pod affinity and volumes. */
  place(node: Node): void {
    this.spread.place(node);
    this.affinity.place(node);
    this.volumes.place(node);
  }

  /** Whether the node still takes the next replica after those placed, ignoring resources. */
  takesNext(node: Node): boolean {
    if (this.pod.nodeName !== undefined) return this.volumes.judge(node).length === 0;
    if (this.spread.judge(node) !== undefined || this.affinity.judge(node).length > 0) return false;
    if (this.pod.claims.length === 0) return true;
    return this.volumes.judge(node).length === 0 && this.volumes.judgeZone(node) === undefined;
  }

  *#reasons(state: NodeState): Generator<UnfitReason> {
    if (this.refusal !== undefined) yield this.refusal;
    yield* this.#fixedReasons(state);
    yield* judgeResources(this.pod.requests, state);
    yield* this.#volumeReasons(state);
    if (this.pod.nodeName !== undefined) return;
    yield* some(this.spread.judge(state.node));
    yield* this.affinity.judge(state.node);
  }

  *#fixedReasons({ node, hostPorts }: NodeState): Generator<UnfitReason> {
    const { placement, nodeName, hostPorts: requested } = this.pod;
    if (nodeName !== undefined) {
      yield* some(judgeName(node, nodeName));
      yield* some(judgeNoExecute(node, placement.tolerations));
      yield* some(judgeAffinity(node, placement));
      yield* some(judgePorts(requested, hostPorts));
      return;
    }
    const isNamed = this.#named === undefined || this.#named.has(node.name);
    // The scheduler does not check affinity on nodes that the terms do not name.
    if (!isNamed) yield NOT_NAMED;
    yield* some(judgeUnschedulable(node, placement));
    yield* some(judgeTaints(node, placement.tolerations));
    if (isNamed) yield* some(judgeAffinity(node, placement));
    yield* some(judgePorts(requested, hostPorts));
  }

  *#volumeReasons({ node, disks }: NodeState): Generator<UnfitReason> {
    if (this.pod.nodeName !== undefined) {
      // The kubelet mounts a volume only on its nodes.
      yield* this.volumes.judge(node);
      return;
    }
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
