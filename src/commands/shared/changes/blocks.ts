/** Nodes with the same change are shown as one block: 500 nodes fit a screen, and one that is different is seen. */
import { isIP } from 'node:net';
import type { Change, DuePlan } from '../../../nodepool/plan/plan.ts';
import { andMore } from '../../../nodepool/text.ts';
import { wrapWords } from '../../../print/width.ts';

/** Names of nodes in the first line of a block. */
const MAX_NAMED = 3;

/** What is shown of a node, but its name. */
export interface SharedChanges extends Pick<DuePlan, 'owner' | 'previous' | 'changes' | 'drain'> {
  /** Why it is not written now. */
  waits?: string;
}

/** Nodes with the same key are in one block. Who set a value is no part of it: that is not read of every node. */
export function blockKey({ owner, previous, changes, drain, waits }: SharedChanges): string {
  const bare = (of: readonly Change[]) => of.map(({ setBy: _setBy, ...change }) => Object.entries(change).toSorted());
  return JSON.stringify([owner, previous, waits, bare(changes), drain && bare(drain.changes)]);
}

/** Items with the same key, in the order of the first of each block, which is that of the items in it as well. */
export function blocksOf<T>(items: readonly T[], keyOf: (item: T) => string): (readonly [T, ...T[]])[] {
  return [...Map.groupBy(items, keyOf).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [[first, ...more] as const],
  );
}

/** The first item of each block, then the second of each, and so on: of many, the first few are of all blocks. */
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
 * `a, b, c and 22 more`. Shared domains are left out where names differ without them: `ip-10-0-1-15…`.
 * @param more how many more there are than those of `names`
 */
export function namesText(names: readonly string[], more = 0, most = MAX_NAMED): string {
  const hosts = names.map(name => (isIP(name) ? name : name.replace(/(?<=[^.])\..*$/s, '…')));
  const isClear = new Set(hosts).size === new Set(names).size;
  const shown = (names.length + more > 1 && isClear ? hosts : names).slice(0, most);
  return shown.join(', ') + andMore(names.length + more - shown.length, ' ');
}

/** Lines of a terminal for a list of nodes. */
const LIST_LINES = 2;

/** `3 nodes joined: a, b, c` of an Event of this program, with the names as diff has them; other text as it is. */
export function shortList(text: string, terminalWidth = Infinity): string {
  const at = text.lastIndexOf(': ') + 2;
  const [, listed = '', more = '0'] = /^([a-z0-9., -]+?)(?:,? and (\d+) more)?$/.exec(text.slice(at)) ?? [];
  const names = listed.split(', ');
  const [head, others] = [text.slice(0, at), Number(more)];
  // The number of nodes tells a list of names from other text.
  if (names.length + others < 2 || !` ${head}`.includes(` ${names.length + others} nodes `)) return text;
  const short = (most: number) => head + namesText(names, others, most);
  let most = MAX_NAMED;
  while (most > 1 && wrapWords(short(most), terminalWidth).length > LIST_LINES) most--;
  return short(most);
}
