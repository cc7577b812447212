/** Who set the labels and taints that a reconcile would change back, by the managedFields of the nodes. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { Change } from '../nodepool/plan.ts';
import type { Node } from '../nodepool/types.ts';
import type { NodesClient } from '../reconciler/ports.ts';

interface Planned {
  node: Node;
  changes: Change[];
}

/** One read a node: of many the first ones stand for the others. */
const MAX_READ = 50;

/**
 * The same with `setBy` where it is known. Reads nodes whose values differ from what their pool had set there, at most
 * MAX_READ; of a node that cannot be read nobody is named.
 */
export async function withSetters<P extends Planned>(
  planned: readonly P[],
  nodes: Pick<NodesClient, 'fieldSetters'>,
): Promise<{ planned: P[]; unread: number }> {
  const drifted = planned.filter(({ changes }) => changes.some(isOfOthers));
  const read = new Set(drifted.slice(0, MAX_READ));
  return {
    planned: await Promise.all(planned.map(async each => (read.has(each) ? await withSettersOf(each, nodes) : each))),
    unread: drifted.length - read.size,
  };
}

export function unreadText(unread: number): string {
  return `who set the values is shown for the first ${MAX_READ} nodes, and not for ${unread} more`;
}

async function withSettersOf<P extends Planned>(planned: P, nodes: Pick<NodesClient, 'fieldSetters'>): Promise<P> {
  const asked = planned.changes.filter(isOfOthers);
  const paths = asked.map(({ kind, key }) => (kind === 'label' ? ['metadata', 'labels', key] : ['spec', 'taints']));
  const setters = await nodes.fieldSetters(planned.node.name, paths).catch((error: unknown) => {
    if (error instanceof NodepoolError) return undefined;
    throw error;
  });
  if (setters === undefined) return planned;
  const changes = planned.changes.map(change => {
    const setBy = setters[asked.indexOf(change)];
    return setBy === undefined ? change : { ...change, setBy };
  });
  return { ...planned, changes };
}

/** Of a value that is gone nobody is known. */
function isOfOthers({ reason, from }: Change): boolean {
  return (reason === 'drift' || reason === 'unmanaged') && from !== undefined;
}
