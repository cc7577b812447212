/**
 * Objects as the server has them now, the view following. A server answers 404 to a write also where it does not serve
 * the subresource, so what such a 404 means is asked of the object itself (docs/decisions/0029-gone-is-asked-again.md).
 */
import { NodepoolError } from '../nodepool/errors.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import type { ClusterPort } from './ports.ts';
import type { View } from './view.ts';

export interface LiveReadDeps {
  cluster: ClusterPort;
  view: View;
}

/** Undefined when no pool has the name. @param uid of the one that was known */
export async function readPool(
  name: string,
  uid: string | undefined,
  { cluster, view }: LiveReadDeps,
): Promise<NodePool | undefined> {
  const asked = view.moment();
  const pool = await cluster.getPool(name);
  if (pool === undefined) view.removePool(name, uid);
  else view.setPool(pool, asked);
  return pool;
}

/** Undefined when no node has the name. @param uid of the one that was known */
export async function readNode(name: string, uid: string, { cluster, view }: LiveReadDeps): Promise<Node | undefined> {
  const asked = view.moment();
  const node = await cluster.getNode(name);
  if (node === undefined) view.removeNode(name, uid);
  else view.setNode(node, asked);
  return node;
}

/** @param cannot what was refused, as `cannot patch Node "a"` */
export function stillThere(cannot: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `${cannot}: the server answered that it does not exist, and still has it when it is read`,
    'look for a proxy before the API server that answers in its place; see request and answer with -v 8',
  );
}

/** Of a pool that was to be deleted. */
export function remade(pool: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `nodepool ${pool} was deleted and made anew by somebody else meanwhile; the new one is left as it is`,
    'run the command again if that one is to be deleted, too',
  );
}

/** The answer is the same as for a pool that does not exist; this one was found when it was read. */
export function noStatusSubresource(pool: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `cannot patch the status of NodePool "${pool}": the CRD nodepools.nodes.lailin.xyz serves no status subresource`,
    'run `kubectl nodepool install`',
  );
}
