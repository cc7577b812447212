/** Membership labels of nodes, written with one guarded patch a node: no concurrent change is lost. */
import { NodepoolError } from '../nodepool/errors.ts';
import { labelOf } from '../nodepool/member-labels.ts';
import type { Node } from '../nodepool/types.ts';
import { alteredError, alteredSlots } from '../reconciler/altered.ts';
import { stillExistsError } from '../reconciler/live-reads.ts';
import type { NodePatch, NodesClient } from '../reconciler/ports.ts';

/** What to write on a node: labels to set, or with null to remove, and the record if it is to come along. */
export type LabelChange = Pick<NodePatch, 'record'> & Required<Pick<NodePatch, 'labels'>>;

const MAX_ATTEMPTS = 20;

/**
 * Writes what `change` returns for the node as it was last read; called again after every conflict, it may throw.
 * Undefined when the node is gone. No write when the node already has these labels.
 */
export async function patchLabels(
  node: Node,
  change: (current: Node) => LabelChange,
  nodes: Pick<NodesClient, 'get' | 'patch'>,
): Promise<Node | undefined> {
  let current: Node | undefined = node;
  for (let attempt = 0; attempt < MAX_ATTEMPTS && current !== undefined; attempt++) {
    const { name, uid, resourceVersion }: Node = current;
    const wanted = change(current);
    if (isLabelled(current, wanted)) return current;
    const write = await nodes.patch(name, { resourceVersion, ...wanted });
    if (write.kind === 'written') {
      const patch = { resourceVersion, ...wanted };
      const altered = alteredSlots({ node: current, patch }, write.node, () => undefined);
      if (altered.length > 0) throw alteredError(`node ${name}`, altered);
      return write.node;
    }
    current = await nodes.get(name);
    if (write.kind === 'gone' && current?.uid === uid) throw stillExistsError(`cannot patch Node "${name}"`);
  }
  if (current === undefined) return undefined;
  throw new NodepoolError(
    'cluster',
    `cannot label node ${node.name}: somebody else keeps changing it`,
    'run the command again',
  );
}

/**
 * Has the server check the first of these writes, which stands for all: throws NodepoolError when it would refuse it, as
 * for want of a permission. It is for what has to be written before, and would be there in vain.
 */
export async function tryLabels(
  nodes: readonly Node[],
  labels: Record<string, string>,
  client: Pick<NodesClient, 'patch'>,
): Promise<void> {
  const first = nodes.find(node => !isLabelled(node, { labels }));
  if (first === undefined) return;
  // A conflict says nothing of the next attempt, and who is gone is not missed before it is looked for.
  await client.patch(first.name, { resourceVersion: first.resourceVersion, labels }, { isTrial: true });
}

function isLabelled(node: Node, { labels }: LabelChange): boolean {
  return Object.entries(labels).every(([key, value]) => (labelOf(node, key) ?? null) === value);
}
