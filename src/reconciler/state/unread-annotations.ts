/**
 * A node that was read before its pool, or before the pool set another annotation, was read without that annotation:
 * only annotations of known pools are kept (docs/decisions/0039). NodeGates reads such a node again before its write;
 * here many are read at once.
 */

import type { NodesClient } from '../../kube/cluster.ts';
import { ifRefused } from '../../nodepool/errors.ts';
import { membershipSelector, selectorText } from '../../nodepool/membership/selector.ts';
import { areAnnotationsKnown } from '../../nodepool/spec/annotations.ts';
import type { ClusterState } from './cluster-state.ts';

/** Whether members of a pool were read without annotations that the pool sets. */
export function hasUnread(state: ClusterState): boolean {
  for (const { metadata } of state.pools()) if (unread(state, metadata.name).length > 0) return true;
  return false;
}

/** If so, lists the nodes again into the state. */
export async function readAnnotations(state: ClusterState, list: NodesClient['list']): Promise<void> {
  if (hasUnread(state)) await readInto(state, list);
}

/** As readAnnotations(), for members of one pool; NodeGates reads a single node. Undefined if nothing is read. */
export function readAnnotationsOf(pool: string, state: ClusterState, nodes: NodesClient): Promise<void> | undefined {
  const known = state.pool(pool);
  if (known === undefined || unread(state, pool).length < 2) return undefined;
  const selector = selectorText(membershipSelector(known));
  return readInto(state, () => nodes.list(selector)).catch(ifRefused(undefined));
}

/** For a display that follows pools and nodes: call it after each change of a pool. Runs one list at a time. */
export function annotationReader(list: NodesClient['list'], state: () => ClusterState, onRead: () => void): () => void {
  let isReading = false;
  return () => {
    if (isReading || !hasUnread(state())) return;
    isReading = true;
    const end = () => {
      isReading = false;
    };
    void readInto(state(), list).then(onRead).catch(ifRefused(undefined)).finally(end);
  };
}

function unread(state: ClusterState, pool: string): string[] {
  const keys = Object.keys(state.pool(pool)?.spec.annotations ?? {});
  if (keys.length === 0) return [];
  return state.members(pool).flatMap(node => {
    const recorded = state.ownership(node.name)?.record?.annotations;
    return areAnnotationsKnown(node, recorded, keys) ? [] : node.name;
  });
}

async function readInto(state: ClusterState, list: NodesClient['list']): Promise<void> {
  const readTime = state.beginRead();
  for (const node of await list()) state.setNode(node, readTime);
}
