/** The result of `add`, `remove` and `move` for a node, as one line. */

import { isControlPlaneRole, ROLE_PREFIX } from '../../../nodepool/membership/selector.ts';
import type { Change } from '../../../nodepool/plan/plan.ts';
import { firstFew } from '../../../nodepool/text.ts';
import { nodesText, shortNames } from '../../../print/names.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';

interface MoveLine {
  node: string;
  from: string | undefined;
  to: string | undefined;
  changes?: readonly Pick<Change, 'key' | 'action' | 'reason' | 'from'>[] | undefined;
}

export interface PoolMove {
  kind: 'add' | 'remove' | 'move';
  /** The pool that gets the nodes; for `remove`, the pool that loses them. */
  pool: string;
}

/** Names removed labels, except the role of a pool; a control-plane role is always named. */
export function renderMoved({ kind, pool }: PoolMove, { node, from, to, changes = [] }: MoveLine): string {
  const gone = changes.filter(
    ({ key, action, reason }) => reason === 'membership' && action === 'remove' && !isRole(key),
  );
  const labels = gone.map(({ key, from: value = '' }) => `${key}=${value}`).join(', ');
  return sanitizeLine(`node/${node} ${words()}${labels === '' ? '' : ` (label ${labels} removed)`}`);

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

/**
 * `This removes label rack=x from 2 nodes (a, b); changes label tier=brass to gold on 1 node (a)`
 * @param all include what the old pool had set; roles of pools are never named
 */
export function takenOff({ nodes }: ClusterPlan, all: boolean): string | undefined {
  const gone = nodes.flatMap(({ node, changes }) =>
    changes
      .filter(({ action, reason }) => action === 'remove' && (all || reason === 'membership'))
      .filter(({ kind, key }) => kind !== 'annotation' && !isRole(key))
      .map(change => ({ what: `removes ${slotText(change)} from`, node: node.name })),
  );
  const replaced = nodes.flatMap(({ node, changes }) =>
    changes
      .filter(({ kind, from, to }) => all && kind !== 'annotation' && from !== undefined && to !== undefined)
      .map(change => ({ what: `changes ${slotText(change)} to ${change.to} on`, node: node.name })),
  );
  if (gone.length + replaced.length === 0) return undefined;
  const short = shortNames(nodes.map(({ node }) => node.name));
  const texts = [...Map.groupBy([...gone, ...replaced], ({ what }) => what)].map(
    ([what, found]) =>
      `${what} ${nodesText(
        found.map(({ node }) => node),
        short,
      )}`,
  );
  return sanitizeLine(`This ${firstFew(texts, MAX_NAMED, '; ', '; ')}`);
}

function slotText({ kind, key, effect, from = '' }: Change): string {
  return kind === 'label' ? `label ${key}=${from}` : `taint ${key}${from === '' ? '' : `=${from}`}:${effect}`;
}

/** Maximum labels and taints in one line. */
const MAX_NAMED = 10;

function isRole(key: string): boolean {
  return key.startsWith(ROLE_PREFIX) && !isControlPlaneRole(key);
}

/** For a node without a change. @param from the pool that it should have been in */
export function renderUnmoved(
  { kind, pool, from = pool }: PoolMove & { from?: string | undefined },
  node: string,
): string {
  if (kind === 'remove') return sanitizeLine(`node/${node} is not in pool ${pool}`);
  const elsewhere = from === pool ? '' : `is not in pool ${from}: the node `;
  return sanitizeLine(`node/${node} ${elsewhere}is already in pool ${pool}`);
}
