/**
 * Writes the history of the pools (docs/decisions/0045): before anything else of a new spec is written, the last
 * revision is that spec. If killed after any write, the next run finds what was written, and adds nothing.
 *
 * The revisions of all pools are listed once per process, and each new spec costs one write; later revisions are
 * remembered. Only the list shows whether the spec of an unchanged pool was saved: an earlier version, or missing
 * permission, may have prevented it. A new pool has no revisions and needs no list. Not guaranteed: a revision of each
 * spec. A failure to save one is a warning, and the nodes are written anyway. A spec that changes during a reconcile
 * may reach nodes before the next reconcile saves it.
 */
import { ForbiddenError, NodepoolError, type Warning, warningText } from '../../nodepool/errors.ts';
import {
  CHANGE_CAUSE,
  causeOf,
  excessRevisions,
  newRevision,
  planRevision,
  poolRevisions,
  type RevisionHead,
  revisionHead,
} from '../../nodepool/rollout/revisions.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import { rawSpecOf } from '../../nodepool/spec/coerce.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ReconcilerOptions, RevisionKeeper } from '../options.ts';

/** A pool with its spec unchanged from the server. */
type Pool = Pick<NodePool, 'metadata' | 'status'> & { spec: object };

/** The memory of this process about a pool. */
interface KnownPool {
  uid: string | undefined;
  generation: number;
  cause: string | undefined;
  /** When a failed revision is tried again. */
  retryAt: number;
  /** The list is too old for this pool. */
  isAhead: boolean;
}

/** The result of the only list. */
interface ListedRevisions {
  /** By pool name. */
  heads: Map<string, RevisionHead[]>;
  /** UIDs of the pools at that time: the list says nothing about later pools. */
  pools: ReadonlySet<string | undefined>;
}

/** Maximum number of attempts after conflicts with another process. */
const MAX_ATTEMPTS = 5;
/** Maximum number of names to try if objects of others have them. */
const MAX_NAMES = 5;
/** Delay after a refusal: roles and policies are not watched. */
const RETRY_MS = 300_000;

export class RevisionWriter implements RevisionKeeper {
  readonly #options: ReconcilerOptions;
  readonly #known = new Map<string, KnownPool>();
  /** By name, for pools that this process has written or read since the list. */
  readonly #heads = new Map<string, RevisionHead[]>();
  #listed: Promise<ListedRevisions> | undefined;
  /** Missing permission for all pools: no request is sent until then. */
  #refused: { error: ForbiddenError; until: number } | undefined;
  /** The last warning, as one is enough for many pools. */
  #lastWarning: string | undefined;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** A paused pool is not rolled out, so its spec is not saved yet. @param warnings gets the reason of a failure */
  async keep(pool: NodePool, warnings: Warning[]): Promise<void> {
    const { clock, limitObjects } = this.#options;
    const { name, uid, generation = 0 } = pool.metadata;
    if (isPaused(pool)) return;
    const cause = causeOf(pool);
    const known = this.#known.get(name);
    const isSame = known?.uid === uid && known?.generation === generation && known.cause === cause;
    if (isSame && clock.now() < known.retryAt) return;
    // Another process may have saved a spec that this one has not seen.
    const isAhead = known !== undefined && (known.uid !== uid || generation > known.generation + 1);
    if (isAhead) this.#heads.delete(name);
    this.#known.set(name, {
      uid,
      generation,
      cause,
      retryAt: Number.POSITIVE_INFINITY,
      isAhead: isAhead || known?.isAhead === true,
    });
    if (this.#refused !== undefined && clock.now() < this.#refused.until) return this.#refuse(pool, warnings);
    let failed = '`rollout undo` will not find this spec';
    try {
      const raw: Pool = { metadata: pool.metadata, spec: rawSpecOf(pool), ...(pool.status && { status: pool.status }) };
      const excess = await limitObjects(() => this.#write(raw));
      failed = 'an old revision was not deleted';
      await limitObjects(() => this.#deleteAll(name, excess));
      this.#lastWarning = undefined;
      this.#refused = undefined;
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      const retryAt = clock.now() + (error.isPermanent ? RETRY_MS : 0);
      if (error instanceof ForbiddenError && isOfAllPools(error)) {
        this.#refused = { error, until: retryAt };
        return this.#refuse(pool, warnings);
      }
      this.#retry(name, retryAt);
      this.#warn(failed, error, warnings);
    }
  }

  forget(pool: string): void {
    this.#known.delete(pool);
    this.#heads.delete(pool);
  }

  /** A spec that the status already covers had its warning when it was new: this run loses nothing. */
  #refuse({ metadata, status }: NodePool, warnings: Warning[]): void {
    if (this.#refused === undefined) return;
    this.#retry(metadata.name, this.#refused.until);
    const isTold = status?.observedGeneration === metadata.generation && status?.status !== 422;
    if (!isTold) this.#warn('`rollout undo` will not find new specs of pools', this.#refused.error, warnings);
  }

  #retry(name: string, retryAt: number): void {
    const known = this.#known.get(name);
    if (known === undefined) return;
    known.retryAt = retryAt;
    // An edit saves the spec that this run did not save: see saveReplaced().
    known.isAhead = true;
    this.#heads.delete(name);
  }

  #warn(failed: string, error: NodepoolError, warnings: Warning[]): void {
    const isForbidden = error instanceof ForbiddenError;
    const next = isForbidden
      ? 'ask for a role with verbs get, list, create, patch and delete on controllerrevisions.apps in namespace default'
      : error.next;
    const warning = { message: `${failed}: ${error.oneLine}`, next };
    // The message of a refusal may name one of many revisions.
    const text = isForbidden ? failed : warningText(warning);
    if (text !== this.#lastWarning) warnings.push(warning);
    this.#lastWarning = text;
  }

  /** Returns the excess revisions, once the spec has its own. */
  async #write(pool: Pool): Promise<RevisionHead[]> {
    const { cluster } = this.#options;
    const { name } = pool.metadata;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const revisions = attempt === 0 ? await this.#revisionsOf(pool) : await this.#readOwn(pool);
      const plan = planRevision(pool, revisions);
      if (plan.kind === 'none') {
        this.#heads.set(name, revisions);
        return excessRevisions(revisions);
      }
      const written = await this.#change(plan, pool);
      if (written === undefined) continue;
      // A dry run does not store it.
      if (cluster.isDryRun) return [];
      const others = revisions.filter(({ metadata }) => metadata.name !== written.metadata.name);
      const now = poolRevisions(pool, [...others, written]);
      this.#heads.set(name, now);
      if (planRevision(pool, now).kind === 'none') return excessRevisions(now);
    }
    const problem = `somebody else keeps changing the ControllerRevisions of pool ${name}`;
    throw new NodepoolError('cluster', problem, 'try again');
  }

  async #revisionsOf(pool: Pool): Promise<RevisionHead[]> {
    const { name, uid, generation } = pool.metadata;
    const remembered = this.#heads.get(name);
    if (remembered !== undefined) return poolRevisions(pool, remembered);
    const isAhead = this.#known.get(name)?.isAhead === true;
    // The pool has had no other spec: if another process saved it, the name is taken.
    if (!isAhead && generation === 1 && pool.status?.observedGeneration === undefined) return [];
    const listed = isAhead ? undefined : await this.#list();
    const found = listed?.heads.get(name) ?? [];
    const own = listed?.pools.has(uid) ? poolRevisions(pool, found) : await this.#readOwn(pool);
    listed?.heads.delete(name);
    this.#heads.set(name, own);
    return own;
  }

  async #readOwn(pool: Pool): Promise<RevisionHead[]> {
    return poolRevisions(pool, await this.#options.cluster.revisions.heads(pool.metadata.name));
  }

  #list(): Promise<ListedRevisions> {
    const { cluster, state } = this.#options;
    const pools = new Set([...state.pools()].map(({ metadata }) => metadata.uid));
    this.#listed ??= cluster.revisions.heads().then(
      all => ({ heads: Map.groupBy(all, ownerOf), pools }),
      error => {
        this.#listed = undefined;
        throw error;
      },
    );
    return this.#listed;
  }

  async #deleteAll(pool: string, revisions: readonly RevisionHead[]): Promise<void> {
    for (const revision of revisions) {
      await this.#options.cluster.revisions.delete(revision);
      const rest = this.#heads.get(pool)?.filter(({ metadata }) => metadata.name !== revision.metadata.name);
      if (rest !== undefined) this.#heads.set(pool, rest);
    }
  }

  /** Undefined if the revision has changed since it was read. */
  async #change(plan: Exclude<ReturnType<typeof planRevision>, { kind: 'none' }>, pool: Pool) {
    if (plan.kind === 'create') return this.#create(plan.revision, pool);
    const to = { revision: plan.revision, annotations: { [CHANGE_CAUSE]: causeOf(pool) ?? null } };
    const write = await this.#options.cluster.revisions.update(plan.current, to);
    return write.kind === 'written' ? revisionHead(write.revision) : undefined;
  }

  async #create(revision: number, pool: Pool): Promise<RevisionHead | undefined> {
    const { cluster } = this.#options;
    const taken: RevisionHead[] = [];
    for (let attempt = 0; attempt < MAX_NAMES; attempt++) {
      const desired = newRevision(pool, revision, attempt);
      const made = await cluster.revisions.create(desired);
      if (made.kind === 'created') return revisionHead(made.revision);
      const found = await cluster.revisions.get(desired.metadata.name);
      if (found === undefined) return undefined;
      const head = revisionHead(found);
      // Created by another process, or by a retried request of ours: read all again.
      if (planRevision(pool, poolRevisions(pool, [head])).kind !== 'create') return undefined;
      taken.push(head);
    }
    const names = taken.map(({ metadata }) => metadata.name).join(', ');
    throw new NodepoolError(
      'cluster',
      `all ControllerRevision names for pool ${pool.metadata.name} are taken: ${names}`,
      'find out who created them: kubectl get controllerrevisions -n default --show-managed-fields -o yaml',
      { isPermanent: true },
    );
  }
}

/** Lists and creates are not about a single revision; a role may allow the rest for some of them. */
function isOfAllPools({ missing }: ForbiddenError): boolean {
  return missing.some(each => /^verb (list|create) /.test(each));
}

function ownerOf({ metadata }: RevisionHead): string {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)?.name ?? '';
}
