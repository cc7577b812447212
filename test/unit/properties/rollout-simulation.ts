/** Nodes of a pool with spec.rollout, and the rules for each write, checked by the events and not by the records. */
import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { createLimiter } from '../../../src/controller/limiter.ts';
import type { ClusterPort, NodePatch, NodeWrite } from '../../../src/kube/cluster.ts';
import { defined } from '../../../src/nodepool/json.ts';
import { scaled } from '../../../src/nodepool/rollout/rollout-step.ts';
import { timestamp } from '../../../src/nodepool/timestamp.ts';
import {
  FINALIZER,
  type Node,
  type NodePool,
  type NodePoolSpec,
  RESUMED_ANNOTATION,
  type RolloutStrategy,
  type Taint,
} from '../../../src/nodepool/types.ts';
import { patchedNode } from '../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import type { NodeWriter } from '../../../src/reconciler/write/node-writer.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
import { aNodeWriter } from '../reconciler/reconciler-options.ts';
import { SimulatedPods } from './simulated-pods.ts';

const ROLE = { 'node-role.kubernetes.io/worker': '' };
const START = Date.parse('2026-05-01T12:00:00Z');
export const SETTLE_MS = 60_000;
/** What a node may need longer: its times have whole seconds. */
export const MARGIN_MS = 3_000;
const KEY = 'dedicated';

class Killed extends Error {}

/** Nodes, and one process after the other that reconciles them. */
export class Simulation {
  readonly strategy: RolloutStrategy;
  /** The spec has another NoExecute taint each time, and `noExecute: Drain`. */
  readonly drains: boolean;
  readonly pods = new SimulatedPods(
    () => this.now,
    node => this.#checkLook(node),
  );
  readonly live = new Map<string, Node>();
  /** Milliseconds since START. */
  passed = 0;
  version = 10;
  spec = 0;
  /** Writes until the process is killed. */
  left = Number.POSITIVE_INFINITY;
  resumed: Date | undefined;
  onWrite = () => {};
  readonly #clock = new FakeClock();
  /** Which spec is on its way to which node. */
  readonly #sent = new Map<string, number>();
  /** Nodes that have joined, and are drained for that: they take no turn. */
  readonly #joining = new Set<string>();
  #process: { state: ClusterState; nodes: NodeWriter } | undefined;
  /** Names of the nodes that the current spec was rolled out to. */
  readonly changed = new Set<string>();
  /** Of these, the nodes that are NotReady, and were Ready when they were changed. */
  readonly failed = new Set<string>();
  /** The last change of each node by a rollout, and whether the node has settled at some time since. */
  readonly #changes = new Map<string, { at: number; spec: string; wasReady: boolean; hasSettled: boolean }>();
  /** When each node turned Ready or NotReady, to the millisecond. */
  readonly #turned = new Map<string, number>();

  constructor(strategy: RolloutStrategy, count: number, drains = false) {
    this.strategy = strategy;
    this.drains = drains;
    for (let at = 0; at < count; at++) {
      const name = `n${String(at).padStart(2, '0')}`;
      const node = aNode({ name, uid: name, labels: ROLE, readySince: START / 1000 - 1e6 });
      this.live.set(name, node);
      this.pods.sees(node);
    }
  }

  passes(ms: number): void {
    this.passed += ms;
    this.#clock.freeze(ms);
    this.pods.passes();
  }

  get now(): number {
    return START + this.passed;
  }

  get limit(): number {
    return scaled(this.strategy.maxConcurrent, this.live.size) ?? Number.POSITIVE_INFINITY;
  }

  get pool(): NodePool {
    const value = `t${this.spec}`;
    const drain: NodePoolSpec = { noExecute: 'Drain', taints: [{ key: KEY, value, effect: 'NoExecute' }] };
    const spec = { labels: { tier: value }, rollout: this.strategy, ...(this.drains ? drain : {}) };
    const resumed = this.resumed && { [RESUMED_ANNOTATION]: timestamp(this.resumed) };
    const metadata = {
      finalizers: [FINALIZER],
      generation: this.spec + 1,
      resourceVersion: String(++this.version),
      ...defined({ annotations: resumed }),
    };
    return aPool(spec, metadata);
  }

  set(name: string, node: Partial<Node>): void {
    const before = this.live.get(name);
    if (before === undefined) return;
    const after = { ...before, ...node, resourceVersion: String(++this.version) };
    this.live.set(name, after);
    this.#process?.state.setNode(after);
  }

  turn(name: string, ready: boolean): void {
    if (this.live.get(name)?.ready === ready) return;
    this.#look();
    if (ready) this.failed.delete(name);
    else if (this.changed.has(name) && this.#changes.get(name)?.wasReady) this.failed.add(name);
    this.#turned.set(name, this.now);
    // As the server: whole seconds.
    this.set(name, { ready, readySince: Math.floor(this.now / 1000) });
  }

  remove(name: string): void {
    const node = this.live.get(name);
    if (node === undefined || this.live.size === 1) return;
    this.live.delete(name);
    this.changed.delete(name);
    this.failed.delete(name);
    this.#changes.delete(name);
    this.#joining.delete(name);
    this.pods.forget(name);
    this.#process?.state.removeNode(name, node.uid);
  }

  resume(): void {
    this.resumed = new Date(this.now + 1_000);
    this.#process?.state.setPool(this.pool);
  }

  edit(): void {
    this.spec++;
    this.changed.clear();
    this.failed.clear();
    this.#process?.state.setPool(this.pool);
  }

  /** Notes which nodes have settled by now. */
  #look(): void {
    for (const [name, change] of this.#changes) {
      const isDead = !change.wasReady && (this.#turned.get(name) ?? 0) <= change.at;
      const since = Math.max(change.at, isDead ? 0 : (this.#turned.get(name) ?? 0));
      if (this.#isDraining(name)) continue;
      // It was broken by another spec, which keeps no place for longer than others.
      const isFormer = change.spec !== `t${this.spec}` && !this.live.get(name)?.ready;
      if (isFormer && this.now - change.at >= SETTLE_MS) change.hasSettled = true;
      if ((isDead || this.live.get(name)?.ready) && this.now - since >= SETTLE_MS) change.hasSettled = true;
    }
  }

  /** It has the label of a spec, and not yet its taint. */
  #isDraining(name: string): boolean {
    const { labels, taints } = this.live.get(name) ?? aNode();
    const isOf = ({ effect, value }: Taint) => effect === 'NoExecute' && value === labels.tier;
    return this.drains && labels.tier !== undefined && !taints.some(isOf);
  }

  /** Changed, and not Ready for SETTLE_MS since: by what happened, not by what the records say. */
  unsettled(): string[] {
    this.#look();
    return [...this.#changes].flatMap(([name, { hasSettled }]) => (hasSettled ? [] : name));
  }

  /** @param onWrite called after each write */
  async reconcile(killAfter: number, onWrite = () => {}): Promise<void> {
    this.left = killAfter;
    this.onWrite = onWrite;
    this.#process ??= this.#start();
    const outcome = { moves: [], failures: [], unwritten: 0 };
    // The looks of a drain have jitter, and a failure must be repeatable.
    const random = mock.method(Math, 'random', () => 0.5);
    try {
      await this.#process.nodes.apply('worker', outcome).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
        this.#process = undefined;
      });
      // Requests of a killed process are not stored.
      await new Promise(resolve => setImmediate(() => setImmediate(resolve)));
    } finally {
      random.mock.restore();
    }
    assert.equal(this.#sent.size, 0);
  }

  #start() {
    const state = new ClusterState([this.pool], this.live.values(), []);
    const cluster = {
      nodes: {
        serverTime: () => new Date(this.now),
        get: async (name: string) => this.live.get(name),
        patch: (name: string, patch: NodePatch) => this.#patch(name, patch, () => this.#process?.state === state),
      },
      evictions: async () => this.pods,
    } as unknown as ClusterPort;
    const nodes = aNodeWriter(cluster, state, {
      limitObjects: createLimiter(4),
      clock: this.#clock,
      now: () => new Date(this.now),
      hasCaches: true,
    });
    return { state, nodes };
  }

  async #patch(name: string, patch: NodePatch, isAlive: () => boolean): Promise<NodeWrite> {
    const before = this.live.get(name);
    if (before === undefined || this.left <= 0 || !isAlive()) throw new Killed();
    const isSecond = patchedNode(before, patch).labels.tier === before.labels.tier;
    const isJoin = before.record === undefined || (isSecond && this.#joining.has(name));
    if (!isJoin) {
      this.#check(name);
      this.#sent.set(name, this.spec);
    }
    // Requests overlap.
    await new Promise(resolve => setImmediate(resolve));
    this.#sent.delete(name);
    if (this.left <= 0 || !isAlive()) throw new Killed();
    const current = this.live.get(name);
    if (current === undefined || patch.resourceVersion !== current.resourceVersion) return { kind: 'conflict' };
    const after = { ...patchedNode(current, patch), resourceVersion: String(++this.version) };
    this.pods.assertNoneFor(name, arriving(current, after));
    this.live.set(name, after);
    this.pods.sees(after);
    if (isJoin && this.#isDraining(name)) this.#joining.add(name);
    else this.#joining.delete(name);
    if (!isJoin) {
      // The state before the drain shows what broke the node.
      const wasReady = after.ready || (isSecond && this.#changes.get(name)?.wasReady === true);
      this.#changes.set(name, { at: this.now, spec: after.labels.tier ?? '', wasReady, hasSettled: false });
      if (after.labels.tier === `t${this.spec}`) this.changed.add(name);
    }
    if (--this.left <= 0) throw new Killed();
    this.onWrite();
    return { kind: 'written', node: after };
  }

  /** What must hold when the pods of a node are looked at, to be evicted. */
  #checkLook(name: string): void {
    assert.ok(this.#isDraining(name), `${name} has begun no drain`);
    if (!this.#joining.has(name)) assert.deepEqual([...this.failed], [], `${name} is drained after a failure`);
  }

  /** What must hold when a change is sent. */
  #check(name: string): void {
    assert.deepEqual([...this.failed], [], `${name} is changed after a failure`);
    const ready = [...this.live.values()].filter(each => each.ready).length;
    const all = scaled(this.strategy.canary, this.live.size) ?? 0;
    const canary = ready === 0 ? all : Math.min(all, ready);
    const unsettled = new Set(this.unsettled());
    const isReady = (each: string) => this.live.get(each)?.ready === true;
    const settled = [...this.changed].filter(each => isReady(each) && !unsettled.has(each)).length;
    const current = [...this.#sent].flatMap(([each, spec]) => (spec === this.spec ? each : []));
    const count = new Set([...[...this.changed, ...current].filter(isReady), name]).size;
    // The second write of a drain changes no further node.
    if (!this.changed.has(name) && (count > canary || !isReady(name)))
      assert.ok(settled >= canary, 'the canary has not settled');
    if (unsettled.has(name)) return;
    const inFlight = new Set([...unsettled, ...this.#sent.keys(), name]).size;
    assert.ok(inFlight <= this.limit, `${inFlight} in flight, and ${this.limit} are allowed`);
  }
}

function arriving(before: Node, after: Node): Taint[] {
  const isThere = ({ key, value, effect }: Taint) =>
    before.taints.some(each => each.key === key && each.value === value && each.effect === effect);
  return after.taints.filter(taint => taint.effect === 'NoExecute' && !isThere(taint));
}
