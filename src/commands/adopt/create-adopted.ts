/** Creates pools from the labels of existing nodes, with the nodes as they are at the time of approval. */
import type { DryRun, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { noun } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { agree, NO_CHANGE, type Question } from '../shared/consent/consent.ts';
import { type CreateDeps, createPools } from '../shared/create/create.ts';
import { PoolExistsError, takenText } from '../shared/create/pool-exists.ts';
import { type AdoptOptions, type AdoptReader, findAdoptable, poolsToCreate } from './run.ts';

export interface AdoptResult {
  created: RawPool[];
  /** Pools that were found but not created: the name was taken in the meantime, or the server refused them. */
  errors: NodepoolError[];
}

/** @returns undefined if the user declined. Throws like createPools(). */
export async function createAdopted(
  { pools: found, labels, dryRun }: { pools: NodePool[]; labels: AdoptOptions['labels']; dryRun: DryRun },
  deps: CreateDeps & AdoptReader,
): Promise<AdoptResult | undefined> {
  const names = found.map(({ metadata }) => metadata.name);
  let proposed: NodePool[] | undefined = found;
  // While the user decides, nodes can change, and with them the spec of a pool.
  const propose = async () => {
    const pools = proposed ?? poolsToCreate(await findAdoptable({ labels, names, isGoneIgnored: true }, deps), true);
    proposed = undefined;
    return {
      pools,
      plan: NO_CHANGE,
      action: actionOf(pools),
      ...(found.length > 1 ? { question: questionOf(pools) } : {}),
    };
  };
  const agreed = await agree(propose, deps.approve);
  if (agreed === undefined) return undefined;
  const { pools } = agreed.proposal;
  const remaining = names.filter(name => pools.every(({ metadata }) => metadata.name !== name));
  const { created, errors } = await createPools({ pools, nodes: [], concurrency: 1, dryRun }, async () => deps);
  const existing = errors.flatMap(error => (error instanceof PoolExistsError ? [error.pool] : []));
  const taken = await takenBy([...remaining, ...existing], deps);
  return {
    created,
    errors: [
      ...taken.values(),
      ...errors.filter(error => !(error instanceof PoolExistsError && taken.has(error.pool))),
    ],
  };
}

const NEXT = 'run `kubectl nodepool adopt` to list the remaining pools';

async function takenBy(names: readonly string[], { cluster }: CreateDeps): Promise<Map<string, NodepoolError>> {
  if (names.length === 0) return new Map();
  const pools = await cluster.pools.listCoerced();
  const taken = pools.filter(({ metadata }) => names.includes(metadata.name));
  return new Map(
    taken.map(({ metadata }) => [
      metadata.name,
      new NodepoolError('input', `pool ${metadata.name} was not created: ${takenText(metadata)}`, NEXT),
    ]),
  );
}

/** An approval covers exactly the proposed pools: other labels, taints or annotations make other pools. */
function questionOf(pools: NodePool[]): Question {
  const covers = pools.map(({ metadata, spec }) => JSON.stringify([metadata.name, spec]));
  return { covers };
}

function actionOf(pools: NodePool[]): string {
  return `Create ${noun(pools.length, 'pool')} ${pools.map(({ metadata }) => metadata.name).join(', ')}`;
}
