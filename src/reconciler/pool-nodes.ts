/** The nodes of a pool: which of them are written, and what came of it. */
import type { Clock } from '../controller/clock.ts';
import type { Limiter } from '../controller/limiter.ts';
import type { ClusterState } from './cluster-state.ts';
import { attempt, failureOf, holdBack, type WriteFailure } from './failure.ts';
import type { GonePools } from './gone-pools.ts';
import type { MembershipChanges } from './membership-change.ts';
import type { NodeMove } from './node-move.ts';
import { isDue, planOf } from './node-plan.ts';
import { NodeWriteError } from './node-write-error.ts';
import { NodeWriter } from './node-writer.ts';
import type { ClusterPort } from './ports.ts';
import type { WritePace } from './write-pace.ts';

/** Told of node writes as they are decided on and done, whatever came of them. */
export interface NodeProgress {
  planned(nodes: number): void;
  done(): void;
}

export interface PoolNodesOptions {
  cluster: ClusterPort;
  state: ClusterState;
  /** Bounds the requests under way, over all pools together. */
  limit: Limiter;
  sleep: (ms: number) => Promise<void>;
  /** Every write is a dry run. */
  dryRun: boolean;
  clock: Pick<Clock, 'now'>;
  /** See NodeWriter. */
  pace?: WritePace;
  progress?: NodeProgress;
  /** Of a pool that stays and has some of these, no other node is written. */
  changes?: MembershipChanges;
  /** Of pools that stay, only these nodes are written. */
  only?: ReadonlySet<string>;
  /** See NodeWriter. */
  consent?: ReadonlySet<string>;
  /** Once aborted, no further write is sent. */
  signal?: AbortSignal;
}

/** What came of the writes of a pool's nodes is added to it. */
export interface NodeOutcome {
  moves: NodeMove[];
  failures: WriteFailure[];
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
  /** Milliseconds until the first of the nodes that are held back may be written. */
  retryAfterMs?: number;
}

/** When so many writes on end fail in general, the rest is not tried. What is refused may be refused for one node alone. */
const HOPELESS = 10;

export class PoolNodes {
  readonly #options: PoolNodesOptions;
  readonly #writer: NodeWriter;

  constructor(options: PoolNodesOptions) {
    this.#options = options;
    this.#writer = new NodeWriter(options);
  }

  /** See NodeWriter.needsWrite(). */
  needsWrite(node: string): boolean {
    return this.#writer.needsWrite(node);
  }

  /** See GonePools. */
  get gonePools(): GonePools {
    return this.#writer.gonePools;
  }

  /** Writes those of the pool that differ. False where the server was away, so that some of them were not looked at. */
  async apply(pool: string, outcome: NodeOutcome): Promise<boolean> {
    const { limit, progress, signal } = this.#options;
    const meant = this.#written(pool);
    const names = meant.filter(name => this.#writer.needsWrite(name)).toSorted();
    progress?.planned(names.length);
    const [failures, untried]: [WriteFailure[], WriteFailure[]] = [[], []];
    let inVain = 0;
    let isAnswered = true;
    const apply = async (name: string) => {
      if (signal?.aborted) {
        outcome.unwritten++;
        return;
      }
      if (inVain >= HOPELESS) untried.push({ message: `node ${name} was not tried`, node: name });
      else {
        const write = async () => {
          const move = await this.#writer.write(name);
          if (move !== undefined) outcome.moves.push(move);
        };
        const error = await attempt(failures, write, name);
        inVain = error?.isGeneral ? inVain + 1 : 0;
        if (error?.isGeneral || error?.isTransient) isAnswered = false;
        if (error instanceof NodeWriteError) holdBack(error, outcome);
      }
      progress?.done();
    };
    await Promise.all(names.map(name => limit(() => apply(name))));
    const failed = new Set(failures.map(({ node }) => node));
    for (const node of meant) {
      const error = failed.has(node) ? undefined : this.#writer.contested(node);
      if (error === undefined) continue;
      failures.push(failureOf(error, node));
      holdBack(error, outcome);
    }
    // In order of their names, not of the answers: the same failures must give the same status again.
    outcome.failures.push(...failures.toSorted(byMessage), ...untried.toSorted(byMessage));
    return isAnswered;
  }

  /** How many nodes of the pool are still to be written. */
  pending(pool: string): number {
    return this.#written(pool).filter(name => this.#writer.needsWrite(name)).length;
  }

  /** Nodes that a reconcile of the pool may write. One that is gone or being deleted releases all that it holds. */
  #written(pool: string): string[] {
    const { state, changes = new Map(), only } = this.#options;
    const held = state.held(pool).map(({ name }) => name);
    const changed = [...changes].filter(([, change]) => change.pool === pool).map(([node]) => node);
    if (!state.isStaying(pool)) return [...new Set([...held, ...changed])];
    if (changed.length > 0) return changed;
    return only === undefined ? held : held.filter(name => only.has(name));
  }

  /**
   * Nodes that still differ from what the pool wants where not all of them were to be written: others, and those whose
   * write failed. Its status could not say so.
   */
  due(pool: string): string[] {
    const { state, changes, only } = this.#options;
    if (changes === undefined && only === undefined) return [];
    const held = state.held(pool).map(({ name }) => name);
    // Changes are not asked for: a node that could not be added is no member.
    return held.filter(name => {
      const plan = planOf(state, name);
      return plan !== undefined && isDue(plan);
    });
  }

  /** Whether the node was among those to be written. */
  isMeant(node: string): boolean {
    const { changes, only } = this.#options;
    return changes?.has(node) === true || only?.has(node) === true;
  }
}

function byMessage(a: WriteFailure, b: WriteFailure): number {
  return a.message < b.message ? -1 : 1;
}
