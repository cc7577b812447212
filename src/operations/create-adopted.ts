/** Creates the pools that nodes are in already by their labels, as they are when somebody has agreed to them. */
import type { NodePool } from '../nodepool/types.ts';
import { type AdoptOptions, findAdoptable, poolsToCreate } from './adopt.ts';
import { agree, NO_CHANGE, type Question } from './consent.ts';
import { type CreateDeps, createPools } from './create.ts';
import type { DryRun, RawPool } from './ports.ts';

export interface AdoptedPools {
  /** As they were found, to be put to a person. */
  pools: NodePool[];
  labels: AdoptOptions['labels'];
  dryRun: DryRun;
}

/** @returns undefined when a person said no. Throws as createPools(). */
export async function createAdopted(
  { pools: found, labels, dryRun }: AdoptedPools,
  deps: CreateDeps,
): Promise<RawPool[] | undefined> {
  const names = found.map(({ metadata }) => metadata.name);
  let proposed: NodePool[] | undefined = found;
  // While a person thinks, nodes change, and with them what a pool would have to say.
  const propose = async () => {
    const pools = proposed ?? poolsToCreate(await findAdoptable({ labels, names, isGoneIgnored: true }, deps), true);
    proposed = undefined;
    return { pools, plan: NO_CHANGE, ...(found.length > 1 ? { question: questionOf(pools) } : {}) };
  };
  const agreed = await agree(propose, deps.approve);
  if (agreed === undefined) return undefined;
  return createPools({ pools: agreed.proposal.pools, nodes: [], concurrency: 1, dryRun }, async () => deps);
}

/** A yes covers the pools as they are proposed now: other labels or taints would be other pools. */
function questionOf(pools: NodePool[]): Question {
  const covers = pools.map(({ metadata, spec }) => JSON.stringify([metadata.name, spec]));
  return { text: `Create pools ${pools.map(({ metadata }) => metadata.name).join(', ')}?`, covers };
}
