/** How a change of nodes affects pods and objects that select the nodes; printed below the differences. */

import { formatTaint } from '../../../nodepool/spec/syntax.ts';
import { firstFew, noun, plural } from '../../../nodepool/text.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import { formatDuration } from '../../../print/time.ts';
import { wrapIndented } from '../../../print/width.ts';
import { BY_ORDER } from '../../../scheduling/bounds.ts';
import { reasonsText } from '../../../scheduling/fit-reasons.ts';
import type {
  BudgetImpact,
  DaemonImpact,
  EvictionImpact,
  Impact,
  KeyImpact,
  NotJudged,
  PodDestination,
  PodsImpact,
  StrandedPods,
} from '../../../scheduling/impact/types.ts';
import { PREEMPTION } from '../../../scheduling/not-judged.ts';
import { changeCell } from '../changes/print-diff.ts';
import type { FoundImpact } from './find-impact.ts';

const MAX_LINES = 20;
const NONE = 'Impact: none found';
const UNKNOWN = 'Impact: unknown';
const PARTLY_KNOWN = 'Pods or DaemonSets could not be read: the impact on them is unknown.';
const WELL_KNOWN_ONLY = 'Not checked: other fields of custom resources (diff --impact-path)';

/** @param width longer lines are wrapped; undefined: no wrapping */
export function renderImpact(
  { impact, isKnown, poolOf, isWellKnownOnly, runtimeClasses }: Omit<FoundImpact, 'warnings'>,
  style: Style,
  width = Infinity,
): string {
  const unseen = isWellKnownOnly ? fitted(WELL_KNOWN_ONLY, width) : [];
  if (impact.keys.every(key => linesOf(key, impact.evicted).length === 0))
    return [...fitted(isKnown ? NONE : UNKNOWN, width), ...unseen].join('\n');
  const section = (head: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [[head, ...capped(lines, width)].join('\n')];
  return [
    style.bold('Impact:'),
    ...impact.keys.map(key => keySection(key, impact.evicted, style, width)),
    ...section(
      'Evicted pods:',
      impact.evicted.map(each => evictedLine(each, poolOf)),
    ),
    ...section('PodDisruptionBudgets:', impact.budgets.map(budgetLine)),
    ...section(
      'Pods that keep running, if all are recreated:',
      impact.notAgain.flatMap(each => recreatedLine(each, poolOf)),
    ),
    ...(isKnown ? [] : fitted(PARTLY_KNOWN, width)),
    ...fittedAll(impact.notJudged.map(notJudgedText), width),
    ...fittedAll(besidePods(impact), width),
    ...(hasPending(impact) ? fitted(`Not considered: ${PREEMPTION}.`, width) : []),
    ...(impact.evicted.length + impact.notAgain.length > 0 ? fittedAll(deletedText(runtimeClasses), width) : []),
    ...unseen,
  ].join('\n');
}

/** Without the evicted pods, which the question describes; undefined if nothing remains. */
export function besideEvictions(found: FoundImpact): FoundImpact | undefined {
  const { impact } = found;
  const keys = impact.keys.map(key => ({ ...key, evicted: [] })).filter(key => linesOf(key, []).length > 0);
  if (keys.length === 0 && impact.notAgain.length === 0) return undefined;
  return { ...found, impact: { ...impact, keys, evicted: [], budgets: [] } };
}

/** What happens to evicted pods and their budgets, for a question. */
export function evictionsMean({ impact: { evicted, budgets } }: FoundImpact): string[] {
  const left = evicted.flatMap(({ next }) => (next !== undefined && next.pending > 0 ? next : []));
  const pending = left.reduce((sum, next) => sum + next.pending, 0);
  const would = left.some(mayFit) ? 'may' : 'would';
  return [
    ...(pending === 0 ? [] : [`${pending} of them ${would} stay Pending`]),
    // evictionLosses() explains that budgets do not block these evictions.
    ...budgets.map(each => `PodDisruptionBudget ${budgetText(each)}`),
  ];
}

function notJudgedText({ what, pods }: NotJudged): string {
  return `Not considered: ${what}, for ${firstFew(pods.map(podsText), MAX_NAMED)}.`;
}

const AMONG_PODS = /topology spread|pod affinity|pod anti-affinity/;

/** Scheduling rules are read only for pods on changed nodes. */
function besidePods({ keys }: Impact): string[] {
  const among = keys.filter(
    ({ change, selectedBy }) =>
      change.from !== undefined && selectedBy.some(({ where, isPreferred }) => !isPreferred && AMONG_PODS.test(where)),
  );
  return among.map(
    ({ change: { key } }) =>
      `Not considered: pods on other nodes, which the label ${key} may separate from pods that they must be near.`,
  );
}

function deletedText(classes: FoundImpact['runtimeClasses']): string[] {
  const deleted = classes.filter(({ kind }) => kind === 'delete');
  return deleted.map(
    ({ name }) => `Not considered: RuntimeClass ${name} is deleted, so pods that use it cannot be created afterwards.`,
  );
}

function fittedAll(texts: readonly string[], width: number): string[] {
  return texts.flatMap(text => fitted(sanitizeLine(text), width));
}

function hasPending({ evicted, notAgain, daemonSets }: Impact): boolean {
  const areLeft = [...evicted, ...notAgain].some(({ next }) => next !== undefined && next.pending > 0);
  const areLeftAfter = evicted.some(({ pendingAfter }) => pendingAfter > 0);
  return areLeft || areLeftAfter || daemonSets.some(({ pending }) => pending.length > 0);
}

function keySection(key: KeyImpact, all: readonly EvictionImpact[], style: Style, width: number): string {
  const lines = linesOf(key, all);
  const order = lines.length === 0 ? [] : drainLines(key);
  const { text, paint } = changeCell(key.change, style);
  const head = `${text} on ${plural(key.nodes.length, 'node')}`;
  if (lines.length === 0) return `${paint(sanitizeLine(head))}${style.dim(': no impact found')}`;
  return [`${paint(sanitizeLine(head))}${sanitizeLine(only(key))}`, ...capped([...order, ...lines], width)].join('\n');
}

function only({ holders, change: { key, from = '', to } }: KeyImpact): string {
  if (holders !== 0) return '';
  return `; no other node has ${to === undefined ? 'it' : `${key}=${from}`}`;
}

function drainLines({ drain, nodes }: KeyImpact): string[] {
  if (drain === undefined) return [];
  const where = drain.nodes === nodes.length ? '' : ` on ${plural(drain.nodes, 'node')}`;
  const { closedBy } = drain;
  const first = closedBy === undefined ? '' : `taint ${formatTaint(closedBy)} keeps new pods away first; then `;
  const evictions =
    'pods, including those of DaemonSets, are evicted as PodDisruptionBudgets allow; then this taint is set';
  return [`noExecute: Drain${where}: ${first}${evictions}`];
}

function capped(lines: readonly string[], width: number): string[] {
  const more = lines.length - MAX_LINES;
  return [...lines.slice(0, MAX_LINES), ...(more > 0 ? [`… and ${more} more`] : [])].flatMap(line => {
    return fitted(`  ${sanitizeLine(line)}`, width);
  });
}

function fitted(text: string, width: number): string[] {
  return width === Infinity ? [text] : wrapIndented(text, width);
}

/** @param all groups of evicted pods, for all keys */
function linesOf(
  { daemonSets, evicted, notAgain, shutOut, selectedBy }: KeyImpact,
  all: readonly EvictionImpact[],
): string[] {
  const [soft, hard] = [selectedBy.filter(each => each.isPreferred), selectedBy.filter(each => !each.isPreferred)];
  const named = (what: KeyImpact['selectedBy']) => firstFew(what.map(selectingText), MAX_LINES);
  return [
    ...daemonSets.flatMap(daemonLines),
    ...evicted.map(group => evictsLine(group, all)),
    ...notAgain.map(strandedLine),
    ...(shutOut.length === 0 ? [] : [`no node accepts new pods of ${shutOutText(shutOut)}`]),
    ...(hard.length === 0 ? [] : [`selected by ${named(hard)}`]),
    ...(soft.length === 0 ? [] : [`preferred, not required, by ${named(soft)}`]),
  ];
}

function shutOutText(shutOut: KeyImpact['shutOut']): string {
  return firstFew(
    shutOut.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
    MAX_LINES,
  );
}

function strandedLine(group: PodsImpact): string {
  const [run, back] =
    group.pods.length === 1
      ? ['keeps', 'but could not be scheduled there again']
      : ['keep', 'but could not be scheduled there again'];
  return `${podsText(group)} ${run} running, ${back}`;
}

function daemonLines({ namespace, name, starts, stops, pending, reasons }: DaemonImpact): string[] {
  const where = starts.length === 1 ? 'its pod there' : `its pods on ${pending.length} of them`;
  const lacks = pending.length === 0 ? '' : `; ${where} would stay Pending: ${reasonsText(reasons.list(), true)}`;
  const line = (verb: string, nodes: readonly string[]) =>
    nodes.length === 0
      ? []
      : [`DaemonSet ${namespace}/${name} ${verb} on ${plural(nodes.length, 'node')}: ${firstFew(nodes, MAX_NAMED)}`];
  return [...line('stops', stops), ...line('starts', starts).map(text => text + lacks)];
}

function selectingText(selected: KeyImpact['selectedBy'][number]): string {
  const { kind, namespace, name, where, isPending, isRefused } = selected;
  const which = kind === 'CronJob' ? 'pods of the next run' : 'new pods';
  const refused = 'would be refused, because their RuntimeClass selects another value';
  const end = isRefused ? `: ${which} ${refused}` : isPending ? `: ${which} would stay Pending` : '';
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${where}${end})`;
}

function budgetLine(impact: BudgetImpact): string {
  return impact.kind === 'undercut' ? `${budgetText(impact)}: taints ignore PodDisruptionBudgets` : budgetText(impact);
}

function budgetText(impact: BudgetImpact): string {
  const { budget, pods } = impact;
  switch (impact.kind) {
    case 'undercut': {
      const { allowed } = impact;
      return `${budget} allows ${allowed} now, but ${plural(pods, 'pod')} would be evicted`;
    }
    case 'stuck': {
      const { pending, notRecreated = 0, needs, allowed, certain = true } = impact;
      const bare =
        notRecreated === 0
          ? ''
          : ` (${notRecreated} of them: no controller recreates ${notRecreated === 1 ? 'it' : 'them'})`;
      const after = allowed === 0 ? 'without an eviction,' : `after ${plural(allowed, 'eviction')},`;
      const finds = certain ? (pending === 1 ? 'finds' : 'find') : 'may find';
      const waits = certain ? 'the drain waits forever' : 'the drain may wait forever';
      return `${budget} needs ${plural(needs, 'healthy pod')}, but ${pending} of the ${plural(pods, 'pod')} to evict ${finds} no place${bare}: ${after} ${waits}; add ${notRecreated === pending ? 'other pods' : 'room'} first`;
    }
    case 'waits': {
      const { healthy, needs } = impact;
      return `${budget} allows no eviction now (${healthy} healthy, needs ${needs}), ${plural(pods, 'pod')} to evict: the drain waits until the budget allows one`;
    }
    case 'unknown': {
      const why = impact.why === undefined ? '' : ` (${impact.why})`;
      return `${budget} has no current status${why}, ${plural(pods, 'pod')} to evict: the drain waits until the disruption controller updates the status`;
    }
    case 'several':
      return `${budget} and ${impact.others.join(', ')} both cover ${plural(pods, 'pod')}: the Eviction API evicts no pod with several PodDisruptionBudgets, so the node does not get the taint; change the selectors first`;
    case 'returning': {
      const { nodes, allowed } = impact;
      return `${budget} allows at most ${plural(allowed, 'eviction')} at once, but ${plural(pods, 'pod')} may return to ${noun(nodes.length, 'node')} ${firstFew(nodes, MAX_NAMED)} because ${pods === 1 ? 'it tolerates' : 'they tolerate'} the NoSchedule taint: then the ${noun(nodes.length, 'node')} ${nodes.length === 1 ? 'does' : 'do'} not get the NoExecute taint`;
    }
    case 'never':
      return `${budget} never allows an eviction (${impact.why}), ${plural(pods, 'pod')} to evict: change the budget first`;
  }
}

// One line for the pods of one owner: where they can go.

const MAX_NAMED = 5;

/** `3 pods of Deployment shop/web`, `Pod shop/batch`. */
function podsText({ namespace, owner, pods }: PodsImpact): string {
  if (owner === undefined) return `Pod ${namespace}/${firstFew(pods, MAX_NAMED)}`;
  return `${plural(pods.length, 'pod')} of ${owner.kind} ${namespace}/${owner.name}`;
}

type PoolOf = (node: string) => string | undefined;

function evictedLine(group: EvictionImpact, poolOf: PoolOf): string {
  const when = laterText(group);
  const all = group.pods.length;
  const head = `${podsText(group)}${when}`;
  if (group.blockedByBudget === all && !group.mayNotBeBlocked)
    return `${head}: ${all === 1 ? 'is not' : 'none is'} evicted, ${BLOCKED_BY_BUDGET}`;
  const { mayReturn, pendingAfter, failed } = group;
  const blocked = blockedText(group);
  const failedWords = failedText(failed, group.deletedWithJob);
  if (failed > 0 && failed + group.blockedByBudget === all) return `${head}: ${failedWords}${blocked}`;
  const next = group.next === undefined ? notRecreated(group) : destinationText(group, group.next, poolOf);
  const back =
    mayReturn === 0
      ? ''
      : `; ${mayReturn} may return before the NoExecute taint: ${mayReturn === 1 ? 'it tolerates' : 'they tolerate'} the NoSchedule taint${pendingAfterText(pendingAfter, group.next)}`;
  return `${head}: ${next}${back}${failed === 0 ? '' : `; ${failed} ${failedWords}`}${blocked}`;
}

function failedText(pods: number, deleted: number | undefined): string {
  const number = deleted === undefined || deleted === 1 ? '' : `${deleted} `;
  const others = `its ${number}other ${deleted === 1 ? 'pod is' : 'pods are'}`;
  const deletes = deleted === 0 ? '' : `; the Job fails, and ${others} deleted`;
  return `${pods === 1 ? 'is' : 'are'} not recreated: an eviction counts as a failed pod, and ${pods === 1 ? 'its' : 'their'} Job allows no more of them${deletes}`;
}

function blockedText({ blockedByBudget: pods, mayNotBeBlocked = false }: EvictionImpact): string {
  if (pods === 0) return '';
  if (mayNotBeBlocked) return `; ${pods} may not be evicted: a PodDisruptionBudget may block the drain`;
  return `; ${pods} ${pods === 1 ? 'is' : 'are'} not evicted, ${BLOCKED_BY_BUDGET}`;
}

function pendingAfterText(pods: number, next: PodDestination | undefined): string {
  if (pods === 0 || next === undefined) return '';
  return `; after that, ${pods} would stay Pending: ${reasonsText(next.reasons.list(), true)}`;
}

/** For one key. @param all groups of all keys: budget blocks are known only for a whole group */
function evictsLine(group: PodsImpact, all: readonly EvictionImpact[]): string {
  const { namespace, owner, pods } = group;
  const isWhole = (each: EvictionImpact) =>
    each.namespace === namespace &&
    (owner === undefined
      ? each.pods[0] === pods[0]
      : each.owner?.kind === owner.kind && each.owner.name === owner.name);
  const whole = all.find(isWhole);
  const blocked = whole?.blockedByBudget ?? 0;
  if (blocked === 0) return `evicts ${podsText(group)}`;
  if (whole?.mayNotBeBlocked) return `evicts ${podsText(group)}; a PodDisruptionBudget may block the drain`;
  const some =
    pods.length === whole?.pods.length ? `${blocked} of them ${blocked === 1 ? 'stays' : 'stay'}` : 'some of them stay';
  return `has to evict ${podsText(group)}; ${pods.length === 1 ? 'it stays' : some}, ${BLOCKED_BY_BUDGET}`;
}

/** Empty for pods of a DaemonSet: they keep running, but none would be created again. */
function recreatedLine(group: StrandedPods, poolOf: PoolOf): string[] {
  const { owner, next } = group;
  if (next === undefined) return [];
  const newPod = owner === undefined ? 'no controller recreates it; a new pod: ' : '';
  return [`${podsText(group)}: ${newPod}${destinationText({ owner }, next, poolOf)}`];
}

const BLOCKED_BY_BUDGET = 'because a PodDisruptionBudget blocks the drain';

function notRecreated({ owner }: EvictionImpact): string {
  return owner === undefined ? 'no controller recreates it' : 'recreated on the same nodes';
}

function laterText({ later, pods }: EvictionImpact): string {
  if (later === undefined) return '';
  const [min, max] = [later.min, later.max].map(secondsText);
  const span = min === max ? `after ${min}` : `after ${min} to ${max}`;
  return later.pods === pods.length ? ` ${span}` : ` (${later.pods} ${span})`;
}

function destinationText(
  { owner, afterDrain }: Pick<EvictionImpact, 'owner' | 'afterDrain'>,
  next: PodDestination,
  poolOf: PoolOf,
): string {
  const { nodes, returns, pending, waiting, reasons } = next;
  const parts = [
    ...placedTexts(next, poolOf),
    ...(nodes.size + returns.size + waiting === 0 ? ['none fits elsewhere'] : []),
    ...(pending === 0
      ? []
      : [`${pending} ${mayFit(next) ? 'may' : 'would'} stay Pending: ${reasonsText(reasons.list(), true)}`]),
    ...(pending > 0 && owner?.kind === 'CronJob' ? ['pods of the next run also would'] : []),
    ...(waiting === 0 ? [] : [waitingText(waiting)]),
    ...(afterDrain === undefined ? [] : [`once the nodes are drained, ${placedTexts(afterDrain, poolOf).join(', ')}`]),
  ];
  return parts.join('; ');
}

/** Whether Pending pods would fit in another scheduling order. */
function mayFit({ isContested, mayFit }: PodDestination): boolean {
  return isContested || mayFit === true;
}

const CONTESTED = 'other evicted pods compete for this room';

function waitingText(pods: number): string {
  const others = pods === 1 ? '1 other pod waits' : `${pods} other pods wait`;
  return `${others} because podManagementPolicy is OrderedReady`;
}

function placedTexts(
  { nodes, returns, returnSeconds, uncertain, isContested }: PodDestination,
  poolOf: PoolOf,
): string[] {
  const again = `are evicted again after ${secondsText(returnSeconds)}`;
  return [
    ...(nodes.size === 0 ? [] : [`can go: ${placesText(nodes, poolOf)}`]),
    ...(uncertain === 0 ? [] : [`${uncertain} of these may stay Pending: ${isContested ? CONTESTED : BY_ORDER}`]),
    ...(returns.size > 0 ? [`may return and ${again}, endlessly: ${placesText(returns, poolOf)}`] : []),
    ...(returns.size === 0 && nodes.size > 0 && returnSeconds < Infinity ? [`on tainted nodes, they ${again}`] : []),
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
