/** Chooses the pools of a command: by name, by labels, or all. */

import * as Flags from '@oclif/core/flags';
import type { Io } from '../../../cli/io.ts';
import type { NodePoolsClient, RawPool } from '../../../kube/cluster.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import { type NamesDeps, namesToSuggest, poolsNotFound, selectorError } from './not-found.ts';

/** selector: a label selector in the server's syntax. */
export type PoolChoice = { names: readonly string[] } | { selector: string } | { all: true };

/** Each name once. Given names are returned without a request; selected ones are sorted. */
export async function chosenNames(choice: PoolChoice, pools: Pick<NodePoolsClient, 'list'>): Promise<string[]> {
  if ('names' in choice) return [...new Set(choice.names)];
  const listed = await listPools(selectorOf(choice), undefined, pools);
  return listed.map(({ metadata }) => metadata.name);
}

/** Like chosenNames(), but without a request for all pools: undefined means all. */
export async function namesUnlessAll(
  choice: PoolChoice,
  pools: Pick<NodePoolsClient, 'list'>,
): Promise<string[] | undefined> {
  return 'all' in choice ? undefined : chosenNames(choice, pools);
}

/** Like chosenNames(), with the pools. `missing`: names that do not exist. */
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

/** Maximum pools named in one sentence. */
export const MAX_NAMED = 5;

/** Why a script needs --yes if its command line does not name the pools: `2 pools would be drained: a, b`. */
export function chosenText(pools: readonly string[], fate: 'deleted' | 'drained'): string {
  return `${plural(pools.length, 'pool')} would be ${fate}: ${firstFew(pools, MAX_NAMED)}`;
}

// Reads pools as stored on the server.

interface GetOptions {
  /** Empty: all. */
  names: string[];
  /** A label selector in the server's syntax. */
  selector: string | undefined;
  /** A field selector in the server's syntax. */
  fieldSelector: string | undefined;
  ignoreNotFound: boolean;
}

/** Pools in the requested order, or by name; missing names become errors, so that the others are still shown. */
export async function getPools(
  { names, selector, fieldSelector, ignoreNotFound }: GetOptions,
  deps: NamesDeps & { pools: Pick<NodePoolsClient, 'get' | 'list'> },
): Promise<{ pools: RawPool[]; missing: NodepoolError[] }> {
  if (names.length > 0 && (selector !== undefined || fieldSelector !== undefined)) {
    const flag = selector === undefined ? '--field-selector' : '-l';
    throw new NodepoolError('usage', `names and ${flag} cannot be used together`, 'use one of the two');
  }
  if (names.length === 0) {
    return { pools: await listPools(selector, fieldSelector, deps.pools), missing: [] };
  }
  const found = await Promise.all(names.map(name => deps.pools.get(name)));
  const missing = ignoreNotFound ? [] : names.filter((_, index) => found[index] === undefined);
  return {
    pools: found.filter(pool => pool !== undefined),
    missing: poolsNotFound('get', missing, await namesToSuggest('get', missing, deps)),
  };
}

/** Sorted by name. Throws a usage error that quotes a selector which the server rejects. */
async function listPools(
  labelSelector: string | undefined,
  fieldSelector: string | undefined,
  pools: Pick<NodePoolsClient, 'list'>,
): Promise<RawPool[]> {
  try {
    const listed = await pools.list({ labelSelector, fieldSelector });
    return listed.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  } catch (error) {
    if (labelSelector === undefined && fieldSelector === undefined) throw error;
    const isLabels =
      labelSelector !== undefined &&
      (fieldSelector === undefined || !(error instanceof Error && /field/.test(error.message)));
    if (isLabels) throw selectorError(error, '-l', labelSelector);
    const next = 'the server can only filter by metadata.name; for other fields, use -o jsonpath';
    throw selectorError(error, '--field-selector', fieldSelector ?? '', next);
  }
}

// `NAME…`, `-l SELECTOR` or `--all`: the pools that a command works on. If no name means all, there is no --all.

export const poolSelectorFlag = {
  selector: Flags.string({
    char: 'l',
    summary: 'Select pools by their labels: a=b,c!=d,e.',
    helpValue: 'SELECTOR',
  }),
};

export const poolChoiceFlags = {
  ...poolSelectorFlag,
  all: Flags.boolean({ summary: 'Select all pools.' }),
};

export interface PoolChoiceFlags {
  selector?: string | undefined;
  all?: boolean | undefined;
}

/** Exactly one of the three, by kubectl's rules. Throws a usage error. @param none without any; undefined: an error */
export function parsePoolChoice(
  names: readonly string[] = [],
  { selector, all }: PoolChoiceFlags,
  none?: PoolChoice,
): PoolChoice {
  const next = `name a pool${none === undefined ? ', or use -l SELECTOR or --all' : ', or use -l SELECTOR'}`;
  const usage = (problem: string) => new NodepoolError('usage', problem, next);
  if (all && selector !== undefined) throw usage('cannot set --all and --selector at the same time');
  if (names.length > 0 && selector !== undefined) throw usage('a name cannot be provided when a selector is specified');
  if (names.length > 0 && all) throw usage('a name cannot be provided when --all is specified');
  if (selector !== undefined) return { selector };
  if (all) return { all };
  if (names.length > 0) return { names };
  if (none === undefined) throw usage('no pool is specified');
  return none;
}

/** A selector that matches nothing is no error, as in kubectl delete. */
export function showNoPools({ err }: Pick<Io, 'err'>): void {
  err('No pools found.');
}
