/** What a change of nodes does to pods and to objects that select the nodes; below the differences. */
import { firstFew, noun, plural } from '../nodepool/plural.ts';
import { reasonsText } from '../scheduling/fit-reasons.ts';
import { isPreference } from '../scheduling/impact/selecting.ts';
import type {
  BudgetImpact,
  DaemonImpact,
  Destination,
  Evicted,
  Impact,
  KeyImpact,
  PodsImpact,
  StrandedPods,
} from '../scheduling/impact/types.ts';
import { changeCell } from './diff.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import { formatDuration } from './time.ts';
import { wrapIndented } from './width.ts';

const MAX_NAMED = 5;
const MAX_LINES = 20;

/** @param poolOf the pool of a node after the change @param width longer lines are wrapped; undefined: none is */
export function renderImpact(
  impact: Impact,
  style: Style,
  poolOf: (node: string) => string | undefined,
  width = Infinity,
): string {
  if (impact.keys.every(key => linesOf(key).length === 0)) {
    return 'Impact: no pod starts, stops, or loses its place, and no object that was looked at selects what changes';
  }
  const section = (head: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [[head, ...capped(lines, width)].join('\n')];
  return [
    style.bold('Impact:'),
    ...impact.keys.map(key => keySection(key, style, width)),
    ...section(
      'Evicted pods:',
      impact.evicted.map(each => evictedLine(each, poolOf)),
    ),
    ...section('PodDisruptionBudgets:', impact.budgets.map(budgetLine)),
  ].join('\n');
}

function keySection(key: KeyImpact, style: Style, width: number): string {
  const lines = linesOf(key);
  const { text, paint } = changeCell(key.change, style);
  const only = key.holders === 0 ? ', and no other node has it' : '';
  const head = `${text} on ${plural(key.nodes.length, 'node')}`;
  if (lines.length === 0) return `${paint(sanitizeLine(head))}${style.dim(': no impact found')}`;
  return [`${paint(sanitizeLine(head))}${only}`, ...capped(lines, width)].join('\n');
}

function capped(lines: readonly string[], width: number): string[] {
  const more = lines.length - MAX_LINES;
  return [...lines.slice(0, MAX_LINES), ...(more > 0 ? [`… and ${more} more`] : [])].flatMap(line => {
    const text = `  ${sanitizeLine(line)}`;
    return width === Infinity ? text : wrapIndented(text, width);
  });
}

function linesOf({ daemonSets, evicted, notAgain, selectedBy }: KeyImpact): string[] {
  const [soft, hard] = [selectedBy.filter(isSoft), selectedBy.filter(each => !isSoft(each))];
  const named = (what: KeyImpact['selectedBy']) => firstFew(what.map(selectingText), MAX_LINES);
  return [
    ...daemonSets.flatMap(daemonLines),
    ...evicted.map(group => `evicts ${podsText(group)}`),
    ...notAgain.map(strandedLine),
    ...(hard.length === 0 ? [] : [`selected by ${named(hard)}`]),
    ...(soft.length === 0 ? [] : [`preferred, not required, by ${named(soft)}`]),
  ];
}

function isSoft({ where }: KeyImpact['selectedBy'][number]): boolean {
  return isPreference(where);
}

function strandedLine(group: StrandedPods): string {
  const { pods, nowhere } = group;
  const isOne = pods.length === 1;
  const head = `${podsText(group)} ${isOne ? 'runs' : 'run'} on, but`;
  if (nowhere === pods.length) {
    const stay = isOne ? 'it: it would' : 'them: they would';
    return `${head} after a restart no node would take ${stay} stay Pending`;
  }
  const back = `${head} would not come back to ${isOne ? 'its node' : 'their nodes'} after a restart`;
  return nowhere === 0 ? back : `${back}; ${nowhere} of them no node would take`;
}

function daemonLines({ namespace, name, starts, stops }: DaemonImpact): string[] {
  const line = (verb: string, nodes: readonly string[]) =>
    nodes.length === 0
      ? []
      : [`DaemonSet ${namespace}/${name} ${verb} on ${plural(nodes.length, 'node')}: ${firstFew(nodes, MAX_NAMED)}`];
  return [...line('stops', stops), ...line('starts', starts)];
}

function selectingText({ kind, namespace, name, where, isPending }: KeyImpact['selectedBy'][number]): string {
  const pending = isPending ? ': new pods would stay Pending' : '';
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${where}${pending})`;
}

/** `3 pods of Deployment shop/web`, `Pod shop/batch`. */
function podsText({ namespace, owner, pods }: PodsImpact): string {
  if (owner === undefined) return `Pod ${namespace}/${firstFew(pods, MAX_NAMED)}`;
  return `${plural(pods.length, 'pod')} of ${owner.kind} ${namespace}/${owner.name}`;
}

type PoolOf = (node: string) => string | undefined;

function evictedLine(group: Evicted, poolOf: PoolOf): string {
  const when = laterText(group);
  const next = group.next === undefined ? notRecreated(group) : destinationText(group.next, group.pods.length, poolOf);
  return `${podsText(group)}${when}: ${next}`;
}

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
  { nodes, returns, returnSeconds, pending, reasons }: Destination,
  pods: number,
  poolOf: PoolOf,
): string {
  const again = `leave again after ${secondsText(returnSeconds)}`;
  const parts = [
    ...(nodes.size === 0 ? [] : [`can go: ${placesText(nodes, poolOf)}`]),
    ...(returns.size > 0 ? [`may come back and ${again}, without end: ${placesText(returns, poolOf)}`] : []),
    ...(returns.size === 0 && nodes.size > 0 && returnSeconds < Infinity ? [`on tainted nodes they ${again}`] : []),
    ...(pending.length === pods ? ['none fits elsewhere'] : []),
    ...(pending.length === 0 ? [] : [`${pending.length} would stay Pending: ${reasonsText(reasons.list(), true)}`]),
  ];
  return parts.join('; ');
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

function budgetLine(impact: BudgetImpact): string {
  const { budget, pods } = impact;
  switch (impact.kind) {
    case 'undercut': {
      const { allowed } = impact;
      return `${budget} allows ${allowed} now, and ${plural(pods, 'pod')} of it would go: a taint asks no budget`;
    }
    case 'stuck': {
      const { pending, needs } = impact;
      return `${budget} needs ${plural(needs, 'healthy pod')}, and ${pending} of its ${plural(pods, 'evicted pod')} would stay Pending: the evictions would wait for them without end; add room first`;
    }
    case 'never':
      return `${budget} never allows an eviction (${impact.why}), and ${plural(pods, 'pod')} of it would have to go: change the budget first`;
  }
}

function secondsText(seconds: number): string {
  return formatDuration(seconds * 1000);
}
