/** Creates pools, and makes nodes their members. Everything is checked before anything is written. */
import { NodepoolError } from '../nodepool/errors.ts';
import { membershipSelector } from '../nodepool/selector.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import { validatePool } from '../nodepool/validation.ts';
import { createLimiter } from '../reconciler/limiter.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { View } from '../reconciler/view.ts';
import { patchLabels } from './node-labels.ts';
import type { DryRun, PoolsPort, RawPool } from './ports.ts';

export interface CreateOptions {
  pools: NodePool[];
  /** Nodes to make members of the one pool. */
  nodes: string[];
  concurrency: number;
  dryRun: DryRun;
}

/**
 * @returns the pools as the server has them (as they would be sent, for a client dry run)
 * Throws NodepoolError; with several pools, those before the failing one are created, and the message says so.
 */
export async function createPools(
  options: CreateOptions,
  connect: () => Promise<{ pools: PoolsPort; cluster: ClusterPort }>,
): Promise<RawPool[]> {
  for (const pool of options.pools) assertValid(pool);
  assertDistinct(options.pools);
  if (options.dryRun === 'client') return options.pools.map(pool => ({ ...pool }));

  const { pools, cluster } = await connect();
  const nodes = await findNodes(options, cluster);
  const dryRun = options.dryRun === 'server';
  const created: RawPool[] = [];
  for (const pool of options.pools) {
    const result = await pools.create({ ...pool }, { dryRun });
    if (result.kind === 'exists') throw alreadyExists(pool, created);
    created.push(result.pool);
  }
  const [only] = created;
  if (only !== undefined && nodes.length > 0) {
    const limit = createLimiter(options.concurrency);
    const labels = membershipSelector(only);
    await Promise.all(nodes.map(node => limit(() => patchLabels(node, labels, cluster))));
  }
  return created;
}

/** Throws one error with every field that is wrong. */
export function assertValid(pool: NodePool): void {
  const errors = validatePool(pool);
  if (errors.length === 0) return;
  const lines = errors.map(error => `${error.field}: ${error.message}`);
  const name = pool.metadata.name;
  throw new NodepoolError('input', `nodepool ${name} is invalid: ${lines.join('\n  ')}`, errors[0]?.next);
}

function assertDistinct(pools: NodePool[]): void {
  const seen = new Set<string>();
  for (const { metadata } of pools) {
    if (seen.has(metadata.name)) {
      throw new NodepoolError('input', `nodepool ${metadata.name} stands twice in the input`, 'remove one of the two');
    }
    seen.add(metadata.name);
  }
}

/** The nodes of `--nodes`. Throws when one does not exist or belongs to another pool. */
async function findNodes({ nodes: names, pools }: CreateOptions, cluster: ClusterPort): Promise<Node[]> {
  if (names.length === 0) return [];
  const unique = [...new Set(names)];
  const [existing, ...found] = await Promise.all([cluster.listPools(), ...unique.map(name => cluster.getNode(name))]);
  const missing = unique.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) {
    const what = missing.map(name => `"${name}"`).join(', ');
    const noun = missing.length === 1 ? 'node' : 'nodes';
    throw new NodepoolError('input', `--nodes: ${noun} ${what} not found`, 'list the nodes with `kubectl get nodes`');
  }
  const nodes = found.filter(node => node !== undefined);
  const view = new View(existing, nodes, []);
  for (const node of nodes) {
    const owner = view.claim(node.name)?.owner;
    if (owner === undefined || owner === pools[0]?.metadata.name) continue;
    const ownerPool = view.pool(owner);
    const keys = Object.keys(ownerPool === undefined ? {} : membershipSelector(ownerPool));
    throw new NodepoolError(
      'input',
      `--nodes: node ${node.name} belongs to pool ${owner}`,
      `take it out first: \`kubectl label node ${node.name} ${keys.map(key => `${key}-`).join(' ')}\``,
    );
  }
  return nodes;
}

function alreadyExists(pool: NodePool, created: NodePool[]): NodepoolError {
  const done = created.map(({ metadata }) => metadata.name).join(', ');
  return new NodepoolError(
    'input',
    `nodepool ${pool.metadata.name} exists already${done === '' ? '' : ` (created before it: ${done})`}`,
    `change it with \`kubectl nodepool edit ${pool.metadata.name}\``,
  );
}
