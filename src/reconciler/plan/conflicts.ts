/** Messages of the Conflict condition, each with both pools. */

import { taintId } from '../../nodepool/spec/taint-rules.ts';
import type { Observation } from '../../nodepool/status/status.ts';
import { firstFew, noun } from '../../nodepool/text.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import type { RuntimeClassOutcome } from '../write/runtime-class-writer.ts';

/** Nodes that one message names. */
const MAX_NAMED = 10;

/** @param lost nodes that the pool matches and another pool owns */
export function conflictMessages(
  pool: NodePool,
  lost: { node: Node; owner: NodePool }[],
  runtimeClass: RuntimeClassOutcome,
): Observation['conflicts'] {
  const byOwner = Map.groupBy(lost, ({ owner }) => owner.metadata.name);
  const owners = [...byOwner].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const conflicts: Observation['conflicts'] = owners.map(([owner, nodes]) => ({
    reason: 'NodeConflict',
    message: nodeConflict(pool, owner, nodes.map(({ node }) => node.name).toSorted()),
  }));
  if (runtimeClass.kind === 'foreign') {
    conflicts.push({
      reason: 'RuntimeClassConflict',
      message: `RuntimeClass ${runtimeClass.name} exists and does not belong to pool ${pool.metadata.name}; it is not changed`,
    });
  }
  return conflicts;
}

/** The labels, taints, startup taints and annotations that a node does not get from a pool that lost it. */
export function keysOf({ spec }: NodePool): string[] {
  const { labels = {}, taints = [], startupTaints = [], annotations = {} } = spec;
  return [...Object.keys(labels), ...[...taints, ...startupTaints].map(taintId), ...Object.keys(annotations)];
}

function nodeConflict(pool: NodePool, owner: string, nodes: string[]): string {
  const verb = nodes.length === 1 ? 'belongs' : 'belong';
  const keys = keysOf(pool);
  const kept = keys.length > 0 ? `; not applied there: ${keys.join(', ')}` : '';
  return `${noun(nodes.length, 'node')} ${firstFew(nodes, MAX_NAMED)} ${verb} to pool ${owner} and also ${nodes.length === 1 ? 'matches' : 'match'} pool ${pool.metadata.name}${kept}`;
}
