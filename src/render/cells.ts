/** What several screens show alike: a pool's status, its taints and labels in short. */
import { own } from '../nodepool/json.ts';
import { plural } from '../nodepool/plural.ts';
import { STATUS_WORDS, troubleIn } from '../nodepool/status.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import type { Node, NodePool, NodePoolStatus, ResourceList, Taint } from '../nodepool/types.ts';
import type { DescribedNode } from '../operations/describe.ts';
import { displayQuantity } from './quantity.ts';
import type { Style } from './style.ts';
import type { Cell } from './table.ts';

export const NONE = '<none>';

/** A label and the values to the right of it, each on a line of its own. */
export type Field = [label: string, values: Cell | Cell[]];

export function orNone(texts: string[]): string[] {
  return texts.length > 0 ? texts : [NONE];
}

/** `200`, or `409,Conflict`: one word, so that scripts can split lines at spaces. */
export function statusText(status: number | undefined): string {
  if (status === undefined) return NONE;
  const word = status === 200 ? undefined : own<string>(STATUS_WORDS, String(status));
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

/** Of a node that pools hand to each other for ever, as one word. */
export function betweenPools(circle: readonly string[]): string {
  return `between:${circle.join(',')}`;
}

/** `Ready`, `NotReady,SchedulingDisabled`: as the first words of it in `kubectl get nodes`. */
export function nodeStatusText({ ready, unschedulable }: Pick<Node, 'ready' | 'unschedulable'>): string {
  return `${ready ? 'Ready' : 'NotReady'}${unschedulable ? ',SchedulingDisabled' : ''}`;
}

export function nodeStatusCell(node: Pick<Node, 'ready' | 'unschedulable'>, style: Style): Cell {
  const paint = !node.ready ? style.red : node.unschedulable ? style.yellow : style.green;
  return { text: nodeStatusText(node), paint };
}

/** `in sync`, or what keeps a node of a pool from that. */
export function stateCell(membership: DescribedNode['membership'], changes: number, style: Style): Cell {
  switch (membership.kind) {
    case 'conflict':
      return { text: `held by ${membership.owner}`, paint: style.red };
    case 'leaving':
      return { text: 'to be cleaned', paint: style.yellow };
    case 'member':
      if (changes === 0) return { text: 'in sync', paint: style.green };
      return { text: `${plural(changes, 'change')} due`, paint: style.yellow };
  }
}

/** Characters of a reason that are shown, and of a message: ours are far shorter, another writer's may have a megabyte. */
export const [REASON_WIDTH, MESSAGE_WIDTH] = [128, 1024] as const;

/** What the condition that says most has to say, as long as it is shown. */
export function troubleOf(status: NodePoolStatus | undefined): { reason: string; message: string } | undefined {
  const trouble = troubleIn(status);
  if (trouble === undefined) return undefined;
  return { reason: shorten(trouble.reason, REASON_WIDTH), message: shorten(trouble.message, MESSAGE_WIDTH) };
}

/** What others write as they like, for a column that scripts find by counting words. */
export function oneWord(text: string): string {
  return joined(shorten(text, REASON_WIDTH));
}

/** The same of what is shown whole. */
export function joined(text: string): string {
  return text.replaceAll(' ', '_');
}

/** One resource of a list, for people; `<none>` when it is not there. */
export function resourceCell(list: ResourceList = {}, resource: string): string {
  const quantity = own(list, resource);
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

/** `dedicated=gpu:NoSchedule,+2`: see listText(). */
export function taintsText(taints: Taint[] = [], width: number): string {
  return listText(taints.map(formatTaint), width);
}

/**
 * `a=b,c,+2`: as many as fit, at least the first, and how many more; `<none>` of none.
 * @param width Infinity shows all
 */
export function listText(texts: readonly string[], width: number): string {
  if (texts.length === 0) return NONE;
  const whole = texts.join(',');
  if (texts.length === 1 || whole.length <= width) return whole;
  const [first = '', ...others] = texts;
  let [shown, more] = [first, others.length];
  for (const text of others) {
    const next = `${shown},${text}`;
    if (`${next},+${more - 1}`.length > width) break;
    [shown, more] = [next, more - 1];
  }
  return `${shown},+${more}`;
}

/** The text, cut to so many characters with an ellipsis. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  // Never half of a character.
  return `${text.slice(0, width - 1).replace(/\p{Cs}$/u, '')}…`;
}
