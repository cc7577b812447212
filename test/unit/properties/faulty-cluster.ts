/**
 * A simulated API server: pools, nodes with pods, and RuntimeClasses, on a fake clock.
 *
 * - A request takes time. While `isFaulty`, it may be refused, be lost before the server gets it, or lose its response.
 * - The watch of each kind keeps its order and comes late. The watches of different kinds overtake each other.
 * - Writes are guarded as in src/kube: by resourceVersion, or by UID where the client guards by UID.
 * - A killed process gets no response. Its request may still arrive.
 */
import { sleep } from '../../../src/controller/clock.ts';
import type { ClusterPort, NodePatch, PoolWrite, RemovalResult } from '../../../src/kube/cluster.ts';
import type { DrainPod } from '../../../src/nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { timestamp } from '../../../src/nodepool/timestamp.ts';
import type { Node, NodePool, RuntimeClass } from '../../../src/nodepool/types.ts';
import type { EventHandlers } from '../../../src/reconciler/event-handlers.ts';
import { patchedNode } from '../../../src/reconciler/plan/node-plan.ts';
import type { Dice } from '../../e2e/dice.ts';
import { NO_HISTORY } from '../../override.ts';
import type { FakeClock } from '../controller/fake-clock.ts';
import { pod } from '../reconciler/drained.ts';

/** What a watch delivers to: the event handlers of one process, until it is killed. */
export interface Watcher {
  isAlive: boolean;
  handlers: Pick<EventHandlers, 'pool' | 'node' | 'runtimeClass'>;
}

type Kind = 'pool' | 'node' | 'runtimeClass';
type Guarded = { metadata: { name: string; uid?: string | undefined; resourceVersion?: string | undefined } };

export class FaultyCluster {
  readonly pools = new Map<string, NodePool>();
  readonly nodes = new Map<string, Node>();
  readonly classes = new Map<string, RuntimeClass>();
  isFaulty = true;
  watcher: Watcher | undefined;
  /** The server's time as the client knows it: at its last response, and behind by up to a second. */
  readonly serverTime = (): Date =>
    new Date(this.#clock.wall().getTime() - this.#random.upTo(1_000 + (this.isFaulty ? this.#skewMs : 0)));
  readonly #clock: FakeClock;
  readonly #random: Dice;
  readonly #history: (line: string) => void;
  readonly #skewMs: number;
  readonly #faultRate: number;
  /** When the last event of each watch is delivered. */
  readonly #delivered: Record<Kind, number> = { pool: 0, node: 0, runtimeClass: 0 };
  /** Of each node: when an evicted pod is gone, in milliseconds of the clock, by UID. */
  readonly #pods = new Map<string, Map<string, number>>();
  #version = 100;
  #uids = 0;

  constructor(clock: FakeClock, random: Dice, history: (line: string) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#skewMs = random.pick([0, 0, 3_000]);
    this.#faultRate = random.pick([0.01, 0.06, 0.2]);
  }

  newUid(): string {
    return `u${++this.#uids}`;
  }

  /** As after a create or update. A pool that is being deleted and has no finalizer is gone. */
  storePool(pool: NodePool): NodePool {
    const stored = { ...pool, metadata: { ...pool.metadata, resourceVersion: this.#nextVersion() } };
    const { name, uid = '', resourceVersion, deletionTimestamp, finalizers = [] } = stored.metadata;
    const item = { key: name, uid, resourceVersion, object: stored };
    if (deletionTimestamp !== undefined && finalizers.length === 0) {
      this.pools.delete(name);
      this.#emit('pool', handlers => handlers.pool({ type: 'deleted', tombstone: { kind: 'final', item } }));
    } else {
      this.pools.set(name, stored);
      this.#emit('pool', handlers => handlers.pool({ type: 'added', item }));
    }
    return stored;
  }

  storeNode(node: Node): Node {
    const stored = { ...node, resourceVersion: this.#nextVersion() };
    this.nodes.set(node.name, stored);
    const item = { key: node.name, uid: node.uid, resourceVersion: stored.resourceVersion, object: stored };
    this.#emit('node', handlers => handlers.node({ type: 'added', item }));
    return stored;
  }

  removeNode(name: string): void {
    const object = this.nodes.get(name);
    if (object === undefined) return;
    this.nodes.delete(name);
    this.#pods.delete(name);
    const item = { key: name, uid: object.uid, resourceVersion: this.#nextVersion(), object };
    this.#emit('node', handlers => handlers.node({ type: 'deleted', tombstone: { kind: 'final', item } }));
  }

  addPods(node: string, count: number): void {
    this.#pods.set(node, new Map(Array.from({ length: count }, () => [this.newUid(), Number.POSITIVE_INFINITY])));
  }

  /** The clients of the process to which this watcher belongs. */
  clientsOf(process: Watcher): ClusterPort {
    const request = <T>(what: string, work: () => T) => this.#request(process, what, work);
    const writePool = (what: string, pool: NodePool, change: (live: NodePool) => NodePool): Promise<PoolWrite> =>
      request(`${what} of pool ${pool.metadata.name}`, () => {
        const live = this.pools.get(pool.metadata.name);
        if (live === undefined) return { kind: 'gone' };
        if (live.metadata.resourceVersion !== pool.metadata.resourceVersion) return { kind: 'conflict' };
        return { kind: 'written', pool: this.storePool(change(live)) };
      });
    const clients = {
      isDryRun: false,
      rules: {},
      nodes: {
        serverTime: this.serverTime,
        list: () => request('list of nodes', () => [...this.nodes.values()]),
        get: (name: string) => request(`get of node ${name}`, () => this.nodes.get(name)),
        fieldManager: async () => undefined,
        patch: (name: string, patch: NodePatch) =>
          request(`patch of node ${name}`, () => {
            const live = this.nodes.get(name);
            if (live === undefined) return { kind: 'gone' };
            if (live.resourceVersion !== patch.resourceVersion) return { kind: 'conflict' };
            return { kind: 'written', node: this.storeNode(patchedNode(live, patch)) };
          }),
      },
      pools: {
        getCoerced: (name: string) => request(`get of pool ${name}`, () => this.pools.get(name)),
        fieldManager: async () => undefined,
        setFinalizers: (pool: NodePool, finalizers: string[]) =>
          writePool('finalizers', pool, live => ({ ...live, metadata: { ...live.metadata, finalizers } })),
        annotate: (pool: NodePool, key: string, value: string | undefined) =>
          writePool('annotation', pool, live => {
            const { [key]: _, ...others } = live.metadata.annotations ?? {};
            const annotations = value === undefined ? others : { ...others, [key]: value };
            return { ...live, metadata: { ...live.metadata, annotations } };
          }),
        patchStatus: (pool: NodePool, status: NonNullable<NodePool['status']>) =>
          writePool('status', pool, live => ({ ...live, status })),
      },
      runtimeClasses: this.#runtimeClasses(request),
      revisions: NO_HISTORY,
      createEvent: async () => {},
      evictions: async () => ({
        budgets: () => request('list of budgets', () => []),
        hasDaemonSet: async () => false,
        podsOn: (node: string) => request(`pods on ${node}`, () => this.#podsOn(node)),
        evict: (pod: DrainPod) => request(`eviction of ${pod.uid}`, () => this.#evict(pod.uid)),
      }),
    };
    return clients as unknown as ClusterPort;
  }

  #runtimeClasses(request: <T>(what: string, work: () => T) => Promise<T>) {
    const guarded = (what: string, { metadata }: Guarded, work: (live: RuntimeClass) => unknown) =>
      request(`${what} of RuntimeClass ${metadata.name}`, () => {
        const live = this.classes.get(metadata.name);
        return live === undefined ? undefined : work(live);
      });
    return {
      get: (name: string) => request(`get of RuntimeClass ${name}`, () => this.classes.get(name)),
      create: (made: RuntimeClass) =>
        request(`create of RuntimeClass ${made.metadata.name}`, () =>
          this.classes.has(made.metadata.name)
            ? { kind: 'exists' }
            : { kind: 'created', runtimeClass: this.#storeClass(made, this.newUid()) },
        ),
      patch: async (known: RuntimeClass, scheduling: NonNullable<RuntimeClass['scheduling']>) =>
        (await guarded('patch', known, live => {
          if (live.metadata.resourceVersion !== known.metadata.resourceVersion) return { kind: 'conflict' };
          return { kind: 'written', runtimeClass: this.#storeClass({ ...live, scheduling }, live.metadata.uid ?? '') };
        })) ?? { kind: 'gone' },
      delete: async (known: RuntimeClass) =>
        (await guarded('delete', known, live => {
          if (live.metadata.uid !== known.metadata.uid) return 'conflict';
          this.#removeClass(live);
          return 'deleted';
        })) ?? 'gone',
    };
  }

  #storeClass(object: RuntimeClass, uid: string): RuntimeClass {
    const resourceVersion = this.#nextVersion();
    const { name } = object.metadata;
    const stored = { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
    this.classes.set(name, stored);
    const item = { key: name, uid, resourceVersion, object: stored };
    this.#emit('runtimeClass', handlers => handlers.runtimeClass({ type: 'added', item }));
    return stored;
  }

  #removeClass(object: RuntimeClass): void {
    const { name, uid = '' } = object.metadata;
    this.classes.delete(name);
    const item = { key: name, uid, resourceVersion: this.#nextVersion(), object };
    this.#emit('runtimeClass', handlers =>
      handlers.runtimeClass({ type: 'deleted', tombstone: { kind: 'final', item } }),
    );
  }

  #podsOn(node: string): DrainPod[] {
    const running = [...(this.#pods.get(node) ?? [])].filter(([, goneAt]) => goneAt > this.#clock.now());
    const creationTimestamp = '2025-01-01T00:00:00Z';
    return running.map(([uid, goneAt]) => {
      const deletion = Number.isFinite(goneAt) ? { deletionTimestamp: timestamp(this.#clock.wall()) } : {};
      return pod(uid, { uid, creationTimestamp, ...deletion });
    });
  }

  /** A server that is busy may have evicted the pod. */
  #evict(uid: string): RemovalResult {
    for (const pods of this.#pods.values()) {
      const goneAt = this.#clock.now() + 100 + this.#random.upTo(3_000);
      if (pods.has(uid)) pods.set(uid, Math.min(pods.get(uid) ?? goneAt, goneAt));
    }
    return this.#random.chance(0.2) ? { kind: 'busy', afterMs: 1_000, message: 'busy' } : { kind: 'accepted' };
  }

  /** In the order of the watch. A process that starts later has listed the new state. */
  #emit(kind: Kind, deliver: (handlers: Watcher['handlers']) => void): void {
    const { watcher } = this;
    const now = this.#clock.now();
    const at = Math.max(this.#delivered[kind], now + this.#latency(60, 1_500));
    this.#delivered[kind] = at;
    this.#clock.after(at - now, () => {
      if (watcher?.isAlive) deliver(watcher.handlers);
    });
  }

  async #request<T>(process: Watcher, what: string, work: () => T): Promise<T> {
    await sleep(this.#clock, 1 + this.#latency(30, 800));
    if (!process.isAlive && this.#random.chance(0.5)) return never();
    const fault = this.isFaulty && this.#random.chance(this.#faultRate) ? this.#random.pick(FAULTS) : 'none';
    if (fault === 'refused') throw new NodepoolError('cluster', `${what} is refused`);
    if (fault === 'lost') throw lost(what);
    const result = work();
    this.#history(
      `${what}: ${JSON.stringify(result)?.slice(0, 80)}${fault === 'none' ? '' : ' (its response is lost)'}`,
    );
    await sleep(this.#clock, 1 + this.#latency(30, 800));
    if (!process.isAlive) return never();
    if (fault === 'response lost') throw lost(`response to ${what}`);
    return result;
  }

  /** Milliseconds: one in ten takes long. */
  #latency(usual: number, long: number): number {
    return this.#random.upTo(this.#random.chance(0.1) ? long : usual);
  }

  #nextVersion(): string {
    return String(++this.#version);
  }
}

const FAULTS = ['refused', 'lost', 'response lost'] as const;

function lost(what: string): NodepoolError {
  return new NodepoolError('cluster', `${what} is lost`, undefined, { isGeneral: true, isTransient: true });
}

function never(): Promise<never> {
  return new Promise(() => {});
}
