/** Computes the status of a pool from the observed state. Only transition times are carried over. */

import { isInherited } from '../membership/membership.ts';
import { DRAINING, withheldText } from '../plan/no-execute.ts';
import { MAX_RESOURCES, omittedTexts, sortByReports } from '../quantity/node-resources.ts';
import { sumResourceLists } from '../quantity/quantity.ts';
import { isPaused, type RolloutProgress } from '../rollout/rollout.ts';
import type { FieldError } from '../spec/field-error.ts';
import { taintId } from '../spec/taints.ts';
import { ellipsize, firstFew, noun, plural } from '../text.ts';
import {
  type Condition,
  FINALIZER,
  type Node,
  type NodePool,
  type NodePoolStatus,
  type ResourceList,
  type StoppedRollout,
} from '../types.ts';

/** The meaning of `status.status`. */
export const STATUS_WORDS: Readonly<Record<number, string>> = {
  200: 'Normal',
  409: 'Conflict',
  422: 'Invalid',
  500: 'Failing',
  503: 'NotReady',
};

/** Maximum number of nodes in a message. */
const MAX_NAMED = 5;
/** In bytes. */
const MAX_SENTENCE_BYTES = 1024;
/** The conditions of a pool, each with the status of a pool without problems; `either`: it is not about problems. */
export const GOOD_STATUS: Readonly<Record<Condition['type'], 'True' | 'False' | 'either'>> = {
  Ready: 'True',
  Applied: 'True',
  Conflict: 'False',
  Progressing: 'either',
  Reconciling: 'either',
  Stalled: 'False',
  Contested: 'False',
  ResourcesOmitted: 'False',
  TaintsNotRestored: 'False',
  StartupTaintsStuck: 'False',
};

export interface PoolObservation {
  members: Node[];
  specErrors: FieldError[];
  /** One sentence for each node that another pool owns, and for a RuntimeClass of another owner. */
  conflicts: { reason: 'NodeConflict' | 'RuntimeClassConflict'; message: string }[];
  /** Names of members that differ from the labels and taints of the pool. */
  differing: readonly string[];
  /** One sentence for each failed write. */
  failures: string[];
  /** Pods on the members; undefined if pods are not counted. */
  podCount: number | undefined;
  /** Why nodes are not written yet, or that all are; only if the pool is paused or has spec.rollout. */
  rollout?: RolloutProgress | undefined;
  /** Undefined: unchanged. */
  stoppedRollouts?: StoppedRollout[];
  /** The pods that are evicted before nodes get a taint, as a sentence. */
  draining?: string | undefined;
  /** NoExecute taints that this reconcile did not restore: nodes by the text of the taint. */
  withheld?: readonly (readonly [taint: string, nodes: readonly string[]])[];
  /** Startup taints that have been on their nodes for too long, as sentences. */
  stuckStartup?: readonly string[];
  /** What others repeatedly change back, slowly: see reconciler/limits/contested-keys.ts. */
  contested?: string | undefined;
  /** The pool is being deleted: the members are the nodes that it could not release, and all of them differ. */
  isReleased?: boolean;
}

/** @param now RFC 3339, for conditions that change */
export function computeStatus(pool: NodePool, observed: PoolObservation, now: string): NodePoolStatus {
  const { members, specErrors, conflicts, differing, failures, podCount, rollout, draining, contested, isReleased } =
    observed;
  const stopped = observed.stoppedRollouts ?? pool.status?.stoppedRollouts ?? [];
  const ready = members.filter(node => node.ready).length;
  const unreadable: string[] = [];
  const sums = sumResourceLists(
    members.map(node => node.allocatable),
    (place, problem) => unreadable.push(`node ${members[place]?.name}: ${problem}`),
  );
  const status =
    specErrors.length > 0
      ? 422
      : failures.length > 0 || unreadable.length > 0
        ? 500
        : conflicts.length > 0
          ? 409
          : members.length > 0 && ready === 0
            ? 503
            : 200;
  const firstConflict = conflicts[0];
  const invalid = summarize(specErrors.map(error => `${error.field}: ${error.message}`));
  const isWritten = specErrors.length === 0 && failures.length === 0;
  const applied = isWritten && differing.length === 0;
  const generation = pool.metadata.generation;
  // Not set on a pool of the earlier operator until everything is applied (see membership.ts).
  const observedGeneration = isInherited(pool) && (!applied || isPaused(pool)) ? undefined : generation;

  const condition = (type: Condition['type'], isTrue: boolean, reason: string, message: string): Condition => {
    const before = pool.status?.conditions?.find(candidate => candidate.type === type);
    const value = isTrue ? 'True' : 'False';
    // A rollout that stops right after a completed or paused one does not change the False status. The time is when it
    // stopped, by the clocks of its nodes, because recovery is compared with it.
    const isNewStop =
      reason === 'RolloutStopped' && (before?.reason !== reason || before.observedGeneration !== generation);
    const stays = before?.status === value && !(type === 'Progressing' && isNewStop);
    return {
      type,
      status: value,
      reason,
      message: fitMessage(message),
      lastTransitionTime: stays ? before.lastTransitionTime : (isNewStop && rollout?.since) || now,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  };
  const readyText = `${ready} of ${members.length} ${members.length === 1 ? 'node is' : 'nodes are'} Ready`;
  const unreadableText: [string, string] = ['UnreadableQuantity', summarize(unreadable.toSorted())];
  const readyReasons: Record<number, [string, string]> = {
    200: ['PoolReady', readyText],
    409: [firstConflict?.reason ?? 'Conflict', 'see condition Conflict'],
    422: ['InvalidSpec', invalid],
    500: isWritten ? unreadableText : ['WriteFailed', 'see condition Applied'],
    503: ['NoReadyNode', readyText],
  };
  const [readyReason, readyMessage] = readyReasons[status] ?? ['Unknown', ''];
  // The text of earlier versions, if there are no annotations: another text would cause a write.
  const fields = pool.spec.annotations === undefined ? 'labels and taints' : 'labels, taints and annotations';
  // A completed rollout leaves nothing to wait for.
  const waitingReason = rollout?.reason === 'RolloutComplete' ? undefined : rollout?.reason;
  const appliedText = (): [reason: string, message: string] => {
    if (isReleased) return releaseText(differing, failures, fields);
    if (applied) return ['Applied', `every member has the ${fields} of the pool`];
    if (specErrors.length > 0) return ['InvalidSpec', summarize([invalid, ...failures])];
    const verb = differing.length === 1 ? 'differs' : 'differ';
    const count = `${differing.length} of ${plural(members.length, 'node')} ${verb} from the ${fields} of the pool`;
    if (isWritten) {
      const why = draining ?? firstFew(differing.toSorted(), MAX_NAMED);
      return [waitingReason ?? (draining === undefined ? 'NodesNotUpdated' : DRAINING), `${count}: ${why}`];
    }
    return ['WriteFailed', `${differing.length > 0 ? `${count}; ` : ''}${summarize(failures)}`];
  };
  // For 422 and 500: kstatus shows Failed with only this message.
  const stoppedText: [string, string] | undefined =
    rollout?.reason === 'RolloutStopped' ? [rollout.reason, rollout.message] : undefined;
  const stalledText = !isWritten ? appliedText() : unreadable.length > 0 ? unreadableText : stoppedText;
  const rolloutConditions = (): Condition[] => {
    const isRunning = rollout?.reason === 'RolloutInProgress';
    const isUnfinished = isRunning || (rollout?.reason === 'Paused' && differing.length > 0);
    const drain = draining === undefined ? undefined : { reason: DRAINING, message: draining };
    const running = isUnfinished ? rollout : drain;
    return [
      ...(rollout === undefined ? [] : [condition('Progressing', isRunning, rollout.reason, rollout.message)]),
      // kstatus reads Reconciling before Stalled.
      ...(running && stalledText === undefined
        ? [condition('Reconciling', true, running.reason, running.message)]
        : []),
    ];
  };
  const omission = (omittedSums: number): Condition[] => {
    // Sorted, because members have no order and a different text would cause a write.
    const texts = members.flatMap(omittedTexts).toSorted();
    if (omittedSums > 0)
      texts.unshift(`${plural(omittedSums, 'sum')} beyond ${MAX_RESOURCES} resources or 64 KiB of status`);
    if (texts.length === 0) return [];
    return [condition('ResourcesOmitted', true, 'ResourcesOmitted', `left out of allocatable: ${summarize(texts)}`)];
  };
  /** Kept until the spec changes, because only the status stores it. */
  const notRestored = (): Condition[] => {
    const before = pool.status?.conditions?.find(
      ({ type, observedGeneration }) => type === 'TaintsNotRestored' && observedGeneration === generation,
    );
    const text = withheldText(before?.message, observed.withheld ?? []);
    return text === undefined ? [] : [condition('TaintsNotRestored', true, 'EvictsPods', text)];
  };
  const startupStuck = (): Condition[] => {
    const { stuckStartup = [] } = observed;
    return stuckStartup.length === 0
      ? []
      : [condition('StartupTaintsStuck', true, 'NotLifted', summarize([...stuckStartup]))];
  };
  const withSums = (allocatable: ResourceList): NodePoolStatus => ({
    status,
    nodeCount: members.length,
    readyNodeCount: ready,
    ...(specErrors.length > 0 ? {} : { updatedNodeCount: members.length - differing.length }),
    unschedulableNodeCount: members.filter(node => node.unschedulable).length,
    ...(podCount === undefined ? {} : { podCount }),
    allocatable,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(stopped.length === 0 ? {} : { stoppedRollouts: stopped }),
    conditions: [
      condition('Ready', status === 200, readyReason, readyMessage),
      condition('Applied', applied, ...appliedText()),
      condition(
        'Conflict',
        conflicts.length > 0,
        firstConflict?.reason ?? 'NoConflict',
        summarize(conflicts.map(conflict => conflict.message)),
      ),
      ...rolloutConditions(),
      ...(stalledText === undefined ? [] : [condition('Stalled', true, ...stalledText)]),
      ...(contested === undefined ? [] : [condition('Contested', true, 'RepeatedRepairs', contested)]),
      ...omission(Object.keys(sums).length - Object.keys(allocatable).length),
      ...notRestored(),
      ...startupStuck(),
      ...(pool.status?.conditions ?? []).filter(({ type }) => !Object.hasOwn(GOOD_STATUS, type)),
    ],
  });
  // The room for the sums: the limit minus the status without them.
  return withSums(fitSums(sums, members, MAX_STATUS_BYTES - jsonBytes(withSums({}))));
}

function releaseText(
  unreleased: readonly string[],
  failures: string[],
  fields: string,
): [reason: string, message: string] {
  if (failures.length === 0) return ['Released', 'every node is released'];
  const verb = unreleased.length === 1 ? 'has' : 'have';
  const nodes = `${plural(unreleased.length, 'node')} still ${verb} its ${fields}: ${firstFew(unreleased.toSorted(), MAX_NAMED)}`;
  return ['WriteFailed', `cannot release the pool: ${summarize([unreleased.length === 0 ? '' : nodes, ...failures])}`];
}

/** Since when the pool is being deleted, and what blocks the deletion, if the object tells. */
export function deletionText(pool: NodePool): string | undefined {
  const { deletionTimestamp, finalizers = [] } = pool.metadata;
  if (deletionTimestamp === undefined) return undefined;
  const since = `being deleted since ${deletionTimestamp}`;
  const failure = releaseFailure(pool);
  if (failure !== undefined) return `${since}: ${failure}`;
  if (finalizers.length === 0 || finalizers.includes(FINALIZER)) return since;
  const one = finalizers.length === 1;
  return `${since}: the ${noun(finalizers.length, 'finalizer')} ${finalizers.join(', ')} ${one ? 'keeps' : 'keep'} it`;
}

/** Why the nodes of a pool that is being deleted could not be released. */
export function releaseFailure({ metadata, status }: NodePool): string | undefined {
  const trouble = troubleIn(status);
  // The deletion has raised the generation: earlier conditions describe the pool before it.
  const isOfDeletion = metadata.deletionTimestamp !== undefined && trouble?.observedGeneration === metadata.generation;
  return isOfDeletion && trouble?.type === 'Applied' ? trouble.message : undefined;
}

/**
 * Whether the spec changed after the last reconcile: the status has an older generation. A deletion also changes the
 * generation, but is not an edit; the earlier operator wrote no observedGeneration.
 */
export function isStale({ metadata, status }: NodePool): boolean {
  const { generation = 0, deletionTimestamp } = metadata;
  return (
    status?.status !== undefined &&
    deletionTimestamp === undefined &&
    (status.observedGeneration ?? generation) < generation
  );
}

/** The condition that best explains why a pool is not as desired; Ready only refers to the others. */
export function troubleIn(status: NodePoolStatus | undefined): Condition | undefined {
  const conditions = status?.conditions ?? [];
  return (
    conditions.find(({ type, status: value }) => type === 'Applied' && value === 'False') ??
    conditions.find(({ type, status: value }) => type === 'Conflict' && value === 'True') ??
    conditions.find(({ type, status: value }) => type === 'Ready' && value !== 'True')
  );
}

/** What others repeatedly change back on nodes of the pool. */
export function contestIn(status: NodePoolStatus | undefined): string | undefined {
  return messageIn(status, 'Contested');
}

/** Startup taints that have been on nodes of the pool for too long. */
export function stuckStartupIn(status: NodePoolStatus | undefined): string | undefined {
  return messageIn(status, 'StartupTaintsStuck');
}

/** NoExecute taints that the pool displaced and did not restore. */
export function withheldIn(status: NodePoolStatus | undefined): string | undefined {
  return messageIn(status, 'TaintsNotRestored');
}

function messageIn(status: NodePoolStatus | undefined, wanted: Condition['type']): string | undefined {
  return status?.conditions?.find(({ type, status: value }) => type === wanted && value === 'True')?.message;
}

/** The condition that explains why nodes differ from the pool although nothing fails. */
export function unfinishedRollout(status: NodePoolStatus | undefined): Condition | undefined {
  return status?.conditions?.find(({ type, reason }) => type === 'Progressing' && reason !== 'RolloutComplete');
}

/** The first few sentences and the number of the others: people read conditions, and a value may have 1 MB. */
function summarize(sentences: string[], most = 5): string {
  const said = sentences.filter(sentence => sentence !== '').map(sentence => ellipsize(sentence, MAX_SENTENCE_BYTES));
  return firstFew(said, most, '; ', '; ');
}

// Bounds the size of a pool's status: etcd rejects objects of 1.5 MB, and every watch receives the status.

/** Maximum of the complete status as JSON, in bytes. */
const MAX_STATUS_BYTES = 64 * 1024;
/** Maximum of one condition's message as JSON, in bytes: four of them leave half of the status for resources. */
const MAX_MESSAGE_BYTES = 8 * 1024;

/**
 * The sums that fit into the status: native resources first, then those that most members report, then by name. So one
 * node cannot displace resources that several nodes have.
 *
 * @param room for the sums as JSON, in bytes
 */
function fitSums(sums: ResourceList, members: readonly Node[], room: number): ResourceList {
  const names = Object.keys(sums);
  if (names.length <= MAX_RESOURCES && jsonBytes(sums) <= room) return sums;
  const kept: [string, string][] = [];
  let bytes = jsonBytes({});
  const lists = members.map(({ allocatable }) => Object.keys(allocatable));
  for (const name of sortByReports(names, lists).slice(0, MAX_RESOURCES)) {
    const sum = sums[name] ?? '0';
    // Plus colon and comma.
    bytes += jsonBytes(name) + jsonBytes(sum) + 2;
    if (bytes > room) break;
    kept.push([name, sum]);
  }
  return Object.fromEntries(kept);
}

/** Truncates the message to 8 KiB of JSON. Escaped characters take up to six times their bytes. */
function fitMessage(message: string): string {
  let fitted = message;
  for (let limit = MAX_MESSAGE_BYTES; jsonBytes(fitted) > MAX_MESSAGE_BYTES; limit /= 2) {
    fitted = ellipsize(message, limit);
  }
  return fitted;
}

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Maximum number of nodes in one message. */
const MAX_CONFLICTING = 10;

/** Each names both pools. @param lost nodes of other owners @param foreignRuntimeClass has another owner */
export function conflictMessages(
  pool: NodePool,
  lost: { node: Node; owner: NodePool }[],
  foreignRuntimeClass?: string,
): PoolObservation['conflicts'] {
  const byOwner = Map.groupBy(lost, ({ owner }) => owner.metadata.name);
  const owners = [...byOwner].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const conflicts: PoolObservation['conflicts'] = owners.map(([owner, nodes]) => ({
    reason: 'NodeConflict',
    message: nodeConflict(pool, owner, nodes.map(({ node }) => node.name).toSorted()),
  }));
  if (foreignRuntimeClass !== undefined) {
    conflicts.push({
      reason: 'RuntimeClassConflict',
      message: `RuntimeClass ${foreignRuntimeClass} exists but does not belong to pool ${pool.metadata.name}; not changed`,
    });
  }
  return conflicts;
}

/** The labels, taints, startup taints and annotations that a node does not get from a pool that lost it. */
export function specKeys({ spec }: NodePool): string[] {
  const { labels = {}, taints = [], startupTaints = [], annotations = {} } = spec;
  return [...Object.keys(labels), ...[...taints, ...startupTaints].map(taintId), ...Object.keys(annotations)];
}

function nodeConflict(pool: NodePool, owner: string, nodes: string[]): string {
  const verb = nodes.length === 1 ? 'belongs' : 'belong';
  const keys = specKeys(pool);
  const kept = keys.length > 0 ? `; not applied there: ${keys.join(', ')}` : '';
  return `${noun(nodes.length, 'node')} ${firstFew(nodes, MAX_CONFLICTING)} ${verb} to pool ${owner} but also ${nodes.length === 1 ? 'matches' : 'match'} pool ${pool.metadata.name}${kept}`;
}
