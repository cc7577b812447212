/** Rollouts under random events: specs that change, nodes that fail, time that passes, processes that are killed. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createLimiter } from '../../../src/controller/limiter.ts';
import { scaled } from '../../../src/nodepool/rollout-step.ts';
import { FINALIZER, type Node, type NodePool, type RolloutStrategy } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/cluster-state.ts';
import { patchedNode } from '../../../src/reconciler/node-plan.ts';
import { PoolNodes } from '../../../src/reconciler/pool-nodes.ts';
import type { ClusterPort, NodePatch, NodeWrite } from '../../../src/reconciler/ports.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
import { property } from './property.ts';

const ROLE = { 'node-role.kubernetes.io/worker': '' };
const START = Date.parse('2026-05-01T12:00:00Z');
const SETTLE_MS = 60_000;
/** What a node may need longer: its times have whole seconds. */
const MARGIN_MS = 3_000;

class Killed extends Error {}

/** Nodes, and one process after the other that reconciles them. */
class Simulation {
  readonly strategy: RolloutStrategy;
  readonly live = new Map<string, Node>();
  /** Milliseconds since START. */
  passed = 0;
  version = 10;
  spec = 0;
  /** Writes until the process is killed. */
  left = Number.POSITIVE_INFINITY;
  onWrite = () => {};
  /** Which spec is on its way to which node. */
  readonly #sent = new Map<string, number>();
  #process: { state: ClusterState; nodes: PoolNodes } | undefined;
  /** Names of the nodes that the current spec was rolled out to. */
  readonly changed = new Set<string>();
  /** Of these, the nodes that are NotReady, and were Ready when they were changed. */
  readonly failed = new Set<string>();
  /** The last change of each node by a rollout, and whether the node has settled at some time since. */
  readonly #changes = new Map<string, { at: number; wasReady: boolean; hasSettled: boolean }>();
  /** When each node turned Ready or NotReady, to the millisecond. */
  readonly #turned = new Map<string, number>();

  constructor(strategy: RolloutStrategy, count: number) {
    this.strategy = strategy;
    for (let at = 0; at < count; at++) {
      const name = `n${String(at).padStart(2, '0')}`;
      this.live.set(name, aNode({ name, uid: name, labels: ROLE, readySince: START / 1000 - 1e6 }));
    }
  }

  get now(): number {
    return START + this.passed;
  }

  get limit(): number {
    return scaled(this.strategy.maxConcurrent, this.live.size) ?? Number.POSITIVE_INFINITY;
  }

  get pool(): NodePool {
    const spec = { labels: { tier: `t${this.spec}` }, rollout: this.strategy };
    const metadata = { finalizers: [FINALIZER], generation: this.spec + 1, resourceVersion: String(++this.version) };
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
    this.#process?.state.removeNode(name, node.uid);
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
      if ((isDead || this.live.get(name)?.ready) && this.now - since >= SETTLE_MS) change.hasSettled = true;
    }
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
    await this.#process.nodes.apply('worker', outcome).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
      this.#process = undefined;
    });
    // Requests of a killed process are not stored.
    await new Promise(resolve => setImmediate(() => setImmediate(resolve)));
    assert.equal(this.#sent.size, 0);
  }

  #start() {
    const state = new ClusterState([this.pool], this.live.values(), []);
    const cluster = {
      nodes: {
        get: async (name: string) => this.live.get(name),
        patch: (name: string, patch: NodePatch) => this.#patch(name, patch, () => this.#process?.state === state),
      },
    } as unknown as ClusterPort;
    const nodes = new PoolNodes({
      cluster,
      state,
      limitObjects: createLimiter(4),
      sleep: async () => {},
      dryRun: false,
      clock: new FakeClock(),
      now: () => new Date(this.now),
      isFollowed: true,
    });
    return { state, nodes };
  }

  async #patch(name: string, patch: NodePatch, isAlive: () => boolean): Promise<NodeWrite> {
    const before = this.live.get(name);
    if (before === undefined || this.left <= 0 || !isAlive()) throw new Killed();
    if (before.record !== undefined) this.#check(name);
    this.#sent.set(name, this.spec);
    // Requests overlap.
    await new Promise(resolve => setImmediate(resolve));
    this.#sent.delete(name);
    if (this.left <= 0 || !isAlive()) throw new Killed();
    const current = this.live.get(name);
    if (current === undefined || patch.resourceVersion !== current.resourceVersion) return { kind: 'conflict' };
    const after = { ...patchedNode(current, patch), resourceVersion: String(++this.version) };
    this.live.set(name, after);
    if (before.record !== undefined)
      this.#changes.set(name, { at: this.now, wasReady: after.ready, hasSettled: false });
    if (before.record !== undefined && after.labels.tier === `t${this.spec}`) this.changed.add(name);
    if (--this.left <= 0) throw new Killed();
    this.onWrite();
    return { kind: 'written', node: after };
  }

  /** What must hold when a change is sent. */
  #check(name: string): void {
    assert.deepEqual([...this.failed], [], `${name} is changed after a failure`);
    const canary = scaled(this.strategy.canary, this.live.size) ?? 0;
    const unsettled = new Set(this.unsettled());
    const settled = [...this.changed].filter(each => !unsettled.has(each)).length;
    const current = [...this.#sent].flatMap(([each, spec]) => (spec === this.spec ? each : []));
    const all = new Set([...this.changed, ...current, name]).size;
    if (all > canary) assert.ok(settled >= canary, 'the canary has not settled');
    if (unsettled.has(name)) return;
    const count = new Set([...unsettled, ...this.#sent.keys(), name]).size;
    assert.ok(count <= this.limit, `${count} in flight, and ${this.limit} are allowed`);
  }
}

type Event =
  | { kind: 'wait'; ms: number }
  | { kind: 'delete'; at: number }
  /** during: at the write of that number. */
  | { kind: 'reconcile'; killAfter: number; during: Change; at: number }
  | Change;
type Change = { kind: 'ready' | 'not ready'; at: number } | { kind: 'edit' } | { kind: 'none' };

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('ready' as const, 'not ready' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('edit' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('none' as const) }) },
);
const reconcile = (killAfter: fc.Arbitrary<number>) =>
  fc.record({ kind: fc.constant('reconcile' as const), killAfter, during: change, at: fc.integer({ min: 1, max: 4 }) });
const ms = fc.oneof(fc.integer({ min: 1, max: 90_000 }), fc.integer({ min: SETTLE_MS - 999, max: SETTLE_MS + 999 }));
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: reconcile(fc.constant(1e9)) },
  { weight: 2, arbitrary: reconcile(fc.integer({ min: 1, max: 4 })) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms }) },
  { weight: 4, arbitrary: change },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fc.nat() }) },
);
const count = (least: number) =>
  fc.oneof(
    fc.integer({ min: least, max: 6 }),
    fc.integer({ min: least, max: 100 }).map(percent => `${percent}%`),
  );

property(
  'never more than maxConcurrent in flight, the canary first, nothing after a failure; and in the end all are updated',
  fc.asyncProperty(
    fc.integer({ min: 1, max: 14 }),
    count(1),
    count(0),
    fc.array(event, { maxLength: 40 }),
    async (nodes, maxConcurrent, canary, events) => {
      const simulation = new Simulation({ maxConcurrent, canary, settleSeconds: SETTLE_MS / 1000 }, nodes);
      await simulation.reconcile(1e9);
      assert.deepEqual(simulation.unsettled(), [], 'nodes that join are not in flight');
      simulation.edit();
      const names = [...simulation.live.keys()];
      const happens = (each: Change) => {
        if (each.kind === 'edit') simulation.edit();
        if (each.kind === 'edit' || each.kind === 'none') return;
        simulation.turn(names[each.at % names.length] ?? '', each.kind === 'ready');
      };
      for (const each of events) {
        if (each.kind === 'wait') simulation.passed += each.ms;
        else if (each.kind === 'delete') simulation.remove(names[each.at % names.length] ?? '');
        else if (each.kind === 'reconcile') {
          let writes = 0;
          await simulation.reconcile(each.killAfter, () => {
            if (++writes === each.at) happens(each.during);
          });
        } else happens(each);
      }
      for (const name of names) simulation.turn(name, true);
      for (let at = 0; at < nodes + 3; at++) {
        simulation.passed += SETTLE_MS + MARGIN_MS;
        await simulation.reconcile(1e9);
      }
      for (const { labels } of simulation.live.values()) assert.equal(labels.tier, `t${simulation.spec}`);
    },
  ),
  500,
);
