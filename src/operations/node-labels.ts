/** Membership labels of nodes, written one guarded patch a node: nobody's concurrent label is lost. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { Node } from '../nodepool/types.ts';
import type { ClusterPort } from '../reconciler/ports.ts';

/** Sets (or with null removes) the labels; undefined when the node is gone. No write when nothing differs. */
export async function patchLabels(
  node: Node,
  labels: Record<string, string | null>,
  cluster: ClusterPort,
): Promise<Node | undefined> {
  let current: Node | undefined = node;
  for (let attempt = 0; attempt < 20 && current !== undefined; attempt++) {
    const { labels: live, name, resourceVersion }: Node = current;
    if (Object.entries(labels).every(([key, value]) => (live[key] ?? null) === value)) return current;
    const write = await cluster.patchNode(name, { resourceVersion, labels });
    if (write.kind === 'written') return write.node;
    current = write.kind === 'gone' ? undefined : await cluster.getNode(name);
  }
  if (current === undefined) return undefined;
  throw new NodepoolError(
    'cluster',
    `cannot label node ${node.name}: somebody else keeps changing it`,
    'run the command again',
  );
}
