/** A line for the pods of one owner: where they can go. */
import { firstFew, noun, plural } from '../nodepool/plural.ts';
import { reasonsText } from '../scheduling/fit-reasons.ts';
import type { Destination, Evicted, PodsImpact, StrandedPods } from '../scheduling/impact/types.ts';
import { formatDuration } from './time.ts';

export const MAX_NAMED = 5;

/** `3 pods of Deployment shop/web`, `Pod shop/batch`. */
export function podsText({ namespace, owner, pods }: PodsImpact): string {
  if (owner === undefined) return `Pod ${namespace}/${firstFew(pods, MAX_NAMED)}`;
  return `${plural(pods.length, 'pod')} of ${owner.kind} ${namespace}/${owner.name}`;
}

type PoolOf = (node: string) => string | undefined;

export function evictedLine(group: Evicted, poolOf: PoolOf): string {
  const when = laterText(group);
  const all = group.pods.length;
  const head = `${podsText(group)}${when}`;
  if (group.held === all) return `${head}: ${all === 1 ? 'is not' : 'none is'} evicted, ${HELD}`;
  const next = group.next === undefined ? notRecreated(group) : destinationText(group, group.next, poolOf);
  const { held, mayReturn, pendingAfter } = group;
  const back =
    mayReturn === 0
      ? ''
      : `; ${mayReturn} may come back before the NoExecute taint: ${mayReturn === 1 ? 'it tolerates' : 'they tolerate'} the NoSchedule taint${pendingAfterText(pendingAfter, group.next)}`;
  return `${head}: ${next}${back}${held === 0 ? '' : `; ${held} ${held === 1 ? 'is' : 'are'} not evicted, ${HELD}`}`;
}

function pendingAfterText(pods: number, next: Destination | undefined): string {
  if (pods === 0 || next === undefined) return '';
  return `; after it, ${pods} would stay Pending: ${reasonsText(next.reasons.list(), true)}`;
}

/** Of one key. @param all groups of all keys: how many of their pods a budget holds up is known of the whole group */
export function evictsLine(group: PodsImpact, all: readonly Evicted[]): string {
  const { namespace, owner, pods } = group;
  const isWhole = (each: Evicted) =>
    each.namespace === namespace &&
    (owner === undefined
      ? each.pods[0] === pods[0]
      : each.owner?.kind === owner.kind && each.owner.name === owner.name);
  const whole = all.find(isWhole);
  const held = whole?.held ?? 0;
  if (held === 0) return `evicts ${podsText(group)}`;
  const some =
    pods.length === whole?.pods.length ? `${held} of them ${held === 1 ? 'stays' : 'stay'}` : 'some of them stay';
  return `has to evict ${podsText(group)}; ${pods.length === 1 ? 'it stays' : some}, ${HELD}`;
}

/** Nothing for the pods of a DaemonSet: where they run on, none is created again. */
export function recreatedLine(group: StrandedPods, poolOf: PoolOf): string[] {
  const { owner, next } = group;
  if (next === undefined) return [];
  const own = owner === undefined ? 'no controller recreates it; a new one: ' : '';
  return [`${podsText(group)}: ${own}${destinationText({ owner }, next, poolOf)}`];
}

const HELD = 'as a PodDisruptionBudget holds up the drain';

function notRecreated({ owner }: Evicted): string {
  return owner === undefined ? 'no controller recreates it' : 'recreated on the same nodes';
}

function laterText({ later, pods }: Evicted): string {
  if (later === undefined) return '';
  const [min, max] = [later.min, later.max].map(secondsText);
  const span = min === max ? `after ${min}` : `after ${min} to ${max}`;
  return later.pods === pods.length ? ` ${span}` : ` (${later.pods} ${span})`;
}

function destinationText(
  { owner, afterDrain }: Pick<Evicted, 'owner' | 'afterDrain'>,
  next: Destination,
  poolOf: PoolOf,
): string {
  const { nodes, returns, pending, waiting, reasons } = next;
  const parts = [
    ...placedTexts(next, poolOf),
    ...(nodes.size + returns.size + waiting === 0 ? ['none fits elsewhere'] : []),
    ...(pending === 0 ? [] : [`${pending} would stay Pending: ${reasonsText(reasons.list(), true)}`]),
    ...(pending > 0 && owner?.kind === 'CronJob' ? ['so would those of the next run'] : []),
    ...(waiting === 0 ? [] : [waitingText(waiting)]),
    ...(afterDrain === undefined ? [] : [`once the nodes are drained, ${placedTexts(afterDrain, poolOf).join(', ')}`]),
  ];
  return parts.join('; ');
}

function waitingText(pods: number): string {
  const others = pods === 1 ? '1 other waits' : `${pods} others wait`;
  return `${others} for it, as podManagementPolicy is OrderedReady`;
}

function placedTexts({ nodes, returns, returnSeconds }: Destination, poolOf: PoolOf): string[] {
  const again = `leave again after ${secondsText(returnSeconds)}`;
  return [
    ...(nodes.size === 0 ? [] : [`can go: ${placesText(nodes, poolOf)}`]),
    ...(returns.size > 0 ? [`may come back and ${again}, without end: ${placesText(returns, poolOf)}`] : []),
    ...(returns.size === 0 && nodes.size > 0 && returnSeconds < Infinity ? [`on tainted nodes they ${again}`] : []),
  ];
}

/** `2 on pool core, 1 on node spare-1 (no pool)` */
function placesText(nodes: ReadonlyMap<string, number>, poolOf: PoolOf): string {
  const pooled = new Map<string, number>();
  const others: { node: string; count: number }[] = [];
  for (const [node, count] of nodes) {
    const pool = poolOf(node);
    if (pool === undefined) others.push({ node, count });
    else pooled.set(pool, (pooled.get(pool) ?? 0) + count);
  }
  const texts = [...pooled].toSorted(([, a], [, b]) => b - a).map(([pool, count]) => `${count} on pool ${pool}`);
  if (others.length === 0) return texts.join(', ');
  const count = others.reduce((sum, each) => sum + each.count, 0);
  const names = firstFew(
    others.map(({ node }) => node),
    MAX_NAMED,
  );
  return [...texts, `${count} on ${noun(others.length, 'node')} ${names} (no pool)`].join(', ');
}

function secondsText(seconds: number): string {
  return formatDuration(seconds * 1000);
}
