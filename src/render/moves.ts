/** One line a node, of what `add`, `remove` and `move` did. */
import { sanitizeLine } from './sanitize.ts';

export interface Moving {
  kind: 'add' | 'remove' | 'move';
  /** The pool that gets the nodes; for `remove`, the one that loses them. */
  pool: string;
}

/** @param moved the pools that had the node and have it now */
export function renderMoved(
  { kind, pool }: Moving,
  { node, from, to }: { node: string; from: string | undefined; to: string | undefined },
): string {
  return sanitizeLine(`node/${node} ${words()}`);

  function words(): string {
    switch (kind) {
      case 'add':
        return `added to pool ${pool}`;
      case 'move':
        return from === undefined ? `moved to pool ${pool}` : `moved from pool ${from} to pool ${pool}`;
      case 'remove':
        return `removed from pool ${pool}${to === undefined ? '' : `, is in pool ${to}`}`;
    }
  }
}

/** Of a node for which there was nothing to do. */
export function renderUnmoved({ kind, pool }: Moving, node: string): string {
  return sanitizeLine(`node/${node} ${kind === 'remove' ? 'is not' : 'is already'} in pool ${pool}`);
}
