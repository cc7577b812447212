/** Sends one guarded patch per node, and none if nothing changes. Nodes under maintenance by others are not changed. */

import { conflictDelay } from '../../../controller/backoff.ts';
import type { ClusterReader, DryRun, NodesClient } from '../../../kube/cluster.ts';
import { activeMaintenance, type MaintenanceOwner } from '../../../nodepool/drain/maintenance.ts';
import {
  type CordonChange,
  type CordonPlan,
  type MaintenanceChange,
  needsOwner,
  planCordon,
} from '../../../nodepool/drain/plan-cordon.ts';
import { NodepoolError, type Warning } from '../../../nodepool/errors.ts';
import { noun } from '../../../nodepool/text.ts';
import { MAINTENANCE_ANNOTATION, type Node, type NodePool } from '../../../nodepool/types.ts';
import { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { alteredError } from '../../../reconciler/write/altered.ts';
import { fullName, nodeIn, similarNodes } from '../pools/node-names.ts';
import { meantText, poolNotFound } from '../pools/not-found.ts';
import { allPermitted } from '../refusals.ts';
import {
  type EndedMaintenance,
  type MaintenanceClient,
  maintenanceError,
  unpublishedWarning,
  unrecordedWarning,
} from './maintenance.ts';

/** Clients and options for writing nodes. */
export interface CordonOptions {
  cluster: { nodes: Pick<NodesClient, 'get' | 'patch'> };
  maintenance: MaintenanceClient;
  dryRun: DryRun;
  now: () => Date;
  /** Waits between two attempts after a conflict. */
  sleep: (ms: number) => Promise<void>;
  /** Who cordoned a node after the user approved the uncordon. Undefined: any cordon is lifted. */
  laterCordon?: ((node: Node) => Promise<{ by: string } | undefined>) | undefined;
}

export type CordonResult =
  | {
      /** `maintained`: only the maintenance changed. `left`: it ended, but the node was already cordoned before. */
      kind: 'changed' | 'maintained' | 'already' | 'left';
      node: string;
      change?: MaintenanceChange;
      /** Why the maintenance is not published as a condition, or why no Event reports its end. */
      warnings?: Warning[];
    }
  | { kind: 'gone'; node: string }
  | { kind: 'failed'; node: string; error: NodepoolError };

/** Consecutive conflicts after which a node fails. */
const MAX_ATTEMPTS = 20;

/** The requested nodes by pool and name; without names, all. Throws if a pool does not exist or a node is no member. */
export async function findNodes(
  command: 'cordon' | 'uncordon',
  named: { pools: readonly string[]; nodes: readonly string[] },
  cluster: ClusterReader,
): Promise<Node[]> {
  const pools = [...new Set(named.pools)];
  const { members, nodes } = await readMembers(command, pools, cluster);
  return chooseMembers([...members.values()].flat(), named.nodes, pools, nodes);
}

/** The members with these names; without names, all. @param nodes all: another node's name is not a short name */
export function chooseMembers(
  members: Node[],
  names: readonly string[],
  pools: readonly string[],
  nodes: readonly Node[],
): Node[] {
  if (names.length === 0) return members;
  const known = members.map(({ name }) => name);
  const others = nodes.map(({ name }) => name).filter(name => !known.includes(name));
  const found = names.map(name => (others.includes(name) ? undefined : fullName(name, known, '--node: ')));
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) {
    const outside = missing.map(name => fullName(name, others, '--node: ') ?? name);
    const unknown = outside.filter(name => !others.includes(name));
    throw notMembers(outside, pools, similarNodes(unknown, known));
  }
  return members.filter(node => found.includes(node.name));
}

/** Starts all writes at once: the connection limits those in flight. A failure does not stop the others. */
export function cordonNodes(
  nodes: readonly Node[],
  change: CordonChange,
  options: CordonOptions,
): Promise<CordonResult>[] {
  return nodes.map(node => cordonNode(node, change, options));
}

/** Returns refusals as values. @param node as last seen: a new node of the same name is `gone`, and not changed */
export async function cordonNode(node: Node, change: CordonChange, options: CordonOptions): Promise<CordonResult> {
  try {
    return await writeCordon(node, change, options);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { kind: 'failed', node: node.name, error };
  }
}

async function writeCordon(node: Node, change: CordonChange, options: CordonOptions): Promise<CordonResult> {
  const { cluster, dryRun, sleep, now, maintenance } = options;
  const { name, uid } = node;
  let current: Node | undefined = node;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if (current?.uid !== uid) return { kind: 'gone', node: name };
    const owner = needsOwner(current, change) ? await maintenance.owner() : undefined;
    // A maintenance that began later is not the one that the user wants to take over.
    const takeover = change.takeover === true && current.maintenance === node.maintenance;
    const plan = planCordon(current, { ...change, takeover }, owner, now());
    if (plan.kind === 'refused') {
      if (current !== node) throw maintenanceError(plan.holder, now());
      // The maintenance may have ended since the node was read.
      current = await cluster.nodes.get(name);
      if (current?.resourceVersion === node.resourceVersion) throw maintenanceError(plan.holder, now());
      continue;
    }
    if (plan.kind === 'already') return { kind: 'already', node: name, ...(await published(current, options)) };
    const done = {
      kind: writtenKind(plan),
      node: name,
      ...(plan.change === undefined ? {} : { change: plan.change }),
    } as const;
    if (dryRun === 'client') return done;
    const later =
      current !== node && plan.patch.unschedulable === false ? await options.laterCordon?.(current) : undefined;
    if (later !== undefined) throw laterCordonError(later.by);
    const { resourceVersion }: Node = current;
    const write = await cluster.nodes.patch(name, { resourceVersion, ...plan.patch });
    if (write.kind === 'written') {
      checkWritten(write.node, plan.patch);
      const ended = dryRun === 'none' ? endedBy(current, plan, owner) : undefined;
      const unrecorded = ended && (await maintenance.record(write.node, ended));
      const warnings = unrecorded === undefined ? [] : [unrecordedWarning(unrecorded)];
      return { ...done, ...(await published(write.node, options, warnings)) };
    }
    if (write.kind === 'gone') return { kind: 'gone', node: name };
    await sleep(conflictDelay(attempt));
    current = await cluster.nodes.get(name);
  }
  throw new NodepoolError('cluster', 'somebody else keeps changing it', 'try again');
}

function laterCordonError(by: string): NodepoolError {
  return new NodepoolError('cluster', `${by} cordoned the node meanwhile`, 'to uncordon anyway, run the command again');
}

function writtenKind({ patch, staysCordoned }: CordonPlan & { kind: 'write' }): 'changed' | 'maintained' | 'left' {
  if (staysCordoned) return 'left';
  return patch.unschedulable === undefined ? 'maintained' : 'changed';
}

/** The maintenance that the write ends. */
function endedBy(
  node: Node,
  plan: CordonPlan & { kind: 'write' },
  owner: MaintenanceOwner | undefined,
): EndedMaintenance | undefined {
  const holder = activeMaintenance(node);
  if (holder === undefined || owner === undefined) return undefined;
  const isTakenOver = plan.change?.kind === 'taken over';
  return isTakenOver || plan.patch.maintenance === null ? { maintenance: holder, by: owner, isTakenOver } : undefined;
}

async function published(
  node: Node,
  { dryRun, maintenance }: CordonOptions,
  others: Warning[] = [],
): Promise<{ warnings?: Warning[] }> {
  const refusal = dryRun === 'none' ? await maintenance.publish(node) : undefined;
  const warnings = [...others, ...(refusal === undefined ? [] : [unpublishedWarning(refusal)])];
  return warnings.length === 0 ? {} : { warnings };
}

/** Throws if the server stored something else. */
function checkWritten(node: Node, sent: { unschedulable?: boolean; maintenance?: string | null }): void {
  const altered = [];
  if (sent.unschedulable !== undefined && node.unschedulable !== sent.unschedulable)
    altered.push({ name: 'spec.unschedulable', sent: `${sent.unschedulable}`, found: `${node.unschedulable}` });
  if (sent.maintenance !== undefined && node.maintenance !== (sent.maintenance ?? undefined))
    altered.push({
      name: `annotation ${MAINTENANCE_ANNOTATION}`,
      sent: sent.maintenance ?? undefined,
      found: node.maintenance,
    });
  if (altered.length > 0) throw alteredError(`node ${node.name}`, altered);
}

function notMembers(nodes: string[], pools: readonly string[], similar: readonly string[]): NodepoolError {
  const what = nodes.map(name => `"${name}"`).join(', ');
  const verb = nodes.length === 1 ? 'is not a member' : 'are not members';
  return new NodepoolError(
    'input',
    `--node: ${noun(nodes.length, 'node')} ${what} ${verb} of ${noun(pools.length, 'pool')} ${pools.join(', ')}${similar.length > 0 ? meantText(similar) : ''}`,
    `list the members with \`kubectl nodepool describe ${pools.join(' ')}\``,
  );
}

/** The members of each pool, all nodes, and the owner of a node read later. Throws if a pool does not exist. */
export async function readMembers(
  command: string,
  names: readonly string[],
  cluster: ClusterReader,
): Promise<{
  members: Map<string, Node[]>;
  nodes: Node[];
  pools: NodePool[];
  ownerOf: (node: Node) => string | undefined;
}> {
  const [all, nodes] = await allPermitted([cluster.pools.listCoerced(), cluster.nodes.list()]);
  const state = new ClusterState(all, nodes, []);
  const missing = names.filter(name => state.pool(name) === undefined);
  if (missing.length > 0) {
    const known = all.map(({ metadata }) => metadata.name);
    throw poolNotFound(command, missing, { pools: known, node: nodeIn(state) });
  }
  const byName = (a: Node, b: Node) => (a.name < b.name ? -1 : 1);
  const members = new Map(names.map(name => [name, state.members(name).sort(byName)]));
  const pools = all.filter(({ metadata }) => members.has(metadata.name));
  return { members, nodes, pools, ownerOf: node => state.poolIndex.ownership(node).owner };
}
