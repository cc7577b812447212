/** Groups nodes with the same change into one block: 500 nodes fit on a screen, and a different node stands out. */
import type { Change, DuePlan } from '../../../nodepool/plan/plan.ts';
import { nodesText } from '../../../print/names.ts';
import type { Blocked, BlockedNode } from '../../../reconciler/plan/blocked.ts';

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

interface NoteOptions {
  byNode?: boolean | undefined;
  /** Shortens names so that all names of the screen differ; default: those of the note. */
  short?: (name: string) => string;
}

/** One note for all nodes with the same text. @param text gets the first node, and the verb for one or several */
export function sharedNotes<T extends { node: string }>(
  items: readonly T[],
  text: (item: T, are: 'is' | 'are') => string,
  { byNode, short }: NoteOptions = {},
): string[] {
  return blocksOf(items, item => (byNode ? item.node : text(item, 'is'))).map(([first, ...more]) => {
    if (more.length === 0) return `node ${first.node} ${text(first, 'is')}`;
    const names = [first, ...more].map(({ node }) => node);
    return `${nodesText(names, short)} ${text(first, 'are')}`;
  });
}

/** Those of the nodes that no run changes. */
export function blockedAmong(
  nodes: readonly { node: { name: string }; blocked?: Blocked | undefined }[],
): BlockedNode[] {
  return nodes.flatMap(({ node, blocked }) => (blocked === undefined ? [] : { node: node.name, ...blocked }));
}

export function blockedNotes(blocked: readonly BlockedNode[], options?: NoteOptions): string[] {
  return sharedNotes(blocked, ({ why, next }, are) => `${are} not written: ${why}; next: ${next}`, options);
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
