/** Which pools a command works on: those named, those with labels, or all. */

import type { NodePoolsClient } from '../../../kube/cluster.ts';
import type { RawPool } from '../../../kube/connection.ts';
import { firstFew, plural } from '../../../nodepool/plural.ts';
import { listPools } from './get.ts';

/** selector: a label selector, as the server takes it. */
export type PoolChoice = { names: readonly string[] } | { selector: string } | { all: true };

/** Each name once. Names are returned as given, without a request; selected ones are sorted. */
export async function chosenNames(choice: PoolChoice, pools: Pick<NodePoolsClient, 'list'>): Promise<string[]> {
  if ('names' in choice) return [...new Set(choice.names)];
  const listed = await listPools(selectorOf(choice), undefined, pools);
  return listed.map(({ metadata }) => metadata.name);
}

/** As chosenNames(), without a request for all pools: undefined means all. */
export async function namesUnlessAll(
  choice: PoolChoice,
  pools: Pick<NodePoolsClient, 'list'>,
): Promise<string[] | undefined> {
  return 'all' in choice ? undefined : chosenNames(choice, pools);
}

/** As chosenNames(), with the pools. `missing`: names that do not exist. */
export async function chosenPools(
  choice: PoolChoice,
  pools: Pick<NodePoolsClient, 'get' | 'list'>,
): Promise<{ found: RawPool[]; missing: string[] }> {
  if (!('names' in choice)) return { found: await listPools(selectorOf(choice), undefined, pools), missing: [] };
  const names = [...new Set(choice.names)];
  const answers = await Promise.all(names.map(name => pools.get(name)));
  return {
    found: answers.filter(pool => pool !== undefined),
    missing: names.filter((_, index) => answers[index] === undefined),
  };
}

function selectorOf(choice: Exclude<PoolChoice, { names: readonly string[] }>): string | undefined {
  return 'selector' in choice ? choice.selector : undefined;
}

/** Pools that are named in one sentence. */
export const MAX_NAMED = 5;

/** Why a script needs --yes for pools that its command line does not name: `2 pools would be drained: a, b`. */
export function chosenText(pools: readonly string[], fate: 'deleted' | 'drained'): string {
  return `${plural(pools.length, 'pool')} would be ${fate}: ${firstFew(pools, MAX_NAMED)}`;
}
