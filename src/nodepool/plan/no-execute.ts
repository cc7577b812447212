/**
 * `spec.noExecute: Drain`: sets a NoExecute taint on a node only when it has no pod left that the taint would evict.
 * Until then a stand-in, the same taint with the effect NoSchedule, keeps new pods away, and the record has the values
 * for which the drain began, and the time.
 *
 * Spec, record and node determine the actions. The caller of the plan must find out whether the pods are gone.
 */
import { type DrainPod, hasEnded } from '../drain/drain-filters.ts';
import { evictedAfter, taintFrom, taintId, tolerates } from '../spec/taints.ts';
import { andMore, firstFew, plural } from '../text.ts';
import type { NodePool, Taint } from '../types.ts';
import type { Change } from './change.ts';
import type { SlotPolicy, SlotWrite } from './merge-slots.ts';
import { type AppliedRecord, type AppliedSlot, mayRemoveUnmanaged } from './record.ts';

/** Values by taint id, such as `dedicated:NoExecute`. */
export type Draining = ReadonlyMap<string, string>;

export interface DeferredTaints {
  /** Taints that wait, with their values. */
  draining: Draining;
  /** Taints that the pool sets in the meantime, by id. */
  standIns: ReadonlyMap<string, string>;
  /** Live taints that do not change in the meantime: those to be replaced, and stand-ins of another writer. */
  untouched: ReadonlySet<string>;
}

/** @param kept live taints, except removed startup taints @param startup ids of startup taints that are set */
export function deferredTaints(
  live: ReadonlyMap<string, string>,
  kept: ReadonlyMap<string, string>,
  record: AppliedRecord | undefined,
  pool: NodePool,
  startup: ReadonlySet<string>,
  { isTransient }: SlotPolicy,
): DeferredTaints | undefined {
  const { metadata, spec } = pool;
  if (spec.noExecute !== 'Drain') return undefined;
  const applied = record?.pool === metadata.name ? record.taints : undefined;
  const own = new Set((spec.taints ?? []).map(taintId));
  const isOver = (taint: Taint) =>
    isTransient(taintId(taint)) && applied?.get(taintId(taint))?.value === (taint.value ?? '');
  const waiting = [
    ...(spec.taints ?? []).filter(
      taint => taint.effect === 'NoExecute' && live.get(taintId(taint)) !== (taint.value ?? '') && !isOver(taint),
    ),
    ...restoredTaints(applied, live, pool).filter(taint => !own.has(taintId(taint)) && !isTransient(taintId(taint))),
  ];
  if (waiting.length === 0) return undefined;
  const standIns = new Map<string, string>();
  const untouched = new Set(waiting.map(taintId));
  for (const { key, value = '' } of waiting) {
    const id = taintId({ key, effect: 'NoSchedule' });
    if (own.has(id)) continue;
    const isTheirs = kept.has(id) && record?.taints.get(id)?.value !== kept.get(id);
    if (isTheirs) untouched.add(id);
    // A startup taint with that key keeps pods away as well.
    else if (!startup.has(id)) standIns.set(id, value);
  }
  return { draining: new Map(waiting.map(taint => [taintId(taint), taint.value ?? ''])), standIns, untouched };
}

/** Displaced NoExecute taints that the pool restores, because its spec neither sets nor strips them any more. */
function restoredTaints(
  applied: AppliedRecord['taints'] = new Map(),
  live: ReadonlyMap<string, string>,
  { spec }: NodePool,
): Taint[] {
  return [...applied].flatMap(([id, { value, displaced }]) => {
    const isUnchanged = displaced !== undefined && (live.get(id) ?? null) === value && displaced !== value;
    if (!isUnchanged || !id.endsWith(':NoExecute')) return [];
    return spec.unmanaged === 'Remove' && mayRemoveUnmanaged(id) ? [] : [taintFrom(id, displaced)];
  });
}

/** Whether the record says that the drain for exactly these values has begun. */
export function hasBegun(record: AppliedRecord | undefined, { draining }: DeferredTaints): boolean {
  const begun = record?.draining;
  return begun?.size === draining.size && [...draining].every(([id, value]) => begun.get(id) === value);
}

/** The final writes, in addition to liftedStandIns(). */
export function deferredWrites(
  { draining }: DeferredTaints,
  live: ReadonlyMap<string, string>,
  applied: ReadonlyMap<string, AppliedSlot> | undefined,
): SlotWrite[] {
  return [...draining].map(([id, to]): SlotWrite => {
    const from = live.get(id) ?? null;
    const why = applied?.get(id)?.value === to ? 'drift' : 'spec';
    return { id, from, to, action: from === null ? 'add' : 'change', why };
  });
}

/** Removes the stand-ins at the end. */
export function liftedStandIns({ standIns }: DeferredTaints, applied: ReadonlyMap<string, AppliedSlot>): SlotWrite[] {
  return [...standIns].map(([id, from]): SlotWrite => {
    const to = applied.get(id)?.displaced ?? null;
    return { id, from, to, action: to === null ? 'remove' : 'restore', why: 'released' };
  });
}

/** Whether the change belongs to a drain; it then shares the rollout slot of the taint (none for drift). */
export function isOfDrain(
  { kind, key, effect }: Change,
  drain: { lifted: readonly SlotWrite[]; untouched: ReadonlySet<string> } | undefined,
): boolean {
  if (kind !== 'taint' || drain === undefined) return false;
  const taint = `${key}:${effect}`;
  return drain.untouched.has(taint) || drain.lifted.some(({ id }) => id === taint);
}

export function drainingTaints(draining: Draining = new Map()): Taint[] {
  return [...draining].map(([id, value]) => taintFrom(id, value));
}

/** The reason of the condition Applied while pods are evicted. */
export const DRAINING = 'Draining';
/** Maximum number of nodes named in a message. */
const MAX_NAMED = 3;

/** `pods of 2 nodes are evicted before NoExecute taints are set: a, b; pod ns/p on node a waits for …` */
export function drainingText({ nodes, blocked }: { nodes: readonly string[]; blocked: string | undefined }): string {
  const what = `pods of ${plural(nodes.length, 'node')} are evicted before NoExecute taints are set`;
  return `${what}: ${firstFew(nodes, MAX_NAMED)}${blocked === undefined ? '' : `; ${blocked}`}`;
}

export interface PodsLeft {
  pods: DrainPod[];
  /** These pods are recreated as soon as they are gone. */
  areLast: boolean;
  /** Pods that came back after the pods of their owner were evicted. */
  returned: DrainPod[];
}

/**
 * Pods to evict before the taints are set; if there are none, the taints may be set. As in the taint eviction
 * controller, a pod stays only if it tolerates all of them without a time limit. Terminated and mirror pods do not count.
 *
 * Pods that tolerate the stand-ins, such as those of a DaemonSet that tolerates every NoSchedule, come back as soon as
 * they are gone. So they are evicted last, and only until they terminate or are not Ready: budgets do not count such
 * pods, so the NoExecute taint that ends them does not violate a budget.
 * @param taints to be set @param live of the node
 * @param isReturned whether the pod came after the pods of its owner were evicted; `tolerates`: all stand-ins
 */
export function podsLeft(
  pods: readonly DrainPod[],
  taints: readonly Taint[],
  live: readonly Taint[],
  isReturned: (pod: DrainPod, tolerates: boolean) => boolean = () => false,
): PodsLeft {
  const keys = new Set(taints.map(({ key }) => key));
  const closing = live.filter(({ key, effect }) => effect === 'NoSchedule' && keys.has(key));
  const returns = ({ placement: { tolerations } }: DrainPod) =>
    closing.every(taint => tolerations.some(toleration => tolerates(toleration, taint)));
  const isCounted = (pod: DrainPod) => pod.isReady && pod.deletionTimestamp === undefined;
  const affected = pods.filter(
    pod => !pod.isMirror && !hasEnded(pod) && evictedAfter(pod.placement.tolerations, taints) !== Infinity,
  );
  const { first = [], back = [] } = Object.groupBy(affected, pod => (isReturned(pod, returns(pod)) ? 'back' : 'first'));
  const returned = back.filter(isCounted);
  const staysAway = first.filter(pod => !returns(pod));
  if (staysAway.length > 0) return { pods: staysAway, areLast: false, returned };
  const last = first.filter(isCounted);
  return { pods: last, areLast: last.length > 0, returned };
}

/** Maximum number of taints and nodes that a condition names. */
const MAX_WITHHELD_TAINTS = 20;
const MAX_WITHHELD_NODES = 5;

/**
 * `not set again, because they would evict pods: taint a=b:NoExecute of 12 nodes: n1, n2, n3, n4, n5 and 7 more; ...`
 * @param before the previous message, which names only the first nodes
 * @param withheld nodes by the text of the taint
 */
export function withheldText(
  before: string | undefined,
  withheld: readonly (readonly [taint: string, nodes: readonly string[]])[],
): string | undefined {
  if (withheld.length === 0) return before;
  const known = before?.matchAll(/\btaint (\S+) of (\d+) nodes?: ([^;]*?)(?: and \d+ more)?(?=;)/g) ?? [];
  const all = new Map<string, { count: number; names: readonly string[] }>();
  for (const [, taint = '', count, names = ''] of known)
    all.set(taint, { count: Number(count), names: names.split(', ') });
  for (const [taint, nodes] of withheld) {
    const { count, names } = all.get(taint) ?? { count: 0, names: [] };
    const others = nodes.filter(node => !names.includes(node));
    all.set(taint, { count: count + others.length, names: [...names, ...others].slice(0, MAX_WITHHELD_NODES) });
  }
  const texts = [...all].map(
    ([taint, { count, names }]) =>
      `taint ${taint} of ${plural(count, 'node')}: ${names.join(', ')}${andMore(count - names.length, ' ')}`,
  );
  return `not set again, because they would evict pods: ${firstFew(texts, MAX_WITHHELD_TAINTS, '; ', '; ')}; to set one: \`kubectl taint nodes NODE TAINT\``;
}
