import type { ExaminedNode } from '../../kube/resources/doctor.ts';
import { hasLostFields, LOST_FIELDS, MEND_LOST_FIELDS } from '../../nodepool/membership/membership.ts';
import { parseRecord } from '../../nodepool/plan/record.ts';
import { transientKeysIn, transientText } from '../../nodepool/plan/transient-states.ts';
import { omittedTexts } from '../../nodepool/quantity/node-resources.ts';
import { sumResourceLists } from '../../nodepool/quantity/quantity.ts';
import { isPaused, isStopped, progressOf } from '../../nodepool/rollout/rollout.ts';
import { validatePool } from '../../nodepool/spec/validation.ts';
import { type LiveState, lastState, stateText } from '../../nodepool/status/state-word.ts';
import { contestIn, deletionText, isStale, troubleIn, withheldIn } from '../../nodepool/status/status.ts';
import { plural } from '../../nodepool/text.ts';
import { FINALIZER, type NodePool, type NodePoolStatus, RECORD_ANNOTATION } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { notRecorded } from '../shared/changes/not-recorded.ts';
import { type CheckFinding, error, named, ok, skipped, warning } from '../shared/check.ts';

const RECONCILE = 'run `kubectl nodepool reconcile`';
const KEPT = 'the software that set the finalizers has to remove them; the nodes are already released';

/** From the current nodes, or from the status if nodes cannot be read. */
export type LiveOf = (pool: NodePool) => LiveState;

const PROBLEMS = ['Invalid', 'Failing', 'Conflict', 'NotReady', 'Deleting,Failing'];

/** Errors are problems that STATUS of `get` names. @param state undefined if nodes cannot be read */
export function checkPools(pools: NodePool[], state?: ClusterState, liveOf: LiveOf = lastState): CheckFinding {
  if (pools.length === 0) return ok('there are no pools');
  const failing = pools.filter(pool => PROBLEMS.includes(wordOf(pool, liveOf)));
  // For a failing deletion, the line about its status also names the deletion.
  const others = pools.filter(pool => pool.metadata.deletionTimestamp === undefined || !failing.includes(pool));
  const behind = new Map(
    others.map(pool => [pool, latenessIn(pool, state)] as const).filter(([, texts]) => texts.length > 0),
  );
  const late = [...behind.values()];
  const contested = detailsOf(pools, contestIn);
  const withheld = detailsOf(pools, withheldIn);
  const details = [...failing.map(pool => problemOf(pool, liveOf)), ...late.flat(), ...contested, ...withheld];
  if (failing.length > 0) {
    return error(
      `${failing.length} of ${plural(pools.length, 'pool')} ${failing.length === 1 ? 'has' : 'have'} a problem`,
      'see the conditions and events: `kubectl nodepool describe POOL`',
      details,
    );
  }
  if (late.length > 0)
    return warning(
      `${late.length} of ${plural(pools.length, 'pool')} ${late.length === 1 ? 'is' : 'are'} not up to date`,
      [...behind.keys()].every(isKeptByOthers) ? KEPT : RECONCILE,
      details,
    );
  if (contested.length > 0)
    return warning(
      `others keep changing back what ${contested.length === 1 ? 'a pool sets' : `${contested.length} pools set`}`,
      'remove the key from the pools with `kubectl nodepool edit POOL`, or stop the other writer; `kubectl nodepool history POOL` shows the repairs',
      details,
    );
  if (withheld.length > 0)
    return warning(
      'NoExecute taints that pools had removed or replaced were not restored',
      "set the taints that are still needed; the next edit of the pool's spec clears this warning",
      details,
    );
  return ok(pools.length === 1 ? 'the pool has no problem' : `none of the ${pools.length} pools has a problem`);
}

/** A reconcile updates no more nodes of these pools. */
export function checkRollouts(pools: readonly NodePool[], liveOf: LiveOf = lastState): CheckFinding {
  const stopped = pools.filter(pool => holdsBack(pool, liveOf));
  const [first] = stopped;
  if (first === undefined) return ok('no rollout is stopped');
  const name = stopped.length === 1 ? first.metadata.name : 'POOL';
  const details = detailsOf(stopped.filter(isStopped), status => progressOf({ status })?.message);
  return warning(
    stopped.length === 1 ? `the rollout of pool ${name} is stopped` : `${stopped.length} rollouts are stopped`,
    `fix the node that failed, then \`kubectl nodepool rollout resume ${name}\`; or go back to the previous spec with \`kubectl nodepool rollout undo ${name}\``,
    details,
  );
}

/** One line per pool. @param textIn undefined if the status has nothing to report */
function detailsOf(
  pools: readonly NodePool[],
  textIn: (status: NodePoolStatus | undefined) => string | undefined,
): string[] {
  return pools.flatMap(({ metadata, status }) => {
    const text = textIn(status);
    return text === undefined ? [] : [`${metadata.name}: ${text}`];
  });
}

/** @param transientKeys the value of --transient-keys */
export function checkSpecs(pools: NodePool[], transientKeys?: readonly string[]): CheckFinding {
  const details = pools.flatMap(pool =>
    validatePool(pool).map(({ field, message }) => `${pool.metadata.name}: ${field}: ${message}`),
  );
  const passing = pools.flatMap(pool =>
    transientKeysIn(pool, transientKeys).map(state => `${pool.metadata.name}: ${transientText(state)}`),
  );
  if (details.length === 0 && passing.length > 0) {
    return warning(
      'specs have labels or taints that other software uses to mark a state of a node',
      'move taints that an agent removes from new nodes to spec.startupTaints, or remove them with `kubectl nodepool edit POOL`',
      passing,
    );
  }
  if (details.length === 0) return ok('every spec is valid');
  return error(
    'specs are invalid: these pools do not change their nodes and get no new nodes',
    'correct them with `kubectl nodepool edit POOL`',
    [...details, ...passing],
  );
}

/** For reconciled pools. @param differing members that differ now; undefined if nodes cannot be read */
export function checkDue(pools: NodePool[], differing?: (pool: string) => string[]): CheckFinding {
  let count = 0;
  let omitted = 0;
  const writable: string[] = [];
  const pausedPools: string[] = [];
  const details = pools.flatMap(pool => {
    const { metadata, status } = pool;
    const late = lateness(pool);
    const nodes = differing?.(metadata.name);
    const isNewer = late?.kind === 'newer spec';
    if (late !== undefined && !(isNewer && nodes !== undefined)) {
      omitted++;
      return [];
    }
    const { nodeCount = 0, updatedNodeCount = nodeCount } = status ?? {};
    const found = nodes?.length ?? nodeCount - updatedNodeCount;
    count += found;
    const isGoingOn = !isNewer && progressOf(pool)?.reason === 'RolloutInProgress';
    const held = isPaused(pool) ? ', pool is paused' : isGoingOn ? ', rollout in progress' : '';
    if (found > 0) (isPaused(pool) ? pausedPools : writable).push(metadata.name);
    const why = isNewer ? ' with an older spec' : '';
    return found === 0
      ? []
      : [`${metadata.name}: ${plural(found, 'node')}${why}${held}${nodes ? `: ${named(nodes)}` : ''}`];
  });
  const isStepwise = pools.some(({ metadata, spec }) => spec.rollout !== undefined && writable.includes(metadata.name));
  if (count > 0) {
    return warning(
      `${plural(count, 'node')} ${count === 1 ? 'differs' : 'differ'} from the labels, taints and annotations of ${count === 1 ? 'its pool' : 'their pools'}`,
      `see the differences with \`kubectl nodepool diff\`; ${repair(writable, pausedPools, isStepwise)}`,
      details,
    );
  }
  if (differing === undefined) return skipped('nodes could not be read; the status of the pools reports no difference');
  if (omitted > 0) return ok('every node of an up-to-date pool has the labels and taints of the pool');
  return ok('every node has the labels and taints of its pool');
}

/** @param pausedPools pools whose nodes a reconcile does not update @param isStepwise one reconcile is not enough */
function repair(writable: readonly string[], pausedPools: readonly string[], isStepwise: boolean): string {
  const resume =
    pausedPools.length === 0
      ? []
      : [`\`kubectl nodepool rollout resume ${pausedPools.length === 1 ? pausedPools[0] : 'NAME'}\``];
  if (writable.length === 0) return `to apply, run ${resume.join('')} and \`kubectl nodepool reconcile\``;
  const first = `to apply, run \`kubectl nodepool reconcile${isStepwise ? ' --wait' : ''}\``;
  return resume.length === 0 ? first : `${first}; for paused pools, first run ${resume.join('')}`;
}

/** Whether a stopped rollout keeps nodes from being updated. */
export function holdsBack(pool: NodePool, liveOf: LiveOf): boolean {
  return pool.metadata.deletionTimestamp === undefined && liveOf(pool).rollout === 'Stopped' && !isPaused(pool);
}

/** Without a stop, which has its own check. */
function wordOf(pool: NodePool, liveOf: LiveOf): string {
  return stateText(pool, { ...liveOf(pool), rollout: undefined });
}

/** A deletion that no reconcile can complete: the nodes were released, and our finalizer is gone. */
function isKeptByOthers({ metadata: { deletionTimestamp, finalizers = [] } }: NodePool): boolean {
  return deletionTimestamp !== undefined && finalizers.length > 0 && !finalizers.includes(FINALIZER);
}

function problemOf(pool: NodePool, liveOf: LiveOf): string {
  const { name } = pool.metadata;
  const deletion = deletionText(pool);
  if (deletion !== undefined) return `${name}: Failing, ${deletion}`;
  const word = wordOf(pool, liveOf);
  // The status explains only what it has: other checks name the nodes and fields.
  const message = word === wordOf(pool, lastState) ? troubleIn(pool.status)?.message : undefined;
  return `${name}: ${word}${message ? `: ${message}` : ''}`;
}

/** Whether the status or a record is out of date: after a change just now, or because no reconcile runs. */
export function isBehind(pool: NodePool, state: ClusterState): boolean {
  return lateness(pool) === undefined && notRecorded(state, pool).length > 0;
}

function latenessIn(pool: NodePool, state: ClusterState | undefined): string[] {
  const late = lateness(pool);
  if (late !== undefined) return [`${pool.metadata.name}: ${late.text}`];
  return state === undefined ? [] : notRecorded(state, pool).map(text => `${pool.metadata.name}: ${text}`);
}

interface StatusLateness {
  kind: 'newer spec' | 'other';
  text: string;
}

function lateness(pool: NodePool): StatusLateness | undefined {
  const { status } = pool;
  const other = (text: string): StatusLateness => ({ kind: 'other', text });
  const deletion = deletionText(pool);
  if (deletion !== undefined) return other(deletion);
  // Another client may have written a status without observedGeneration.
  if (status?.status === undefined) return other('never reconciled');
  if (hasLostFields(pool)) return other(`${LOST_FIELDS}: ${MEND_LOST_FIELDS}`);
  if (status.observedGeneration === undefined) return other('not reconciled by this program yet');
  return isStale(pool) ? { kind: 'newer spec', text: 'the spec changed after the last reconcile' } : undefined;
}

// Nodes against their pools: overlaps, records of deleted pools, pending changes, missing handlers, invalid quantities.

/** Nodes that match several pools: one pool owns them, the others have status 409. */
export function checkOverlaps(pools: NodePool[], state: ClusterState): CheckFinding {
  const details: string[] = [];
  for (const { metadata } of pools) {
    const byOwner = Map.groupBy(state.lost(metadata.name), ({ owner }) => owner.metadata.name);
    for (const [owner, lost] of [...byOwner].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const nodes = lost.map(({ node }) => node.name);
      details.push(`${metadata.name} also matches ${plural(nodes.length, 'node')} of ${owner}: ${named(nodes)}`);
    }
  }
  if (details.length === 0) return ok('no node matches several pools');
  return error(
    'nodes match several pools; each belongs to only one of them',
    'change the node selector of one pool (kubectl nodepool edit), or the labels of the nodes',
    details,
  );
}

/** Labels and taints of deleted pools that nodes still have. */
export function checkOrphans(pools: NodePool[], nodes: ExaminedNode[], state: ClusterState): CheckFinding {
  const living = new Set(pools.map(({ metadata }) => metadata.name));
  const gone = state.poolNames().filter(name => !living.has(name));
  // A reconcile replaces it on members.
  const unreadable = nodes
    .filter(({ record }) => record !== undefined && parseRecord(record) === undefined)
    .map(({ name }) => name)
    .filter(name => state.ownership(name)?.owner === undefined);
  const details = [
    ...gone.map(pool => {
      const owned = state.managedNodes(pool).map(({ name }) => name);
      return `labels and taints of the deleted pool ${pool} are still on ${plural(owned.length, 'node')}: ${named(owned)}`;
    }),
    ...(unreadable.length === 0
      ? []
      : [`the record on ${plural(unreadable.length, 'node')} cannot be read: ${named(unreadable)}`]),
  ];
  if (details.length === 0) return ok('no node has labels or taints of a deleted pool');
  const remedies = [
    ...(gone.length === 0
      ? []
      : [
          'to keep the labels and taints, create the pools again from their files; to remove them, run `kubectl nodepool reconcile`',
        ]),
    ...(unreadable.length === 0
      ? []
      : [`remove an unreadable record: \`kubectl annotate node NODE ${RECORD_ANNOTATION}-\``]),
  ];
  return warning('nodes have records of pools that do not exist', remedies.join('; '), details);
}

/** Members on which a pod with the pool's RuntimeClass cannot start. */
export function checkHandlers(pools: NodePool[], nodes: ExaminedNode[], state: ClusterState): CheckFinding {
  const handlersOf = new Map(nodes.map(({ name, handlers }) => [name, handlers]));
  const details: string[] = [];
  let silent = 0;
  let withHandler = 0;
  for (const { metadata, spec } of pools) {
    const { handler } = spec;
    if (!handler) continue;
    withHandler++;
    const members = state.members(metadata.name);
    const lacking = members.filter(({ name }) => {
      const offered = handlersOf.get(name);
      if (offered === undefined) silent++;
      return offered !== undefined && !offered.includes(handler);
    });
    if (lacking.length === 0) continue;
    const names = lacking.map(({ name }) => name);
    details.push(
      `${metadata.name}: ${plural(names.length, 'member')} of ${members.length} without ${handler}: ${named(names)}`,
    );
  }
  if (details.length > 0) {
    return error(
      "members do not offer the runtime handler of their pool: pods that use the pool's RuntimeClass fail on these nodes",
      "configure the handler in the nodes' container runtime, or correct spec.handler",
      details,
    );
  }
  if (withHandler === 0) return ok('no pool has a runtime handler');
  const untold =
    silent === 0
      ? ''
      : `; ${plural(silent, 'member')} ${silent === 1 ? 'does not report runtime handlers' : 'do not report runtime handlers'}`;
  return ok(`all members that report runtime handlers offer the handler of their pool${untold}`);
}

/** Members whose allocatable cannot be added up (their pool has status 500) or of which something is left out. */
export function checkQuantities(pools: NodePool[], state: ClusterState): CheckFinding {
  const details = pools.flatMap(({ metadata }) => {
    const members = state.members(metadata.name);
    const problems: string[] = [];
    sumResourceLists(
      members.map(({ allocatable }) => allocatable),
      (place, problem) => problems.push(`${metadata.name}: node ${members[place]?.name}: ${problem}`),
    );
    return problems;
  });
  const omitted = pools.flatMap(({ metadata: { name } }) =>
    state.members(name).flatMap(node => omittedTexts(node).map(text => `${name}: left out: ${text}`)),
  );
  if (details.length === 0 && omitted.length > 0) {
    return warning(
      'the sums leave out some resources that members report',
      'check what the kubelets or device plugins report, and who has the credentials of the nodes',
      omitted,
    );
  }
  if (details.length === 0) return ok('the allocatable resources of all members can be summed');
  return error('members report unreadable quantities', 'correct what the kubelets or device plugins report', [
    ...details,
    ...omitted,
  ]);
}
