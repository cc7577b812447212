/** What questions say about nodes that leave a pool. */
import { plural } from '../../../nodepool/plural.ts';

/** As a yes covers it. */
export function leavesText(node: string): string {
  return `node ${node} leaves`;
}

/** Why a script needs --yes. */
export function wouldLeaveText(nodes: number, pool: string): string {
  return `${plural(nodes, 'node')} would leave pool ${pool}`;
}
