/** Marks nodes as unschedulable or schedulable: one guarded patch a node, and none where it is so already. */

import { NodepoolError } from '../nodepool/errors.ts';
import { noun } from '../nodepool/plural.ts';
import type { Node } from '../nodepool/types.ts';
import { alteredError } from '../reconciler/altered.ts';
import { conflictDelay } from '../reconciler/conflict-delay.ts';
import type { NodesClient } from '../reconciler/ports.ts';
import { poolMembers } from './pool-members.ts';
import type { ClusterReader, DryRun } from './ports.ts';

export interface CordonOptions {
  pools: readonly string[];
  /** Only these of the members; empty: all. */
  nodes: readonly string[];
  /** What spec.unschedulable is to be. */
  unschedulable: boolean;
}

export interface CordonNodeDeps {
  cluster: { nodes: Pick<NodesClient, 'get' | 'patch'> };
  dryRun: DryRun;
  sleep: (ms: number) => Promise<void>;
}

export interface CordonDeps extends CordonNodeDeps {
  cluster: CordonNodeDeps['cluster'] & ClusterReader;
}

export type CordonResult =
  | { kind: 'changed' | 'already' | 'gone'; node: string }
  | { kind: 'failed'; node: string; error: NodepoolError };

/** Conflicts in a row after which a node is an error. */
const MAX_ATTEMPTS = 20;

/** The nodes that are meant, by pool and name. Throws when a pool does not exist or a node is no member; writes nothing. */
export async function findNodes(options: CordonOptions, deps: CordonDeps): Promise<Node[]> {
  const { nodes: names } = options;
  const pools = [...new Set(options.pools)];
  const command = options.unschedulable ? 'cordon' : 'uncordon';
  return chooseMembers([...(await poolMembers(command, pools, deps.cluster)).values()].flat(), names, pools);
}

/** Of the members those with these names; without names, all. Throws when a name is no member's. */
export function chooseMembers(members: Node[], names: readonly string[], pools: readonly string[]): Node[] {
  if (names.length === 0) return members;
  const nonMembers = names.filter(name => !members.some(node => node.name === name));
  if (nonMembers.length > 0) throw notMembers(nonMembers, pools);
  return members.filter(node => names.includes(node.name));
}

/** Starts all writes at once: the connection bounds how many are under way. One that fails does not stop the others. */
export function cordonNodes(nodes: readonly Node[], unschedulable: boolean, deps: CordonDeps): Promise<CordonResult>[] {
  return nodes.map(node => cordonNode(node, unschedulable, deps));
}

/**
 * A refusal is a value.
 * @param node as it was seen last: another one that has its name by now is left alone, and `gone` is the answer
 */
export async function cordonNode(node: Node, unschedulable: boolean, deps: CordonNodeDeps): Promise<CordonResult> {
  try {
    return await setUnschedulable(node, unschedulable, deps);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { kind: 'failed', node: node.name, error };
  }
}

async function setUnschedulable(
  node: Node,
  unschedulable: boolean,
  { cluster, dryRun, sleep }: CordonNodeDeps,
): Promise<CordonResult> {
  const { name, uid } = node;
  let current: Node | undefined = node;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if (current?.uid !== uid) return { kind: 'gone', node: name };
    if (current.unschedulable === unschedulable) return { kind: 'already', node: name };
    if (dryRun === 'client') return { kind: 'changed', node: name };
    const { resourceVersion }: Node = current;
    const write = await cluster.nodes.patch(name, { resourceVersion, unschedulable }, { dryRun: dryRun === 'server' });
    if (write.kind === 'written') {
      const found = write.node.unschedulable;
      if (found === unschedulable) return { kind: 'changed', node: name };
      throw alteredError(`node ${name}`, [{ name: 'spec.unschedulable', sent: `${unschedulable}`, found: `${found}` }]);
    }
    if (write.kind === 'gone') return { kind: 'gone', node: name };
    await sleep(conflictDelay(attempt, Math.random()));
    current = await cluster.nodes.get(name);
  }
  throw new NodepoolError('cluster', 'somebody else keeps changing it', 'try again');
}

function notMembers(nodes: string[], pools: readonly string[]): NodepoolError {
  const what = nodes.map(name => `"${name}"`).join(', ');
  const verb = nodes.length === 1 ? 'is not a member' : 'are not members';
  return new NodepoolError(
    'input',
    `--node: ${noun(nodes.length, 'node')} ${what} ${verb} of nodepool ${pools.join(', ')}`,
    `list the members with \`kubectl nodepool describe ${pools.join(' ')}\``,
  );
}
