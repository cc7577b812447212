/** Cells that several screens share: a pool's status, taints and labels. */
import { ownValue } from '../nodepool/json.ts';
import { formatTaint } from '../nodepool/spec/syntax.ts';
import { type LiveState, type StateWord, stateText, stateWord } from '../nodepool/status/state-word.ts';
import { troubleIn } from '../nodepool/status/status.ts';
import { plural } from '../nodepool/text.ts';
import type { Node, NodePool, NodePoolStatus, ResourceList, Taint } from '../nodepool/types.ts';
import { displayQuantity } from './quantity.ts';
import type { Style } from './style.ts';
import type { Cell } from './table.ts';

/** `leaving`: no longer a member, but the node still has what the pool applied. */
export type NodeMembership = { kind: 'member' } | { kind: 'leaving' } | { kind: 'conflict'; owner: string };

export const NONE = '<none>';

/** A label, and the values to its right, each on its own line. */
export type LabelledField = [label: string, values: Cell | Cell[]];

export function orNone(texts: string[]): string[] {
  return texts.length > 0 ? texts : [NONE];
}

const PAINTS: Readonly<Partial<Record<StateWord, 'green' | 'red' | 'dim'>>> = {
  Ready: 'green',
  Empty: 'dim',
  Invalid: 'red',
  Failing: 'red',
  Conflict: 'red',
  Stopped: 'red',
};

/** One word, so that scripts can split lines at spaces. @param live undefined: use the last status */
export function statusCell(pool: NodePool, style: Style, live?: LiveState): Cell {
  const text = stateText(pool, live);
  return { text, paint: style[PAINTS[stateWord(pool, live)] ?? 'yellow'] };
}

/** `Ready`, `NotReady,SchedulingDisabled`: like the start of STATUS in `kubectl get nodes`. */
export function nodeStatusCell({ ready, unschedulable }: Pick<Node, 'ready' | 'unschedulable'>, style: Style): Cell {
  const text = `${ready ? 'Ready' : 'NotReady'}${unschedulable ? ',SchedulingDisabled' : ''}`;
  return { text, paint: !ready ? style.red : unschedulable ? style.yellow : style.green };
}

/** `in sync`, or the reason why not. @param isDraining pods must be evicted before the last change */
export function stateCell(membership: NodeMembership, changes: number, style: Style, isDraining = false): Cell {
  switch (membership.kind) {
    case 'conflict':
      return { text: `owned by ${membership.owner}`, paint: style.red };
    case 'leaving':
      return { text: 'to be cleaned', paint: style.yellow };
    case 'member':
      if (isDraining) return { text: 'evicting pods', paint: style.yellow };
      if (changes === 0) return { text: 'in sync', paint: style.green };
      return { text: `${plural(changes, 'change')} due`, paint: style.yellow };
  }
}

/** Maximum characters of a reason and a message: ours are far shorter, those of others may have a megabyte. */
export const [REASON_WIDTH, MESSAGE_WIDTH] = [128, 1024] as const;

/** Reason and message of the most important condition, cut to fit a screen. */
export function troubleOf(status: NodePoolStatus | undefined): { reason: string; message: string } | undefined {
  const trouble = troubleIn(status);
  if (trouble === undefined) return undefined;
  return { reason: shorten(trouble.reason, REASON_WIDTH), message: shorten(trouble.message, MESSAGE_WIDTH) };
}

/** Untrusted text as one word, for tables that scripts split at spaces. */
export function oneWord(text: string): string {
  return withoutSpaces(shorten(text, REASON_WIDTH));
}

/** Like oneWord(), but uncut. */
export function withoutSpaces(text: string): string {
  return text.replaceAll(' ', '_');
}

/** The rounded quantity of a resource; `<none>` if it is missing. */
export function resourceCell(list: ResourceList = {}, resource: string): string {
  const quantity = ownValue(list, resource);
  return quantity === undefined ? NONE : oneWord(displayQuantity(resource, quantity));
}

/** Short enough for several such columns in 80 characters. */
const SHORT: Readonly<Record<string, string>> = { memory: 'MEM', 'ephemeral-storage': 'STORAGE' };

/** `CPU`, `MEM`, `GPU` for nvidia.com/gpu; the full name if two would be the same. */
export function resourceHeaders(resources: readonly string[]): Map<string, string> {
  const short = (resource: string) =>
    ownValue(SHORT, resource) ?? resource.slice(resource.lastIndexOf('/') + 1).toUpperCase();
  const times = (header: string) => resources.filter(resource => short(resource) === header).length;
  return new Map(
    resources.map(resource => {
      const header = short(resource);
      return [resource, oneWord(times(header) > 1 ? resource.toUpperCase() : header)];
    }),
  );
}

/** The pool's allocatable of a resource: `0` without nodes; `<none>` if unknown, or for a device without nodes. */
export function poolResource(status: NodePoolStatus | undefined, resource: string): string {
  const found = resourceCell(status?.allocatable, resource);
  return found === NONE && status?.nodeCount === 0 && !resource.includes('/') ? '0' : found;
}

/** `a=b,c=d`, or `<none>`. */
export function labelsText(labels: Record<string, string> | undefined): string {
  return labelTexts(labels).join(',') || NONE;
}

/** `a=b` for each label, sorted. */
export function labelTexts(labels: Record<string, string> | undefined): string[] {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .toSorted();
}

/** Beyond this many characters of a list, further items are only counted; -o wide lists all. */
export const LIST_WIDTH = 32;

/** Longer annotation values are cut: some are whole documents. */
export const ANNOTATION_WIDTH = 60;

/** `a=b` for each annotation, sorted; long values are cut. */
export function annotationPairs(annotations: Record<string, string> | undefined): string[] {
  const shown = Object.entries(annotations ?? {}).map(([key, value]) => [key, shorten(value, ANNOTATION_WIDTH)]);
  return labelTexts(Object.fromEntries(shown));
}

/** `dedicated=gpu:NoSchedule,+2`: see listText(). */
export function taintsText(taints: Taint[] = [], width: number): string {
  return listText(taints.map(formatTaint), width);
}

/** `a=b,c,+2`: as many items as fit, at least one; `<none>` for an empty list. @param width Infinity shows all */
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

/** Cuts the text to this many characters, including an ellipsis. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  // Does not split a surrogate pair.
  return `${text.slice(0, width - 1).replace(/\p{Cs}$/u, '')}…`;
}

/** The header of a label's column: its name without the prefix, as in kubectl. */
export function labelHeader(label: string): string {
  return label.slice(label.lastIndexOf('/') + 1).toUpperCase();
}
