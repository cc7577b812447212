/** The result of `add`, `remove` and `move` for a node, on one line. */
import { sanitizeLine } from './sanitize.ts';

export interface Moving {
  kind: 'add' | 'remove' | 'move';
  /** The pool that gets the nodes; for `remove`, the one that loses them. */
  pool: string;
}

/** From and to: the owners before and after. */
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

/** For a node without a change. @param from the pool that it was to be in before */
export function renderUnmoved(
  { kind, pool, from = pool }: Moving & { from?: string | undefined },
  node: string,
): string {
  if (kind === 'remove') return sanitizeLine(`node/${node} is not in pool ${pool}`);
  const elsewhere = from === pool ? '' : `is not in pool ${from}: it `;
  return sanitizeLine(`node/${node} ${elsewhere}is already in pool ${pool}`);
}
