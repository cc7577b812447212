/** Random changes of nodes and pools through the model. */
import type { NodePoolSpec, Taint } from '../../src/nodepool/types.ts';
import { role } from '../e2e/test-env.ts';
import { EvictedPods } from './evicted-pods.ts';
import { type Model, taintId } from './model.ts';
import { AGENT_TAINT, reclaim, toggleAgent, upgradeDriver } from './other-software.ts';
import type { Random } from './random.ts';
import { randomSpec, SETUP } from './soak-specs.ts';

const MAX_POOLS = 8;
/** Pods at the start, so that a short soak evicts some, too. */
const MAX_FIRST_PODS = 60;
/** Some pools set one of them. */
const BEFORE = { shared: 'before', theirs: 'x' };
const FOREIGN_TAINT: Taint = { key: 'theirs', effect: 'NoSchedule' };

export class Churn {
  /** How many changes were made. */
  made = 0;
  /** The handlers that each pool had, in order; undefined without a handler or pool. */
  readonly handlers = new Map<string, (string | undefined)[]>();
  readonly model: Model;
  readonly pods: EvictedPods;
  readonly #random: Random;
  /** The pool whose membership label a node has; it may be deleted. */
  readonly #assigned = new Map<string, string>();
  /** Nodes whose machines are being taken: they are NotReady, and deleted later. */
  readonly #reclaimed = new Set<string>();
  #names = 0;

  constructor(model: Model, random: Random) {
    this.model = model;
    this.pods = new EvictedPods(() => model.client);
    this.#random = random;
  }

  /** The start: some pools, nodes spread over them and over none. */
  async prepare(nodes: number): Promise<void> {
    for (let pool = 0; pool < 4; pool++) await this.#createPool();
    const specs = Array.from({ length: nodes }, () => {
      const pool = this.#pick([...this.model.pools.keys(), undefined]);
      const name = this.#name('node');
      if (pool !== undefined) this.#assigned.set(name, pool);
      return {
        name,
        labels: { team: 'theirs', ...this.#size(), ...(pool === undefined ? {} : role(pool)) },
        annotations: BEFORE,
      };
    });
    await this.model.addNodes(...specs);
    await this.pods.prepare();
    for (const { name } of specs.slice(0, MAX_FIRST_PODS)) await this.#bind(name);
  }

  /** One change; most are of nodes, as in a cluster. */
  async step(): Promise<void> {
    const node = this.#pick([...this.model.nodes.keys()]);
    const changes: [weight: number, change: (node: string) => Promise<unknown>][] = [
      [30, name => this.model.heartbeat(name)],
      [20, name => this.#move(name)],
      [15, name => this.#drift(name)],
      [10, name => this.model.label(name, { note: this.#random() < 0.3 ? null : this.#name('note') })],
      [6, name => this.model.label(name, this.#random() < 0.2 ? { size: null } : this.#size())],
      [8, name => this.#toggleTaint(name)],
      [6, name => this.#flap(name)],
      [6, name => toggleAgent(this.model, name)],
      [3, name => upgradeDriver(this.model, name, this.#random)],
      [3, name => this.#reclaim(name)],
      [6, name => this.#start(name)],
      [5, name => this.#replaceNode(name)],
      [8, name => this.#bind(name)],
      [1, () => this.pods.toggle()],
      [6, () => this.#editPool()],
      [2, () => this.#togglePause()],
      [2, () => this.#createPool()],
      [1, () => this.#deletePool()],
    ];
    const change = this.#pick(changes.flatMap(([weight, each]) => new Array<typeof each>(weight).fill(each)));
    if (node !== undefined) await change?.(node);
    this.made += 1;
  }

  /** Recreates all pools, which were deleted with the CRD. */
  async recreatePools(): Promise<void> {
    for (const [name, spec] of [...this.model.pools]) {
      this.#give(name, undefined);
      this.#give(name, spec.handler);
      await this.model.createPool(name, spec);
    }
  }

  /** What a paused pool or a budget keeps from its nodes is due after this, and every node is Ready. */
  async resumeAll(): Promise<void> {
    await this.pods.allow();
    for (const node of [...this.#reclaimed]) await this.#replaceNode(node);
    for (const name of this.model.pools.keys()) await this.#pause(name, false);
  }

  async #bind(node: string): Promise<void> {
    await this.pods.bind(node, this.#random);
  }

  async #togglePause(): Promise<void> {
    const name = this.#pick([...this.model.pools.keys()]);
    if (name !== undefined) await this.#pause(name, this.model.pools.get(name)?.paused !== true);
  }

  async #pause(name: string, paused: boolean): Promise<void> {
    const { paused: before = false, ...spec } = this.model.pools.get(name) ?? {};
    if (before !== paused) await this.model.editPool(name, { ...spec, ...(paused ? { paused } : {}) });
  }

  async #move(node: string): Promise<void> {
    const before = this.#assigned.get(node);
    const to = this.#pick([...this.model.pools.keys(), undefined]);
    if (to === before) return;
    const off = before === undefined ? {} : { [`node-role.kubernetes.io/${before}`]: null };
    await this.model.label(node, { ...off, ...(to === undefined ? {} : role(to)) });
    if (to === undefined) this.#assigned.delete(node);
    else this.#assigned.set(node, to);
  }

  async #drift(node: string): Promise<void> {
    const spec = this.model.pools.get(this.#assigned.get(node) ?? '');
    const value = this.#random() < 0.5 ? null : `drift-${this.made}`;
    const taints = this.#random() < 0.5 ? (spec?.taints ?? []).map(taintId) : [];
    await this.model.drift(node, { tier: value }, taints, { note: value });
  }

  /** A labeller restarts: the node is out of its pool for a moment. */
  async #flap(node: string): Promise<void> {
    const pool = this.#assigned.get(node);
    if (pool === undefined) return;
    await this.model.label(node, { [`node-role.kubernetes.io/${pool}`]: null });
    await this.model.label(node, role(pool));
  }

  /** Every other time it ends an earlier one. */
  async #reclaim(node: string): Promise<void> {
    const [earlier] = this.#reclaimed;
    if (earlier !== undefined && this.#random() < 0.5) return this.#replaceNode(earlier);
    if (this.#reclaimed.has(node)) return;
    this.#reclaimed.add(node);
    await reclaim(this.model, node);
  }

  /** What an agent does: it removes its taint, or reports that it is ready or not. */
  async #start(node: string): Promise<void> {
    if (this.#random() < 0.5) return this.model.removeStartup(node, [taintId(SETUP)]);
    return this.model.report(node, 'AgentReady', this.#random() < 0.6 ? 'True' : 'False');
  }

  async #toggleTaint(node: string): Promise<void> {
    const has = this.model.nodes.get(node)?.taints.some(taint => taintId(taint) === taintId(FOREIGN_TAINT));
    await (has ? this.model.untaint(node, taintId(FOREIGN_TAINT)) : this.model.taint(node, FOREIGN_TAINT));
  }

  /** Deletes a node and creates another one, every other time under the same name. */
  async #replaceNode(name: string): Promise<void> {
    await this.model.removeNode(name);
    await this.pods.forget(name);
    this.#assigned.delete(name);
    this.#reclaimed.delete(name);
    const pool = this.#pick([...this.model.pools.keys(), undefined]);
    const next = this.#random() < 0.5 ? name : this.#name('node');
    if (pool !== undefined) this.#assigned.set(next, pool);
    await this.model.addNodes({
      name: next,
      labels: { team: 'theirs', ...this.#size(), ...(pool === undefined ? {} : role(pool)) },
      annotations: BEFORE,
      taints: [FOREIGN_TAINT, AGENT_TAINT].filter(() => this.#random() < 0.5),
    });
  }

  async #createPool(): Promise<void> {
    if (this.model.pools.size >= MAX_POOLS) return;
    const name = this.#name('pool');
    await this.model.createPool(name, this.#spec(name));
  }

  async #editPool(): Promise<void> {
    const name = this.#pick([...this.model.pools.keys()]);
    if (name !== undefined) await this.model.editPool(name, this.#spec(name));
  }

  async #deletePool(): Promise<void> {
    if (this.model.pools.size <= 2) return;
    const name = this.#pick([...this.model.pools.keys()]);
    if (name === undefined) return;
    this.#give(name, undefined);
    await this.model.deletePool(name);
  }

  #spec(name: string): NodePoolSpec {
    const spec = randomSpec(name, this.#random);
    this.#give(name, spec.handler);
    return spec;
  }

  #size(): Record<string, string> {
    return { size: String(Math.floor(this.#random() * 5)) };
  }

  #give(pool: string, handler: string | undefined): void {
    this.handlers.set(pool, [...(this.handlers.get(pool) ?? []), handler]);
  }

  #name(kind: string): string {
    this.#names += 1;
    return `${kind}-${this.#names}`;
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }
}
