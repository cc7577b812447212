/** What a change of nodes does to pods and to objects that select the nodes; below the differences. */
import { firstFew, plural } from '../nodepool/plural.ts';
import { reasonsText } from '../scheduling/fit-reasons.ts';
import type { DaemonImpact, Destination, Evicted, Impact, KeyImpact, PodsImpact } from '../scheduling/impact/types.ts';
import { changeCell } from './diff.ts';
import { sanitizeLine } from './sanitize.ts';
import type { Style } from './style.ts';
import { formatDuration } from './time.ts';

const MAX_NAMED = 5;
const MAX_LINES = 20;

/** @param poolOf the pool of a node after the change */
export function renderImpact(impact: Impact, style: Style, poolOf: (node: string) => string | undefined): string {
  if (impact.keys.every(key => linesOf(key).length === 0)) {
    return 'Impact: no pod starts, stops, or loses its place, and no object that was looked at selects what changes';
  }
  const keys = impact.keys.map(key => keySection(key, style));
  const evicted = impact.evicted.map(each => evictedLine(each, poolOf));
  const destinations = evicted.length === 0 ? [] : [['Evicted pods:', ...capped(evicted)].join('\n')];
  return [style.bold('Impact:'), ...keys, ...destinations].join('\n');
}

function keySection(key: KeyImpact, style: Style): string {
  const lines = linesOf(key);
  const { text, paint } = changeCell(key.change, style);
  const head = `${text} on ${plural(key.nodes.length, 'node')}`;
  if (lines.length === 0) return `${paint(sanitizeLine(head))}${style.dim(': no impact found')}`;
  return [paint(sanitizeLine(head)), ...capped(lines)].join('\n');
}

function capped(lines: readonly string[]): string[] {
  const more = lines.length - MAX_LINES;
  return [...lines.slice(0, MAX_LINES), ...(more > 0 ? [`… and ${more} more`] : [])].map(
    line => `  ${sanitizeLine(line)}`,
  );
}

function linesOf({ daemonSets, evicted, notAgain, selectedBy }: KeyImpact): string[] {
  return [
    ...daemonSets.flatMap(daemonLines),
    ...evicted.map(group => `evicts ${podsText(group)}`),
    ...notAgain.map(group => `${podsText(group)}: running, and would not be scheduled there again`),
    ...(selectedBy.length === 0 ? [] : [`selected by ${firstFew(selectedBy.map(selectingText), MAX_LINES)}`]),
  ];
}

function daemonLines({ namespace, name, starts, stops }: DaemonImpact): string[] {
  const line = (verb: string, nodes: readonly string[]) =>
    nodes.length === 0
      ? []
      : [`DaemonSet ${namespace}/${name} ${verb} on ${plural(nodes.length, 'node')}: ${firstFew(nodes, MAX_NAMED)}`];
  return [...line('stops', stops), ...line('starts', starts)];
}

function selectingText({ kind, namespace, name, where }: KeyImpact['selectedBy'][number]): string {
  return `${kind} ${namespace === '' ? name : `${namespace}/${name}`} (${where})`;
}

/** `3 pods of Deployment shop/web`, `Pod shop/batch`. */
function podsText({ namespace, owner, pods }: PodsImpact): string {
  if (owner === undefined) return `Pod ${namespace}/${firstFew(pods, MAX_NAMED)}`;
  return `${plural(pods.length, 'pod')} of ${owner.kind} ${namespace}/${owner.name}`;
}

function evictedLine(group: Evicted, poolOf: (node: string) => string | undefined): string {
  const when = laterText(group);
  const next = group.next === undefined ? notRecreated(group) : destinationText(group.next, group.pods.length, poolOf);
  return `${podsText(group)}${when}: ${next}`;
}

function notRecreated({ owner }: Evicted): string {
  return owner === undefined ? 'no controller recreates it' : 'recreated on the same nodes';
}

function laterText({ later, pods }: Evicted): string {
  if (later === undefined) return '';
  const [min, max] = [later.min, later.max].map(seconds => formatDuration(seconds * 1000));
  const span = min === max ? `after ${min}` : `after ${min} to ${max}`;
  return later.pods === pods.length ? ` ${span}` : ` (${later.pods} ${span})`;
}

function destinationText(
  { nodes, pending, reasons }: Destination,
  pods: number,
  poolOf: (node: string) => string | undefined,
): string {
  const byPool = new Map<string, number>();
  for (const [node, count] of nodes) {
    const pool = poolOf(node);
    const where = pool === undefined ? 'nodes in no pool' : `pool ${pool}`;
    byPool.set(where, (byPool.get(where) ?? 0) + count);
  }
  const places = [...byPool].toSorted(([, a], [, b]) => b - a).map(([where, count]) => `${count} on ${where}`);
  const fits = pending === pods ? 'none fits elsewhere' : `can go: ${places.join(', ')}`;
  if (pending === 0) return fits;
  const stays = pending === 1 ? '1 would stay Pending' : `${pending} would stay Pending`;
  return `${fits}; ${stays}: ${reasonsText(reasons.list(), true)}`;
}
