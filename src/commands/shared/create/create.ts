/** Creates pools, and makes nodes their members. Checks everything before anything is written. */

import { createLimiter } from '../../../controller/limiter.ts';
import type { ClusterPort, ClusterReader, DryRun, NodePatch, NodesClient, RawPool } from '../../../kube/cluster.ts';
import { ifRefused, NodepoolError } from '../../../nodepool/errors.ts';
import { type LabelPatch, labelOf, labelsToJoin } from '../../../nodepool/membership/member-labels.ts';
import { asYoungest } from '../../../nodepool/membership/membership.ts';
import { membershipSelector } from '../../../nodepool/membership/selector.ts';
import { parseRecord } from '../../../nodepool/plan/record.ts';
import { pausedError } from '../../../nodepool/rollout/rollout.ts';
import { fieldErrors } from '../../../nodepool/spec/field-error.ts';
import { isSubdomain } from '../../../nodepool/spec/syntax.ts';
import { validatePool } from '../../../nodepool/spec/validation.ts';
import { andMore, firstFew, noun, plural } from '../../../nodepool/text.ts';
import type { Node, NodePool } from '../../../nodepool/types.ts';
import { nodesText } from '../../../print/names.ts';
import { changedNodes } from '../../../print/question.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import { pausedPool } from '../../../reconciler/plan/node-plan.ts';
import { ClusterState, clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { stillExistsError } from '../../../reconciler/state/live-reads.ts';
import { alteredError, alteredOnNode } from '../../../reconciler/write/altered.ts';
import { type Approve, agree, NO_CHANGE, planOrError } from '../consent/consent.ts';
import { alteredPool } from '../edit/guarded-patch.ts';
import { mayEvict } from '../impact/taint-evictions.ts';
import { namedNodes } from '../pools/node-names.ts';
import { nodesNotFound } from '../pools/not-found.ts';
import { allPermitted, valueOrRefusal } from '../refusals.ts';
import { alreadyExists } from './pool-exists.ts';

export interface CreateOptions {
  pools: NodePool[];
  /** Nodes to add to the one pool. */
  nodes: string[];
  concurrency: number;
  dryRun: DryRun;
  /** The files of the pools, as given by the user; empty: from flags. */
  files?: readonly string[];
  /** Plan what a reconcile of the new pools would do to their nodes, if these can be read, to ask the user. */
  looksAhead?: boolean;
}

export interface CreateDeps {
  cluster: ClusterPort;
  approve: Approve;
  /** Runs the writes with a signal that stops between two of them. Without it, the writes cannot be stopped. */
  stoppable?<T>(work: (signal: AbortSignal | undefined) => Promise<T>): Promise<T>;
}

export interface CreateResult {
  /** As stored by the server (for a client dry run, as they would be sent). */
  created: RawPool[];
  /** For pools that were not created, or that differ from what was sent. */
  errors: NodepoolError[];
}

const MAX_NAMED = 5;

/** Like kubectl create, continues if a pool cannot be created. Throws before anything is written. */
export async function createPools(options: CreateOptions, connect: () => Promise<CreateDeps>): Promise<CreateResult> {
  for (const pool of options.pools) assertValid(pool);
  assertDistinct(options.pools);
  if (options.dryRun === 'client') return { created: options.pools.map(pool => ({ ...pool })), errors: [] };

  const { cluster, approve, stoppable = work => work(undefined) } = await connect();
  const propose = async () => {
    const nodes = await findNodes(options, cluster);
    const plan = await planOrError(() => planCreate(options, nodes, cluster));
    const ahead = options.looksAhead
      ? await valueOrRefusal(async () => planCreation(options, nodes, cluster))
      : undefined;
    const asksImpactOf = ahead !== undefined && 'value' in ahead ? ahead.value : undefined;
    return { nodes, plan, action: actionOf(options, asksImpactOf), asksImpactOf };
  };
  const agreed = await agree(propose, approve);
  if (agreed === undefined) return { created: [], errors: [] };
  const { nodes } = agreed.proposal;
  return stoppable(signal => create(options, nodes, { cluster, signal }));
}

function actionOf({ pools }: CreateOptions, ahead: ClusterPlan | undefined): string {
  const names = firstFew(
    pools.map(({ metadata }) => metadata.name),
    MAX_NAMED,
  );
  const changed = changedNodes(ahead?.nodes ?? []);
  return `Create ${noun(pools.length, 'pool')} ${names}${changed.length === 0 ? '' : `, to change ${nodesText(changed)}`}`;
}

async function create(
  options: CreateOptions,
  nodes: Node[],
  { cluster, signal }: Pick<CreateDeps, 'cluster'> & { signal: AbortSignal | undefined },
): Promise<CreateResult> {
  const [named] = options.pools;
  if (named !== undefined && options.dryRun === 'none')
    await tryLabels(nodes, membershipSelector(named).labels, cluster.nodes);
  const dryRun = options.dryRun === 'server';
  const created: RawPool[] = [];
  const errors: NodepoolError[] = [];
  for (const [at, pool] of options.pools.entries()) {
    const remaining = options.pools.slice(at);
    if (signal?.aborted) {
      errors.push(interrupted(`${plural(created.length, 'nodepool')} created, ${remaining.length} left`));
      break;
    }
    try {
      const result = await cluster.pools.create({ ...pool });
      if (result.kind === 'exists') {
        const existing = options.files && (await cluster.pools.get(pool.metadata.name).catch(ifRefused(undefined)));
        throw alreadyExists(pool, options.files, existing);
      }
      const altered = alteredPool(pool, result.pool);
      if (altered !== undefined) throw createdOtherwise(altered, dryRun);
      created.push(result.pool);
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      errors.push(error.isGeneral ? withOthers(error, remaining.slice(1)) : error);
      if (error.isGeneral) break;
    }
  }
  const [only] = created;
  if (only !== undefined && nodes.length > 0) {
    await join(nodes, only, options, { cluster, signal });
  }
  return { created, errors };
}

/** If the server altered a pool, its nodes are neither labelled nor reconciled. */
function createdOtherwise(error: NodepoolError, dryRun: boolean): NodepoolError {
  return new NodepoolError('cluster', `${dryRun ? '' : 'created, but '}${error.oneLine}`, error.next);
}

async function join(
  nodes: Node[],
  pool: NodePool,
  { concurrency }: CreateOptions,
  { cluster, signal }: Pick<CreateDeps, 'cluster'> & { signal: AbortSignal | undefined },
): Promise<void> {
  // Ctrl-C stops between two nodes. The transport limits the requests themselves.
  const limitNodes = createLimiter(concurrency);
  const change = (node: Node) => ({ labels: labelsFor(node, pool) });
  const remaining: string[] = [];
  const label = async (node: Node) => {
    if (signal?.aborted) remaining.push(node.name);
    else await patchLabels(node, change, cluster.nodes);
  };
  // Waits for all of them, so that nothing is written after an error was thrown.
  const writes = await Promise.allSettled(nodes.map(node => limitNodes(() => label(node))));
  const errors = writes.flatMap(write => (write.status === 'rejected' ? [write.reason as unknown] : []));
  const [first] = errors;
  if (remaining.length > 0) {
    const { name } = pool.metadata;
    const done = `pool ${name} is created, ${plural(nodes.length - remaining.length - errors.length, 'node')} labelled`;
    const [failed] = errors;
    const why = failed instanceof NodepoolError ? `; ${failed.oneLine}` : '';
    throw interrupted(
      `${done}, ${plural(remaining.length, 'node')} left${why}`,
      `add the remaining nodes: \`kubectl nodepool add ${name} NODE...\``,
      remaining,
    );
  }
  if (first === undefined) return;
  if (!(first instanceof NodepoolError)) throw first;
  const more = andMore(errors.length - 1, ' (', ')');
  const message = `pool ${pool.metadata.name} is created, but ${first.oneLine}${more}`;
  throw new NodepoolError(first.kind, message, first.next, { cause: first });
}

/** @param nodes the remaining ones; the first few are named */
function interrupted(
  what: string,
  next = 'run the command again for the remaining pools',
  nodes: string[] = [],
): NodepoolError {
  const named = nodes.length === 0 ? '' : `: ${firstFew(nodes, MAX_NAMED)}`;
  return new NodepoolError('interrupted', `interrupted: ${what}${named}`, next);
}

/** The labels that make the node a member. Throws for labels of others: a cloud's zone is not overwritten. */
function labelsFor(node: Node, pool: NodePool): LabelPatch {
  try {
    return labelsToJoin(node, node.record === undefined ? undefined : parseRecord(node.record), pool);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    throw new NodepoolError(error.kind, `--nodes: ${error.message}`, error.next, { cause: error });
  }
}

/** Throws one error with all invalid fields. */
export function assertValid(pool: NodePool): void {
  const errors = validatePool(pool);
  if (errors.length > 0) throw fieldErrors(`pool ${pool.metadata.name}`, errors);
}

function assertDistinct(pools: NodePool[]): void {
  const seen = new Set<string>();
  for (const { metadata } of pools) {
    if (seen.has(metadata.name)) {
      throw new NodepoolError('input', `pool ${metadata.name} is in the input twice`, 'remove one of the two');
    }
    seen.add(metadata.name);
  }
}

/** Throws if the pool exists, or if a node does not exist, belongs to another pool or has another label value. */
async function findNodes({ nodes: names, pools }: CreateOptions, cluster: ClusterPort): Promise<Node[]> {
  if (names.length === 0) return [];
  const unique = [...new Set(names)];
  const impossible = unique.filter(name => !isSubdomain(name));
  if (impossible.length > 0) throw nodesNotFound(impossible, '--nodes: ');
  const [existing, found] = await Promise.all([
    cluster.pools.listCoerced(),
    valueOrRefusal(() => namedNodes(unique, cluster.nodes, '--nodes: ')),
  ]);
  const taken = pools.find(({ metadata }) => existing.some(other => other.metadata.name === metadata.name));
  if (taken !== undefined) throw alreadyExists(taken);
  if ('refusal' in found) throw found.refusal;
  const nodes = found.value;
  const state = new ClusterState(existing, nodes, []);
  const [pool] = pools;
  for (const node of nodes) {
    if (pool !== undefined) labelsFor(node, pool);
    const ownership = state.ownership(node.name);
    const paused = ownership && pausedPool(state, ownership);
    if (paused !== undefined) throw pausedError(`--nodes: node ${node.name} is not changed`, paused);
    const owner = ownership?.owner;
    if (owner === undefined || owner === pool?.metadata.name) continue;
    throw new NodepoolError(
      'input',
      `--nodes: node ${node.name} belongs to pool ${owner}`,
      `first remove the node from that pool: \`kubectl nodepool remove ${owner} ${node.name}\``,
    );
  }
  return nodes;
}

/** Adds the names of the pools that were not tried to the error. */
function withOthers(error: NodepoolError, others: NodePool[]): NodepoolError {
  if (others.length === 0) return error;
  const names = others.map(({ metadata }) => metadata.name).join(', ');
  return new NodepoolError(error.kind, `${error.oneLine} (not created: ${names})`, error.next, { cause: error });
}

// What new pools would do to nodes, planned before they are created.

interface NewPools {
  pools: NodePool[];
}

/** What a reconcile of the new pools would do; nodes are read only if it may evict pods. @param nodes to be labelled */
async function planCreate(wanted: NewPools, nodes: Node[], cluster: ClusterReader): Promise<ClusterPlan> {
  // The labels of --nodes may move a node to another pool; an existing member stays in its pool.
  if (nodes.length === 0 && !mayEvict([], wanted.pools)) return NO_CHANGE;
  const existing = await cluster.pools.listCoerced();
  if (!mayEvict(existing, wanted.pools)) return NO_CHANGE;
  return planCreation(wanted, nodes, cluster, existing);
}

/** Like planCreate(), but always reads nodes. @param existing pools, if already read */
async function planCreation(
  wanted: NewPools,
  nodes: Node[],
  cluster: ClusterReader,
  existing?: NodePool[],
): Promise<ClusterPlan> {
  const [pools, listed] = await allPermitted([
    existing === undefined ? cluster.pools.listCoerced() : Promise.resolve(existing),
    cluster.nodes.list(),
  ]);
  return planCluster(clusterStateOf(cluster, pools, listed), {
    pools: wanted.pools.map(({ metadata }) => metadata.name),
    specs: wanted.pools.map(asYoungest),
    labels: labelsOf(wanted, nodes),
  });
}

function labelsOf({ pools: [pool] }: NewPools, nodes: Node[]): Map<string, LabelPatch> {
  return new Map(pool === undefined ? [] : nodes.map(({ name }) => [name, membershipSelector(pool).labels]));
}

// Writes membership labels with one guarded patch per node, so that no concurrent change is lost.

/** What to write to a node: labels to set, or null to remove, and optionally the record. */
type LabelChange = Pick<NodePatch, 'record'> & Required<Pick<NodePatch, 'labels'>>;

const MAX_ATTEMPTS = 20;

/** Writes what `change` returns, again after every conflict. `change` may throw. Undefined if the node is gone. */
async function patchLabels(
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
      const altered = alteredOnNode({ node: current, patch }, write.node, () => undefined);
      if (altered.length > 0) throw alteredError(`node ${name}`, altered);
      return write.node;
    }
    current = await nodes.get(name);
    if (write.kind === 'gone' && current?.uid === uid) throw stillExistsError(`cannot patch Node "${name}"`);
  }
  if (current === undefined) return undefined;
  throw new NodepoolError(
    'cluster',
    `cannot label node ${node.name}: somebody else keeps changing the node`,
    'run the command again',
  );
}

/** Lets the server validate one representative write before the pool is created in vain. */
async function tryLabels(
  nodes: readonly Node[],
  labels: Record<string, string>,
  client: Pick<NodesClient, 'patch'>,
): Promise<void> {
  const first = nodes.find(node => !isLabelled(node, { labels }));
  if (first === undefined) return;
  // A conflict does not predict the next attempt, and the actual write reports a node that is gone.
  await client.patch(first.name, { resourceVersion: first.resourceVersion, labels }, { isTrial: true });
}

function isLabelled(node: Node, { labels }: LabelChange): boolean {
  return Object.entries(labels).every(([key, value]) => (labelOf(node, key) ?? null) === value);
}
