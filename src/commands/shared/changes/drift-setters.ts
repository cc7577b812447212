/** Who set the labels, taints and annotations that a reconcile would revert, according to the nodes' managedFields. */

import type { NodesClient } from '../../../kube/cluster.ts';
import { ifRefused } from '../../../nodepool/errors.ts';
import { type Change, fieldPath } from '../../../nodepool/plan/change.ts';
import type { AppliedRecord } from '../../../nodepool/plan/record.ts';
import { RecordCache } from '../../../nodepool/plan/record-cache.ts';
import type { Node } from '../../../nodepool/types.ts';
import { acrossBlocks } from './blocks.ts';

interface PlannedNode {
  node: Node;
  changes: Change[];
}

/** One request per node: if there are many, a few represent the others. */
export const MAX_READ = 50;

/** Adds `setBy` if known. Reads at most MAX_READ nodes. @param keyOf of nodes with equal keys, only some are read */
export async function withSetters<P extends PlannedNode>(
  planned: readonly P[],
  nodes: Pick<NodesClient, 'fieldSetters'>,
  keyOf?: (planned: P) => string,
): Promise<{ planned: P[]; unread: number }> {
  const records = new RecordCache();
  const drifted = planned.flatMap(each => {
    const { record } = each.node;
    const applied = record === undefined ? undefined : records.read(record);
    const ofOthers = each.changes.filter(change => isOfOthers(change, applied));
    return ofOthers.length === 0 ? [] : [[each, ofOthers] as const];
  });
  const ordered = keyOf === undefined ? drifted : acrossBlocks(drifted, ([each]) => keyOf(each));
  const read = new Map(ordered.slice(0, MAX_READ));
  return {
    planned: await Promise.all(planned.map(each => withSettersOf(each, read.get(each) ?? [], nodes))),
    unread: drifted.length - read.size,
  };
}

export function unreadText(unread: number): string {
  return `who set the values is shown for ${MAX_READ} nodes, not for ${unread} more`;
}

async function withSettersOf<P extends PlannedNode>(
  planned: P,
  ofOthers: readonly Change[],
  nodes: Pick<NodesClient, 'fieldSetters'>,
): Promise<P> {
  if (ofOthers.length === 0) return planned;
  const setters = await nodes.fieldSetters(planned.node.name, ofOthers.map(fieldPath)).catch(ifRefused(undefined));
  if (setters === undefined) return planned;
  const changes = planned.changes.map(change => {
    const setBy = setters[ofOthers.indexOf(change)];
    return setBy === undefined ? change : { ...change, setBy };
  });
  return { ...planned, changes };
}

/** Whether others set the value. The one who removed a value is unknown. */
function isOfOthers({ reason, from, kind, key, effect }: Change, applied: AppliedRecord | undefined): boolean {
  if (from === undefined) return false;
  if (reason === 'drift' || reason === 'unmanaged') return true;
  const slot = kind === 'taint' ? applied?.taints.get(`${key}:${effect}`) : applied?.[`${kind}s`].get(key);
  return slot !== undefined && slot.value !== from;
}
