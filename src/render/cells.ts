/** What several screens show alike: a pool's status, its taints and labels in short. */
import { STATUS_WORDS } from '../nodepool/status.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import type { NodePool, NodePoolStatus, ResourceList, Taint } from '../nodepool/types.ts';
import { displayQuantity } from './quantity.ts';
import type { Style } from './style.ts';
import type { Cell } from './table.ts';

export const NONE = '<none>';

/** `200`, or `409,Conflict`: one word, so that scripts can split lines at spaces. */
export function statusText(status: number | undefined): string {
  if (status === undefined) return NONE;
  const word = status === 200 ? undefined : STATUS_WORDS[status];
  return word === undefined ? String(status) : `${status},${word}`;
}

/** Green when normal, yellow when the nodes are not ready, red when something is wrong with the pool itself. */
export function statusPaint(status: number | undefined, style: Style): (text: string) => string {
  if (status === undefined) return style.dim;
  return status === 200 ? style.green : status === 503 ? style.yellow : style.red;
}

export function statusCell(pool: NodePool, style: Style): Cell {
  const status = pool.status?.status;
  if (pool.metadata.deletionTimestamp === undefined) {
    return { text: statusText(status), paint: statusPaint(status, style) };
  }
  return { text: status === undefined ? 'Deleting' : `${statusText(status)},Deleting`, paint: style.yellow };
}

/** Characters of a reason that are shown, and of a message: ours are far shorter, another writer's may have a megabyte. */
export const [REASON_WIDTH, MESSAGE_WIDTH] = [128, 1024] as const;

/** The reason of the condition that says most: why a pool is not as it should be. */
export function troubleOf(status: NodePoolStatus | undefined): { reason: string; message: string } | undefined {
  const conditions = status?.conditions ?? [];
  const trouble =
    conditions.find(({ type, status: value }) => type === 'Applied' && value === 'False') ??
    conditions.find(({ type, status: value }) => type === 'Conflict' && value === 'True') ??
    conditions.find(({ type, status: value }) => type === 'Ready' && value !== 'True');
  if (trouble === undefined) return undefined;
  return { reason: shorten(trouble.reason, REASON_WIDTH), message: shorten(trouble.message, MESSAGE_WIDTH) };
}

/** What others write as they like, for a column that scripts find by counting words. */
export function oneWord(text: string): string {
  return shorten(text, REASON_WIDTH).replaceAll(' ', '_');
}

/** One resource of a list, for people; `<none>` when it is not there. */
export function resourceCell(list: ResourceList = {}, resource: string): string {
  const quantity = Object.hasOwn(list, resource) ? list[resource] : undefined;
  return quantity === undefined ? NONE : oneWord(displayQuantity(resource, quantity));
}

/** What a pool can give of a resource: `0` when it has no nodes, `<none>` when that is not known. */
export function poolResource(status: NodePoolStatus | undefined, resource: string): string {
  const found = resourceCell(status?.allocatable, resource);
  return found === NONE && status?.nodeCount === 0 ? '0' : found;
}

/** `a=b,c=d`, or `<none>`. */
export function labelsText(labels: Record<string, string> | undefined): string {
  return pairs(labels).join(',') || NONE;
}

/** `a=b` each, by key. */
export function pairs(labels: Record<string, string> | undefined): string[] {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .toSorted();
}

/**
 * `dedicated=gpu:NoSchedule,+2`: as many taints as fit, at least the first, and how many more.
 * @param width Infinity shows all
 */
export function taintsText(taints: Taint[] = [], width: number): string {
  const texts = taints.map(formatTaint);
  if (texts.length === 0) return NONE;
  for (let shown = texts.length; shown > 1; shown--) {
    const text = withMore(texts.slice(0, shown), texts.length - shown);
    if (text.length <= width) return text;
  }
  return withMore(texts.slice(0, 1), texts.length - 1);
}

function withMore(texts: string[], more: number): string {
  return [...texts, ...(more > 0 ? [`+${more}`] : [])].join(',');
}

/** The text, cut to so many characters with an ellipsis. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  // Never half of a character.
  return `${text.slice(0, width - 1).replace(/\p{Cs}$/u, '')}…`;
}
