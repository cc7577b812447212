/**
 * Evicts the pods of nodes that wait for a NoExecute taint (nodepool/plan/no-execute.ts). Each poll lists the pods of
 * one node, evicts those that are left, and reports whether none is left. Its memory has only the next poll and
 * observations, so a killed process loses nothing: the next one lists the pods again.
 *
 * Each owner's pods are evicted from a node once. For owners that appear later, the total number of evictions is
 * limited to that of the first pods. Pods may come back after that, because they tolerate the stand-in or set
 * spec.nodeName. Right before the taint is set, they are evicted once more, if their budgets allow this for all of
 * them; if not, the node fails. Pods without a budget are left to the taint. So that a new process does not start over,
 * a pod that tolerates the stand-in and is younger than it counts as one that came back.
 *
 * Not guaranteed: that no pod arrives between the last list and the taint. The stand-in keeps schedulers away, and a
 * list counts only if it was made SETTLE_MS after this process saw the stand-in. A scheduler with an older cache, or a
 * pod with spec.nodeName, can still bind, and the taint then deletes the pod. Also not guaranteed: that a pod
 * terminates (it is waited for), or that a new process recognizes pods with spec.nodeName (it evicts them once more).
 */
import { createLimiter } from '../../controller/limiter.ts';
import type { EvictionsClient } from '../../kube/cluster.ts';
import { type Budget, type BudgetForecast, budgetMatcher, forecastBudgets } from '../../nodepool/drain/budgets.ts';
import { type DrainPod, podName } from '../../nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual } from '../../nodepool/json.ts';
import { type PodsLeft, podsLeft } from '../../nodepool/plan/no-execute.ts';
import { type DrainPlan, type NodePlan, pastRollout } from '../../nodepool/plan/plan.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import type { RolloutSlot } from '../limits/rollout-admission.ts';
import type { ReconcilerOptions } from '../options.ts';
import { throttledError, WriteError } from '../outcome.ts';
import { nodePlan } from '../plan/node-plan.ts';
import { type ClusterState, looksSame } from '../state/cluster-state.ts';
import { readNode } from '../state/live-reads.ts';
import { type ChangedMeanwhile, MAX_AGE_MS } from '../state/pool-checks.ts';
import { DrainEntries, type NodeDrain, pollDelayMs } from './drain-entries.ts';
import { type EvictionStop, Evictor, manyBudgetsError } from './evictor.ts';

/** `cleared`: no pod is left. */
type PollResult = Exclude<EvictionStop, 'late'> | 'cleared';
/** Whether to continue evicting the pods of the node. */
type GoesOn = () => Promise<Exclude<EvictionStop, 'late'> | 'goes on'>;

/** Time limit, because the reconcile of a pool waits for its polls. The next reconcile continues at once. */
const LIMIT_MS = 2_000;
/** A scheduler sees a new taint within about 100 ms. */
const SETTLE_MS = 2_000;
/** Maximum number of pods in a message. */
const MAX_NAMED = 3;

interface EvictionRun {
  client: EvictionsClient;
  goesOn: GoesOn;
}

export class NodeDrainer {
  readonly #options: ReconcilerOptions;
  readonly entries: DrainEntries;
  readonly #oneRow = createLimiter(1);

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const { cluster, clock, signal, onEviction: onEvent } = options;
    this.entries = new DrainEntries(
      clock,
      () => cluster.nodes.serverTime(),
      node => new Evictor({ node, clock, signal, onEvent }),
    );
  }

  /**
   * Polls the node, if a poll is due. Throws WriteError if pods cannot be listed, or if one of them can never be
   * evicted; until the next poll, it throws that error again.
   * @param goesOn called before the list and before each eviction
   */
  async poll(plan: DrainPlan, goesOn: GoesOn): Promise<PollResult> {
    const entry = this.entries.of(plan);
    const { clock, limitPolls = work => work() } = this.#options;
    const ms = entry.pollAt - clock.now();
    if (ms > 0 && entry.error !== undefined) throw throttledError({ error: entry.error, ms });
    if (ms > 0) return 'waits';
    delete entry.error;
    try {
      const requested = clock.now();
      const isLate = () => clock.now() - requested >= LIMIT_MS;
      const result = await limitPolls(async () => (isLate() ? 'late' : this.#pollOnce(plan, entry, goesOn)));
      if (result === 'late') return 'waits';
      if (result === 'waits') entry.pollAt = clock.now() + pollDelayMs(entry);
      return result;
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      const retryAfterMs = this.entries.fail(entry, error);
      throw new WriteError(error, { retryAfterMs, isThrottled: false });
    }
  }

  async #pollOnce(plan: DrainPlan, entry: NodeDrain, goesOn: GoesOn): Promise<PollResult | EvictionStop> {
    // The call may have waited for the limiter.
    if (this.#options.signal?.aborted) return 'waits';
    const before = await goesOn();
    if (before !== 'goes on') return before;
    const client = await this.#options.cluster.evictions();
    for (let lists = 1; ; lists++) {
      const listedAt = this.#options.clock.now();
      const listed = await client.podsOn(plan.node.name);
      entry.evictor.see(listed);
      // Until then, a scheduler that has not seen the stand-in may bind pods.
      if (!entry.isSettled) {
        for (const pod of listed) {
          entry.first.add(pod.uid);
          entry.owners.get(ownerOf(pod))?.add(pod.uid);
        }
      }
      const { pods, areLast, returned } = this.#left(plan, entry, listed);
      entry.pods = pods.length;
      const isSettled = listedAt - entry.since >= SETTLE_MS;
      entry.isSettled = isSettled;
      if (pods.length === 0) {
        if (!isSettled) return 'waits';
        if (returned.length === 0) return 'cleared';
        // One node at a time: another node may be about to use the budgets that are read here.
        const row = { pods: returned, listedAt };
        return this.#oneRow(() => this.#endReturned(plan, entry, row, { client, goesOn }));
      }
      if (areLast && !isSettled) return 'waits';
      // If pods come back, the first would be back before a later list.
      const limitMs = areLast ? Number.POSITIVE_INFINITY : LIMIT_MS;
      const evicted = await entry.evictor.evictInTurn(pods, client, {
        limitMs,
        goesOn,
        onAnswer(pod, { kind }) {
          if (kind === 'accepted') rememberEviction(entry, pod, listed);
        },
      });
      if (evicted !== 'goes on') return evicted;
      // Returning pods are gone only for a moment: the next poll would find new ones.
      if (!areLast || lists > 1 || entry.evictor.blockedPods.size > 0) return 'waits';
    }
  }

  #left({ node, drain }: DrainPlan, entry: NodeDrain, listed: readonly DrainPod[]): PodsLeft {
    const { owners, begunAt, first, firstEvictions, lateEvictions } = entry;
    return podsLeft(listed, drain.taints, node.taints, (pod, tolerates) => {
      const known = owners.get(ownerOf(pod));
      if (known !== undefined && !known.has(pod.uid)) return true;
      // Each replacement may have its own owner, such as a recreated Job: limited to the number of first pods.
      const isLate = known === undefined && !first.has(pod.uid);
      if (isLate && lateEvictions >= Math.max(1, firstEvictions)) return true;
      if (!tolerates) return false;
      // An earlier process may have evicted the pods of that owner.
      return Date.parse(pod.creationTimestamp) >= begunAt + SETTLE_MS;
    });
  }

  /**
   * Evicts returned pods with budgets once more, all in a row, if their budgets allow it: the taint then does not
   * violate budgets. Throws if they never do, or if pods came back again: more evictions would not help.
   * @param listedAt when the pods were listed
   */
  async #endReturned(
    plan: DrainPlan,
    entry: NodeDrain,
    { pods, listedAt }: { pods: readonly DrainPod[]; listedAt: number },
    { client, goesOn }: EvictionRun,
  ): Promise<PollResult | EvictionStop> {
    const { name } = plan.node;
    // After a wait for the row of another node, new pods may have been bound.
    if (this.#options.clock.now() - listedAt >= LIMIT_MS) return 'late';
    const budgets = await budgetsOf(pods, client);
    const covered = coveredBy(budgets, pods);
    if (covered.length === 0) return 'cleared';
    if (entry.rowsLeft === 0) throw returnedError(plan, covered, entry.isRefused ? NOT_AT_ONCE : EACH_TIME);
    if (!allowRow(plan, entry, covered, budgets)) return 'waits';
    const row = await this.#evictRow(plan, entry, covered, { client, goesOn });
    if (row !== 'goes on') return row;
    const left = this.#left(plan, entry, await client.podsOn(name));
    // Pods of another owner, or not evicted before.
    if (left.pods.length > 0) return 'waits';
    const back = coveredBy(await budgetsOf(left.returned, client), left.returned);
    if (back.length === 0) return 'cleared';
    entry.rowsLeft = 0;
    throw returnedError(plan, back, EACH_TIME);
  }

  /** An interrupted row starts again, but not forever. */
  async #evictRow(
    plan: DrainPlan,
    entry: NodeDrain,
    pods: readonly DrainPod[],
    { client, goesOn }: EvictionRun,
  ): Promise<EvictionStop | 'goes on'> {
    let hasBegun = false;
    let isWhole = true;
    for (const pod of pods) {
      const next = await goesOn();
      if (next !== 'goes on') return next;
      if (this.#options.signal?.aborted) return 'waits';
      const removal = await entry.evictor.ask(pod, client);
      if (removal.kind === 'accepted' && !hasBegun) {
        hasBegun = true;
        entry.rowsLeft--;
      }
      // The budget was changed or used by others during the row.
      if (removal.kind === 'budget' && hasBegun) {
        Object.assign(entry, { rowsLeft: 0, isRefused: true });
        throw returnedError(plan, pods, NOT_AT_ONCE);
      }
      if (removal.kind === 'budget' || removal.kind === 'busy' || removal.kind === 'namespace ends') return 'waits';
      isWhole &&= removal.kind !== 'changed';
    }
    return isWhole ? 'goes on' : 'waits';
  }
}

/** Whether budgets allow all evictions now. Throws if waiting does not help. */
function allowRow(plan: DrainPlan, entry: NodeDrain, pods: readonly DrainPod[], budgets: readonly Budget[]): boolean {
  const hindrances = forecastBudgets(pods, budgets);
  for (const each of hindrances) {
    if (each.kind === 'several') throw severalBudgetsError(pods, each);
    if (each.kind === 'never' || (each.kind === 'waits' && each.pods > mostAllowed(each.budget, budgets)))
      throw returnedError(plan, pods, NOT_AT_ONCE);
  }
  const [first] = hindrances.filter(each => each.kind !== 'several');
  if (first === undefined) return true;
  entry.pods = pods.length;
  const matching = budgetMatcher(budgets.filter(budget => refOf(budget) === first.budget));
  const why = `PodDisruptionBudget ${first.budget}: it must allow ${plural(first.pods, 'eviction')} at once`;
  for (const pod of pods) if (matching(pod).length > 0) entry.evictor.block(pod, why);
  return false;
}

/** All budgets in the namespaces of the pods. */
async function budgetsOf(pods: readonly DrainPod[], client: EvictionsClient): Promise<Budget[]> {
  const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
  return (await Promise.all(namespaces.map(namespace => client.budgets(namespace)))).flat();
}

function coveredBy(budgets: readonly Budget[], pods: readonly DrainPod[]): DrainPod[] {
  // A budget that requires no healthy pod cannot be violated by the taint.
  const matching = budgetMatcher(budgets.filter(({ status }) => status?.desiredHealthy !== 0));
  return pods.filter(pod => matching(pod).length > 0);
}

/** Number of evictions that the budget allows at once if all its pods are healthy. */
function mostAllowed(ref: string, budgets: readonly Budget[]): number {
  const { expectedPods = 0, desiredHealthy = 0 } = budgets.find(budget => refOf(budget) === ref)?.status ?? {};
  return expectedPods - desiredHealthy;
}

function refOf({ namespace, name }: Budget): string {
  return `${namespace}/${name}`;
}

function severalBudgetsError(
  pods: readonly DrainPod[],
  { pod, budgets }: Extract<BudgetForecast, { kind: 'several' }>,
): NodepoolError {
  return manyBudgetsError(pods.find(each => podName(each) === pod) as DrainPod, budgets);
}

const NOT_AT_ONCE = 'returned after eviction, and PodDisruptionBudgets do not allow evicting all of them at once';
const EACH_TIME = 'returned after each eviction';

/** @param why follows the number of pods */
function returnedError({ node, owner, drain }: DrainPlan, pods: readonly DrainPod[], why: string): NodepoolError {
  const names = firstFew(pods.map(podName), MAX_NAMED);
  const text = drain.taints.map(formatTaint).join(', ');
  return new NodepoolError(
    'cluster',
    `taint ${text} was not set on node ${node.name}: ${plural(pods.length, 'pod')} ${why}: ${names}`,
    `${why === NOT_AT_ONCE ? 'change the budgets, then run' : 'try again with'} \`kubectl nodepool reconcile ${owner ?? ''}\`; or remove the pods' toleration or spec.nodeName; or set spec.noExecute to Immediate`,
    { isPermanent: true },
  );
}

function rememberEviction(entry: NodeDrain, pod: DrainPod, listed: readonly DrainPod[]): void {
  const { owners, first } = entry;
  const owner = ownerOf(pod);
  const isFirst = first.has(pod.uid);
  if (isFirst) entry.firstEvictions++;
  if (owners.has(owner)) return;
  if (!isFirst) entry.lateEvictions++;
  owners.set(owner, new Set(listed.filter(each => ownerOf(each) === owner).map(({ uid }) => uid)));
}

/** Pods without a controller count as those of one owner, because they may be recreated with new names. */
function ownerOf({ namespace, controller }: DrainPod): string {
  return JSON.stringify([namespace, controller?.apiVersion, controller?.kind, controller?.name]);
}

// One step of a drain: whether the waiting taints of a node can be set now.

interface DrainConditions {
  drainer: NodeDrainer;
  /** The node's slot in the rollout; undefined if it needs none. */
  slot: RolloutSlot | undefined;
  changed: ChangedMeanwhile;
}

/**
 * The plan with the taints, if no pod is left that they would evict. `again`: the node or its pool has changed: plan it
 * again. `waits`: pods are left, or the node has no slot in a rollout yet. A dry run evicts nothing.
 */
export async function drainStep(
  plan: DrainPlan,
  { drainer, slot, changed }: DrainConditions,
  options: ReconcilerOptions,
): Promise<NodePlan | 'again' | 'waits'> {
  const { node, previous } = plan;
  const { state, cluster } = options;
  const cleared = () => nodePlan(state, node.name, true) ?? 'again';
  if (cluster.isDryRun) return cleared();
  const isAdmitted = slot !== undefined && previous !== undefined ? slotCheck(previous, slot, state) : () => true;
  if (!isAdmitted()) return 'waits';
  const result = await drainer.poll(plan, stillDecided(plan, { isAdmitted, changed }, options));
  if (result !== 'cleared') return result;
  // If its stand-in was removed, pods may have arrived since the list.
  return isAsPlanned(node, state) ? cleared() : 'again';
}

/** Whether the node has its slot. Takes it again if nodes of the pool turned Ready or NotReady since. */
function slotCheck(pool: string, slot: RolloutSlot, state: ClusterState): () => boolean {
  let readiness = state.readiness(pool);
  return () => {
    if (state.readiness(pool) !== readiness) slot.release();
    readiness = state.readiness(pool);
    return slot.take(pool) !== undefined;
  };
}

/** Uses the current state; in a run without caches, it is at most MAX_AGE_MS old. */
function stillDecided(
  plan: DrainPlan,
  { isAdmitted, changed }: { isAdmitted: () => boolean; changed: ChangedMeanwhile },
  options: ReconcilerOptions,
): GoesOn {
  const { state, clock, hasCaches = false } = options;
  const { name, uid } = plan.node;
  let readAt = -Infinity;
  return async () => {
    if (!hasCaches && clock.now() - readAt >= MAX_AGE_MS) {
      // A drain takes long, and without caches only a read detects a change of the node.
      await readNode(name, uid, options);
      readAt = clock.now();
    }
    const isSame = await changed.isSame(plan);
    if (!isStillPlanned(plan, state)) return 'again';
    return isSame && isAdmitted() ? 'goes on' : 'waits';
  };
}

/** Whether a new plan has the same drain, and no write before it. */
function isStillPlanned({ node, owner, drain }: DrainPlan, state: ClusterState): boolean {
  const now = state.node(node.name)?.uid === node.uid ? nodePlan(state, node.name) : undefined;
  const due = now && pastRollout(now);
  return due?.kind === 'drain' && due.owner === owner && deepEqual(due.drain.taints, drain.taints);
}

function isAsPlanned(node: Node, state: ClusterState): boolean {
  const current = state.node(node.name);
  return current !== undefined && looksSame(node, current);
}
