/** Random changes of nodes and pools through the model. */
import type { NodePoolSpec, Taint } from '../../src/nodepool/types.ts';
import { role } from '../e2e/test-env.ts';
import { type Model, taintId } from './model.ts';
import type { Random } from './random.ts';

const MAX_POOLS = 8;
export const HANDLERS = ['runc', 'gvisor', 'kata'];
const FOREIGN_TAINT: Taint = { key: 'theirs', effect: 'NoSchedule' };

export class Churn {
  /** How many changes were made. */
  made = 0;
  /** The handlers that each pool had, in order; undefined without a handler or pool. */
  readonly handlers = new Map<string, (string | undefined)[]>();
  readonly model: Model;
  readonly #random: Random;
  /** The pool whose membership label a node has; it may be deleted. */
  readonly #assigned = new Map<string, string>();
  #names = 0;

  constructor(model: Model, random: Random) {
    this.model = model;
    this.#random = random;
  }

  /** The start: some pools, nodes spread over them and over none. */
  async prepare(nodes: number): Promise<void> {
    for (let pool = 0; pool < 4; pool++) await this.#createPool();
    const specs = Array.from({ length: nodes }, () => {
      const pool = this.#pick([...this.model.pools.keys(), undefined]);
      const name = this.#name('node');
      if (pool !== undefined) this.#assigned.set(name, pool);
      return { name, labels: { team: 'theirs', ...(pool === undefined ? {} : role(pool)) } };
    });
    await this.model.addNodes(...specs);
  }

  /** One change; most are of nodes, as in a cluster. */
  async step(): Promise<void> {
    const node = this.#pick([...this.model.nodes.keys()]);
    const changes: [weight: number, change: (node: string) => Promise<void>][] = [
      [30, name => this.model.heartbeat(name)],
      [20, name => this.#move(name)],
      [15, name => this.#drift(name)],
      [10, name => this.model.label(name, { note: this.#random() < 0.3 ? null : this.#name('note') })],
      [8, name => this.#toggleTaint(name)],
      [5, name => this.#replaceNode(name)],
      [6, () => this.#editPool()],
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
    await this.model.drift(node, { tier: value }, this.#random() < 0.5 ? (spec?.taints ?? []).map(taintId) : []);
  }

  async #toggleTaint(node: string): Promise<void> {
    const has = this.model.nodes.get(node)?.taints.some(taint => taintId(taint) === taintId(FOREIGN_TAINT));
    await (has ? this.model.untaint(node, taintId(FOREIGN_TAINT)) : this.model.taint(node, FOREIGN_TAINT));
  }

  /** Deletes a node and creates another one, every other time under the same name. */
  async #replaceNode(name: string): Promise<void> {
    await this.model.removeNode(name);
    this.#assigned.delete(name);
    const pool = this.#pick([...this.model.pools.keys(), undefined]);
    const next = this.#random() < 0.5 ? name : this.#name('node');
    if (pool !== undefined) this.#assigned.set(next, pool);
    await this.model.addNodes({
      name: next,
      labels: { team: 'theirs', ...(pool === undefined ? {} : role(pool)) },
      ...(this.#random() < 0.5 ? { taints: [FOREIGN_TAINT] } : {}),
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
    const handler = this.#pick([...HANDLERS, undefined]);
    this.#give(name, handler);
    const value = String(Math.floor(this.#random() * 3));
    return {
      labels: { tier: `${name}-${value}`, ...(this.#random() < 0.5 ? { [`only-${name}`]: value } : {}) },
      ...(this.#random() < 0.7 ? { taints: [{ key: name, value, effect: 'NoSchedule' }] } : {}),
      ...(handler === undefined ? {} : { handler }),
    };
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
