/**
 * Keeps the history of a pool with spec.rollout (docs/decisions/0045): before anything else of a new spec is written, the last
 * revision is that spec. Killed after any write, the next run finds what was written, and adds nothing.
 *
 * Without caches: revisions are read once for each spec of a pool in a process, as are those of the pools that it starts with.
 * Not guaranteed: a revision of each spec. One that cannot be kept costs a warning, and the nodes are written all the same. A spec
 * that changes during a reconcile may reach nodes before the next reconcile keeps it.
 */
import type { RawPool } from '../../kube/cluster.ts';
import { NodepoolError, type Warning, warningText } from '../../nodepool/errors.ts';
import {
  CHANGE_CAUSE,
  type ControllerRevision,
  causeOf,
  excessRevisions,
  isRevisionOf,
  newRevision,
  planRevision,
  poolRevisions,
} from '../../nodepool/rollout/revisions.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ReconcilerOptions } from '../options.ts';
import { RestoredError, readPool } from '../state/live-reads.ts';

/** `changed`: the pool is another one by now, which the cluster state has. */
export type RevisionResult = 'kept' | 'changed';

/** A spec whose revision is kept, or was refused. */
interface TriedSpec {
  /** Of the spec and its cause, of the pool with its UID. */
  key: string;
  /** When it is tried again, if it failed. */
  retryAt: number;
}

/** Attempts after conflicts with another process. */
const MAX_ATTEMPTS = 5;
/** Names that are tried where objects of others have them. */
const MAX_NAMES = 5;
/** Roles and policies are not watched. */
const RETRY_MS = 300_000;

export class RevisionWriter {
  readonly #options: ReconcilerOptions;
  /** By name of the pool. */
  readonly #tried = new Map<string, TriedSpec>();
  /** The last warning: of many pools, one says it. */
  #lastWarning: string | undefined;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** A paused pool is not rolled out, so its spec is none yet. Throws RestoredError. @param warnings gets why it was not kept */
  async keep(pool: NodePool, warnings: Warning[]): Promise<RevisionResult> {
    const { clock, limitObjects } = this.#options;
    const { name } = pool.metadata;
    if (pool.spec.rollout === undefined) this.forget(name);
    if (pool.spec.rollout === undefined || isPaused(pool)) return 'kept';
    const key = keyOf(pool);
    const known = this.#tried.get(name);
    if (known?.key === key && clock.now() < known.retryAt) return 'kept';
    let retryAt = Number.POSITIVE_INFINITY;
    let failed = '`rollout undo` will not find this spec';
    try {
      const excess = await limitObjects(() => this.#write(pool));
      if (excess === 'changed') return 'changed';
      failed = 'an old revision was not deleted';
      await limitObjects(() => this.#deleteAll(excess));
      this.#lastWarning = undefined;
    } catch (error) {
      // The pool is not the one of this reconcile: neither are its nodes to be written.
      if (!(error instanceof NodepoolError) || error instanceof RestoredError) throw error;
      retryAt = clock.now() + (error.isPermanent ? RETRY_MS : 0);
      this.#warn(failed, error, warnings);
    }
    this.#tried.set(name, { key, retryAt });
    return 'kept';
  }

  /** Of a pool that is gone, or has no history. */
  forget(pool: string): void {
    this.#tried.delete(pool);
  }

  #warn(failed: string, { oneLine, next }: NodepoolError, warnings: Warning[]): void {
    const warning = { message: `${failed}: ${oneLine}`, next };
    const text = warningText(warning);
    if (text !== this.#lastWarning) warnings.push(warning);
    this.#lastWarning = text;
  }

  /** Returns the revisions that are too many, once the spec has its own. */
  async #write(pool: NodePool): Promise<ControllerRevision[] | 'changed'> {
    const { cluster } = this.#options;
    let raw: RawPool | undefined;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const revisions = poolRevisions(pool, await cluster.revisions.list(pool.metadata.name));
      if (planRevision(raw ?? pool, revisions).kind === 'none') return excessRevisions(revisions);
      // The pool in the cluster state lacks fields that this version does not know.
      raw ??= await this.#latest(pool);
      if (raw === undefined) return 'changed';
      const plan = planRevision(raw, revisions);
      const isDone = plan.kind === 'none' || (await this.#change(plan, raw));
      // A dry run does not store it.
      if (isDone && cluster.isDryRun) return [];
    }
    const problem = `the ControllerRevisions of nodepool ${pool.metadata.name} are changed by somebody else all the time`;
    throw new NodepoolError('cluster', problem, 'try again');
  }

  async #deleteAll(revisions: readonly ControllerRevision[]): Promise<void> {
    for (const revision of revisions) await this.#options.cluster.revisions.delete(revision);
  }

  /** Undefined where it is not the pool of this reconcile any more. */
  async #latest({ metadata }: NodePool): Promise<RawPool | undefined> {
    const { name, uid, generation } = metadata;
    const pool = await this.#options.cluster.pools.get(name);
    if (pool?.metadata.uid === uid && pool?.metadata.generation === generation) return pool;
    await readPool(name, uid, this.#options);
    return undefined;
  }

  /** False where the revision was not as it was read. */
  async #change(plan: Exclude<ReturnType<typeof planRevision>, { kind: 'none' }>, pool: RawPool): Promise<boolean> {
    if (plan.kind === 'create') return this.#create(plan.revision, pool);
    const { cluster } = this.#options;
    const to = { revision: plan.revision, annotations: { [CHANGE_CAUSE]: causeOf(pool) ?? null } };
    return (await cluster.revisions.update(plan.current, to)).kind === 'written';
  }

  async #create(revision: number, pool: RawPool): Promise<boolean> {
    const { cluster } = this.#options;
    const taken: ControllerRevision[] = [];
    for (let attempt = 0; attempt < MAX_NAMES; attempt++) {
      const desired = newRevision(pool, revision, attempt);
      if ((await cluster.revisions.create(desired)).kind === 'created') return true;
      const found = await cluster.revisions.get(desired.metadata.name);
      if (found === undefined) return false;
      // Another process, or our own request sent again.
      if (poolRevisions(pool, [found]).some(each => isRevisionOf(pool, each))) return true;
      taken.push(found);
    }
    const names = taken.map(({ metadata }) => metadata.name).join(', ');
    throw new NodepoolError(
      'cluster',
      `others have the names that a ControllerRevision of nodepool ${pool.metadata.name} could have: ${names}`,
      'find out who made them: kubectl get controllerrevisions -n default --show-managed-fields -o yaml',
      { isPermanent: true },
    );
  }
}

function keyOf(pool: NodePool): string {
  const { uid, generation } = pool.metadata;
  return `${uid} ${generation} ${causeOf(pool) ?? ''}`;
}
