/** Finds node groups by node labels, and proposes NodePools that adopt them without changing a node. */
import type { ClusterReader } from '../../kube/cluster.ts';
import type { Connection } from '../../kube/connect.ts';
import { findCandidates, type PoolCandidate, type PoolOverlap, withOverlaps } from '../../nodepool/adopt/adopt.ts';
import { NodepoolError, type Warning } from '../../nodepool/errors.ts';
import { defined } from '../../nodepool/json.ts';
import { keyProblem } from '../../nodepool/spec/syntax.ts';
import { noun } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { wideWarning } from '../shared/consent/warnings.ts';
import { takenText } from '../shared/create/pool-exists.ts';
import { allPermitted } from '../shared/refusals.ts';

export interface AdoptOptions {
  /** Label keys to search instead of the well-known ones; empty: the well-known ones. */
  labels: string[];
  /** Names of proposed pools to consider; empty: all. */
  names: string[];
  /** Ignore names that are not found, because they were proposed earlier. */
  isGoneIgnored?: boolean;
}

export interface AdoptReader extends Pick<Connection, 'annotatedNodes'> {
  cluster: Pick<ClusterReader, 'pools' | 'rules'>;
}

/** Reads pools and nodes. Throws NodepoolError for an invalid key, and for a name that is not found. */
export async function findAdoptable(
  { labels, names, isGoneIgnored = false }: AdoptOptions,
  { cluster, annotatedNodes }: AdoptReader,
): Promise<PoolCandidate[]> {
  for (const label of labels) {
    const problem = keyProblem(label);
    if (problem !== undefined) throw new NodepoolError('usage', `--label: ${problem}`, 'give only the key');
  }
  const [pools, { nodes, annotations }] = await allPermitted([cluster.pools.listCoerced(), annotatedNodes()]);
  const state = new ClusterState(pools, nodes, []);
  const found = findCandidates({
    nodes,
    annotations,
    pools: pools.map(({ metadata }) => metadata.name),
    ownerOf: ({ name }) => state.ownership(name)?.owner,
    labels,
    ...defined({ transient: cluster.rules?.transient }),
  });
  const isFound = (name: string) => found.some(({ pool }) => pool.metadata.name === name);
  const missing = names.filter(name => !isFound(name));
  if (missing.length > 0 && !isGoneIgnored) {
    const what = missing.map(name => `"${name}"`).join(', ');
    const why = pools.flatMap(({ metadata }) => (missing.includes(metadata.name) ? takenText(metadata) : []));
    throw new NodepoolError(
      'input',
      [`no proposed pool is named ${what}`, ...why].join(': '),
      'list the proposed pools with `kubectl nodepool adopt`',
    );
  }
  return withOverlaps(names.length === 0 ? found : found.filter(({ pool }) => names.includes(pool.metadata.name)));
}

/** The pools to create: the new candidates. @param named a candidate that shares nodes with another is an error */
export function poolsToCreate(candidates: PoolCandidate[], named: boolean): NodePool[] {
  const [overlap] = candidates.filter(({ state }) => state.kind === 'overlap');
  if (named && overlap?.state.kind === 'overlap') throw sharesNodes(overlap.pool, overlap.state);
  return candidates.filter(({ state }) => state.kind === 'new').map(({ pool }) => pool);
}

/** A sentence for each candidate that poolsToCreate() leaves out because it shares nodes with others. */
export function leftOut(candidates: readonly PoolCandidate[]): Warning[] {
  return candidates.flatMap(({ pool, state }) => {
    if (state.kind !== 'overlap') return [];
    const { problem, next } = overlapText(state);
    return [{ message: `${pool.metadata.name} is not created: it ${problem}`, next }];
  });
}

/** For pools that select control-plane nodes. @param created false if they cannot be edited yet */
export function controlPlaneWarnings(
  candidates: readonly PoolCandidate[],
  pools: readonly Pick<NodePool, 'metadata'>[],
  { created }: { created: boolean },
): Warning[] {
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  return candidates.flatMap(({ pool, nodes }) => {
    const warning = names.has(pool.metadata.name) ? wideWarning(pool, nodes) : undefined;
    if (warning === undefined) return [];
    return created || typeof warning === 'string' ? warning : warning.message;
  });
}

function sharesNodes({ metadata: { name } }: NodePool, overlap: PoolOverlap): NodepoolError {
  const { problem, next } = overlapText(overlap);
  return new NodepoolError('input', `${name} ${problem}; a node can be in only one pool`, next);
}

function overlapText({ pools, exist }: PoolOverlap): { problem: string; next: string } {
  const names = pools.join(', ');
  if (!exist) return { problem: `shares nodes with ${names}`, next: 'choose one pool by name, or relabel the nodes' };
  return {
    problem: `shares nodes with ${noun(pools.length, 'pool')} ${names}, which ${pools.length === 1 ? 'exists' : 'exist'}`,
    next: `change the node selector of that pool (kubectl nodepool edit ${pools[0]}), or relabel the nodes`,
  };
}
