/** Creates the pools that nodes are in already by their labels, as they are when somebody has agreed to them. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePool } from '../nodepool/types.ts';
import { type AdoptOptions, findAdoptable, poolsToCreate } from './adopt.ts';
import { agree, NO_CHANGE, type Question } from './consent.ts';
import { type CreateDeps, createPools } from './create.ts';
import { PoolExistsError, takenText } from './pool-exists.ts';
import type { DryRun, RawPool } from './ports.ts';

export interface AdoptedPools {
  /** As they were found, to be confirmed. */
  pools: NodePool[];
  labels: AdoptOptions['labels'];
  dryRun: DryRun;
}

export interface AdoptResult {
  created: RawPool[];
  /** Pools that were found first and not created: their name was taken meanwhile. */
  taken: NodepoolError[];
}

/** @returns undefined when a person said no. Throws as createPools(). */
export async function createAdopted(
  { pools: found, labels, dryRun }: AdoptedPools,
  deps: CreateDeps,
): Promise<AdoptResult | undefined> {
  const names = found.map(({ metadata }) => metadata.name);
  let proposed: NodePool[] | undefined = found;
  // While a person thinks, nodes change, and with them the spec of a pool.
  const propose = async () => {
    const pools = proposed ?? poolsToCreate(await findAdoptable({ labels, names, isGoneIgnored: true }, deps), true);
    proposed = undefined;
    return { pools, plan: NO_CHANGE, ...(found.length > 1 ? { question: questionOf(pools) } : {}) };
  };
  const agreed = await agree(propose, deps.approve);
  if (agreed === undefined) return undefined;
  const { pools } = agreed.proposal;
  const left = names.filter(name => pools.every(({ metadata }) => metadata.name !== name));
  try {
    const created = await createPools({ pools, nodes: [], concurrency: 1, dryRun }, async () => deps);
    return { created, taken: await takenBy(left, deps) };
  } catch (error) {
    const exists = error instanceof NodepoolError && error.cause !== undefined ? error.cause : error;
    if (!(exists instanceof PoolExistsError) || !(error instanceof NodepoolError)) throw error;
    const [taken] = await takenBy([exists.pool], deps);
    throw new NodepoolError('input', `${error.oneLine}; ${taken?.message ?? 'it was deleted since'}`, NEXT, {
      cause: error,
    });
  }
}

const NEXT = 'run `kubectl nodepool adopt` again to see the pools that are left';

/** Errors for those of the names that are pools by now. */
async function takenBy(names: readonly string[], { cluster }: CreateDeps): Promise<NodepoolError[]> {
  if (names.length === 0) return [];
  const pools = await cluster.pools.listCoerced();
  return pools.flatMap(({ metadata }) => {
    if (!names.includes(metadata.name)) return [];
    return new NodepoolError('input', `nodepool ${metadata.name} was not created: ${takenText(metadata)}`, NEXT);
  });
}

/** A yes covers the pools as they are proposed now: other labels or taints would be other pools. */
function questionOf(pools: NodePool[]): Question {
  const covers = pools.map(({ metadata, spec }) => JSON.stringify([metadata.name, spec]));
  return { text: `Create pools ${pools.map(({ metadata }) => metadata.name).join(', ')}?`, covers };
}
