/** How a changed spec reaches the nodes of a pool: the condition Progressing, and pauses. */
import { NodepoolError } from '../errors.ts';
import { memberLabels } from '../membership/selector.ts';
import { taintId } from '../spec/taints.ts';
import { firstFew, noun, plural } from '../text.ts';
import { parseTime, timestamp } from '../timestamp.ts';
import {
  type Condition,
  type NodePool,
  type NodePoolStatus,
  RESUMED_ANNOTATION,
  type StoppedRollout,
} from '../types.ts';
import type { RolloutStep, RolloutStop } from './rollout-step.ts';

/** The content of the condition Progressing. */
export interface RolloutProgress {
  reason: 'Paused' | 'RolloutInProgress' | 'RolloutStopped' | 'RolloutComplete';
  message: string;
  /** RFC 3339, by the clocks of the nodes: see RolloutStep.stoppedAt. Absent: now. */
  since?: string;
}

/** Maximum number of nodes named in a message. */
const MAX_NAMED = 3;

/** Deletion has priority over a pause: the pool still releases its nodes. */
export function isPaused({ metadata, spec }: NodePool): boolean {
  return spec.paused === true && metadata.deletionTimestamp === undefined;
}

/** For a command that should change a node. @param what was not done, such as `node a was not written` */
export function pausedError(what: string, pool: string): NodepoolError {
  return new NodepoolError(
    'input',
    `${what}: pool ${pool} is paused`,
    `resume the pool with \`kubectl nodepool rollout resume ${pool}\``,
  );
}

/** The condition at the last reconcile. */
export function progressOf({ status }: { status?: NodePoolStatus | undefined }): Condition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Progressing');
}

/** @param differing number of nodes that differ from the spec */
export function pausedProgress(pool: string, differing: number, nodes: number): RolloutProgress {
  const waiting = `${differing} of ${plural(nodes, 'node')} ${differing === 1 ? 'waits' : 'wait'} for`;
  const what = differing === 0 ? 'the pool is paused' : `the pool is paused and ${waiting} its changes`;
  return { reason: 'Paused', message: `${what}: no node is written until \`kubectl nodepool rollout resume ${pool}\`` };
}

/** `30 of 1000 nodes updated, 10 settling (a, b, c and 7 more), waiting for the canary (10) to settle` */
export function rolloutProgress(pool: string, step: RolloutStep): RolloutProgress {
  const { nodes, pending, settling, unsettled, failed, notReady, skipped, leaving, canary } = step;
  const before = `${noun(skipped.length, 'node')} ${firstFew(skipped, MAX_NAMED)} (NotReady before the change)`;
  const notWaited = skipped.length === 0 ? '' : ` without waiting for ${before}`;
  const updated = `${nodes - pending} of ${plural(nodes, 'node')} updated${notWaited}`;
  if (step.isStopped) {
    const mend = failed.length > 0 ? `fix ${failed.length === 1 ? 'it' : 'them'}, ` : '';
    const next = `${mend}edit the pool, or continue with \`kubectl nodepool rollout resume ${pool}\``;
    const since = step.stoppedAt ? { since: timestamp(new Date(step.stoppedAt)) } : {};
    return { reason: 'RolloutStopped', message: `${updated}; stopped: ${stopText(step)}; ${next}`, ...since };
  }
  if (pending + settling === 0) return { reason: 'RolloutComplete', message: updated };
  const names = unsettled.length > 0 ? ` (${firstFew(unsettled, MAX_NAMED)})` : '';
  const parts = [
    updated,
    ...(settling > 0 ? [`${settling} settling${names}`] : []),
    ...(step.isCanary ? [`waiting for the canary (${canary}) to settle`] : []),
  ];
  const waitsFor =
    notReady.length > 0
      ? `; ${waitsForText(pool, notReady)}`
      : leaving.length > 0
        ? `; ${leavingText(leaving)}: wait for another Ready node, or remove the canary from the pool`
        : '';
  return { reason: 'RolloutInProgress', message: `${parts.join(', ')}${waitsFor}` };
}

/** `node a turned NotReady after the change and is gone` */
function stopText({ failed, stop, isGone }: RolloutStep): string {
  const names = failed.length > 0 ? failed : (stop?.nodes ?? []);
  const who = names.length === 0 ? 'a node' : `${noun(names.length, 'node')} ${firstFew(names, MAX_NAMED)}`;
  const gone = names.length > 1 ? ' and are gone' : ' and is gone';
  return `${who} turned NotReady after the change${isGone ? gone : ''}`;
}

function waitsForText(pool: string, names: readonly string[]): string {
  const [is, them] = names.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const who = `${noun(names.length, 'node')} ${firstFew(names, MAX_NAMED)} ${is} NotReady`;
  return `${who}: fix ${them}, or continue without ${them} with \`kubectl nodepool rollout resume ${pool}\``;
}

/** `nodes a, b are being removed and cannot be the canary` */
function leavingText(names: readonly string[]): string {
  const is = names.length === 1 ? 'is' : 'are';
  return `${noun(names.length, 'node')} ${firstFew(names, MAX_NAMED)} ${is} being removed and cannot be the canary`;
}

/** Reasons of a False condition Applied if only a rollout step is missing. */
export function isRolloutReason(reason: string): boolean {
  return ['Paused', 'RolloutInProgress', 'RolloutStopped'].includes(reason);
}

/** The current step of a rollout, and the steps that follow. */
export function stepsText(step: RolloutStep): string {
  const { pending, settling, next, notReady, leaving, canary, limit, isCanary } = step;
  const left = pending - next.length;
  if (step.isStopped) {
    return `stopped: ${stopText(step)}; ${plural(left, 'node')} left`;
  }
  const parts = [
    ...(next.length > 0 ? [`${plural(next.length, 'node')} now${isCanary ? ` (canary of ${canary})` : ''}`] : []),
    ...(settling > 0 ? [`${settling} settling`] : []),
  ];
  const none =
    isCanary && notReady.length + leaving.length > 0 ? 'none now, because no Ready node can be the canary' : 'none now';
  const now = parts.length === 0 ? none : parts.join(', ');
  if (left === 0) return now;
  const most = Math.min(left, limit);
  return `${now}; then ${plural(left, 'node')} in ${plural(Math.ceil(left / most), 'step')} of at most ${most}`;
}

// The stops in the status of a pool: by spec, independent of nodes, pauses and other settings.

/** Maximum number of specs; the oldest is dropped. */
const MAX_STOPPED = 10;
/** Maximum number of node names of one stop. */
const MAX_NODES = 10;

/** The stop of the current spec; `rollout resume` may have ended it after the status was written. */
export function stoppedRollout(pool: NodePool): RolloutStop | undefined {
  if (pool.status?.stoppedRollouts === undefined) return undefined;
  const hash = rolloutHash(pool);
  const found = pool.status.stoppedRollouts.find(({ rollout }) => rollout === hash);
  const at = parseTime(found?.time);
  return found === undefined || Number.isNaN(at) ? undefined : { at, nodes: found.nodes ?? [] };
}

/** Whether the last reconcile found the rollout stopped, and nobody has resumed it since. */
export function isStopped(pool: NodePool): boolean {
  const found = progressOf(pool);
  if (found?.reason !== 'RolloutStopped') return false;
  const at = stoppedRollout(pool)?.at ?? parseTime(found.lastTransitionTime);
  return !(at <= resumedAt(pool));
}

function resumedAt({ metadata }: NodePool): number {
  return parseTime(metadata.annotations?.[RESUMED_ANNOTATION]);
}

/** @param step undefined if nothing is known about the current spec */
export function stoppedRollouts(pool: NodePool, step: Pick<RolloutStep, 'stop'> | undefined): StoppedRollout[] {
  const before = pool.status?.stoppedRollouts ?? [];
  if (step === undefined) return before;
  const [hash, { stop }] = [rolloutHash(pool), step];
  const resumed = resumedAt(pool);
  // Resuming the current spec does not resume the others.
  const others = before.map(each =>
    each.rollout !== hash && Date.parse(each.time) <= resumed ? { ...each, time: after(resumed) } : each,
  );
  if (stop === undefined) return others.filter(({ rollout }) => rollout !== hash);
  const nodes = stop.nodes.slice(0, MAX_NODES);
  const current = { rollout: hash, time: timestamp(new Date(stop.at)), ...(nodes.length === 0 ? {} : { nodes }) };
  const isKnown = others.some(({ rollout }) => rollout === hash);
  if (isKnown) return others.map(each => (each.rollout === hash ? current : each));
  return [...others, current].slice(-MAX_STOPPED);
}

function after(time: number): string {
  return timestamp(new Date(time + 1_000));
}

// Identifies the rollout of a spec: records store this hash with the time of the change.

const hashes = new WeakMap<NodePool, string>();

/** Covers only what the spec changes on members: an edit of settleSeconds, for example, begins no new rollout. */
export function rolloutHash(pool: NodePool): string {
  const known = hashes.get(pool);
  if (known !== undefined) return known;
  const { taints = [], annotations = {}, unmanaged = 'Keep' } = pool.spec;
  const parts = [
    pairs(memberLabels(pool)),
    pairs(annotations),
    taints.map(taint => [taintId(taint), taint.value ?? '']).sort(byId),
    // Only joining nodes get startup taints. The empty element keeps the hashes in existing records valid.
    [],
    unmanaged,
  ];
  const hash = hashOf(JSON.stringify(parts));
  hashes.set(pool, hash);
  return hash;
}

function pairs(map: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(map).sort(byId);
}

function byId([a = '']: readonly string[], [b = '']: readonly string[]): number {
  return a < b ? -1 : 1;
}

/** 40 bits in hexadecimal: 32 of FNV-1a, 8 of another hash. Records contain it, so it must not change. */
function hashOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x050c5d1f];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
    b ^= b >>> 15;
  }
  const digits = (value: number, count: number) => (value >>> 0).toString(16).padStart(8, '0').slice(-count);
  return digits(b, 2) + digits(a ^ (a >>> 16), 8);
}
