/** Groups nodes with the same change into one block: 500 nodes fit on a screen, and a different node stands out. */
import { isIP } from 'node:net';
import type { Change, DuePlan } from '../../../nodepool/plan/plan.ts';
import { andMore, plural } from '../../../nodepool/text.ts';
import { wrapWords } from '../../../print/width.ts';
import type { BlockedNode } from '../../../reconciler/plan/blocked.ts';

/** Maximum number of node names in the first line of a block. */
const MAX_NAMED = 3;

/** What is shown about a node, except its name. */
export interface SharedChanges extends Pick<DuePlan, 'owner' | 'previous' | 'changes' | 'drain'> {
  /** Why the change is not written now. */
  waits?: string;
}

/** Nodes with the same key share a block. The setter of a value is ignored, because it is not read for every node. */
export function blockKey({ owner, previous, changes, drain, waits }: SharedChanges): string {
  const bare = (of: readonly Change[]) => of.map(({ setBy: _setBy, ...change }) => Object.entries(change).toSorted());
  return JSON.stringify([owner, previous, waits, bare(changes), drain && bare(drain.changes)]);
}

/** Groups items by key, ordered by first item; items keep their order. */
export function blocksOf<T>(items: readonly T[], keyOf: (item: T) => string): (readonly [T, ...T[]])[] {
  return [...Map.groupBy(items, keyOf).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [[first, ...more] as const],
  );
}

/** One note for all nodes with the same text. @param text gets the first node, and the verb for one or several */
export function sharedNotes<T extends { node: string }>(
  items: readonly T[],
  byNode: boolean | undefined,
  text: (item: T, are: 'is' | 'are') => string,
): string[] {
  return blocksOf(items, item => (byNode ? item.node : text(item, 'is'))).map(([first, ...more]) => {
    if (more.length === 0) return `node ${first.node} ${text(first, 'is')}`;
    const names = [first, ...more].map(({ node }) => node);
    return `${plural(names.length, 'node')} (${namesText(names)}) ${text(first, 'are')}`;
  });
}

export function blockedNotes(blocked: readonly BlockedNode[], byNode?: boolean): string[] {
  return sharedNotes(blocked, byNode, ({ why, next }, are) => `${are} not written: ${why}; next: ${next}`);
}

/** The first item of each block, then the second of each, and so on: the first few represent all blocks. */
export function acrossBlocks<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const counts = new Map<string, number>();
  const ranks = items.map(item => {
    const key = keyOf(item);
    const rank = counts.get(key) ?? 0;
    counts.set(key, rank + 1);
    return { item, rank };
  });
  return ranks.toSorted((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/**
 * `a, b, c and 22 more`. Leaves out a shared domain if the names differ without it: `ip-10-0-1-15…`.
 * @param more number of names beyond `names`
 */
export function namesText(names: readonly string[], more = 0, most = MAX_NAMED): string {
  const hosts = names.map(name => (isIP(name) ? name : name.replace(/(?<=[^.])\..*$/s, '…')));
  const isClear = new Set(hosts).size === new Set(names).size;
  const shown = (names.length + more > 1 && isClear ? hosts : names).slice(0, most);
  return shown.join(', ') + andMore(names.length + more - shown.length, ' ');
}

/** Maximum lines on a terminal for a list of nodes. */
const LIST_LINES = 2;

/** Shortens `3 nodes joined: a, b, c` in our own Events, as diff shortens names; other texts are unchanged. */
export function shortList(text: string, terminalWidth = Infinity): string {
  const at = text.lastIndexOf(': ') + 2;
  const [, listed = '', more = '0'] = /^([a-z0-9., -]+?)(?:,? and (\d+) more)?$/.exec(text.slice(at)) ?? [];
  const names = listed.split(', ');
  const [head, others] = [text.slice(0, at), Number(more)];
  // The number of nodes distinguishes a list of names from other text.
  if (names.length + others < 2 || !` ${head}`.includes(` ${names.length + others} nodes `)) return text;
  const short = (most: number) => head + namesText(names, others, most);
  let most = MAX_NAMED;
  while (most > 1 && wrapWords(short(most), terminalWidth).length > LIST_LINES) most--;
  return short(most);
}
