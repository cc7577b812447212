/** `NAME…`, `-l SELECTOR` or `--all`: the pools that a command works on. Where no name means all, there is no --all. */
import * as Flags from '@oclif/core/flags';
import type { Io } from '../../../cli/io.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import type { PoolChoice } from './choose-pools.ts';

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

/**
 * Exactly one of the three, by kubectl's rules. Throws a usage error.
 * @param none without any of them; undefined: that is an error too
 */
export function parsePoolChoice(
  names: readonly string[] = [],
  { selector, all }: PoolChoiceFlags,
  none?: PoolChoice,
): PoolChoice {
  const next = `give names of pools${none === undefined ? ', -l SELECTOR or --all' : ' or -l SELECTOR'}`;
  const usage = (problem: string) => new NodepoolError('usage', problem, next);
  if (all && selector !== undefined) throw usage('cannot set --all and --selector at the same time');
  if (names.length > 0 && selector !== undefined) throw usage('a name cannot be provided when a selector is specified');
  if (names.length > 0 && all) throw usage('a name cannot be provided when --all is specified');
  // For kubectl an empty selector is no selector; the variable of a script that is not set must not mean all.
  if (selector?.trim() === '') {
    throw new NodepoolError('usage', '-l: the selector is empty', 'look for a variable that is not set');
  }
  if (selector !== undefined) return { selector };
  if (all) return { all };
  if (names.length > 0) return { names };
  if (none === undefined) throw usage('no nodepool is specified');
  return none;
}

/** For a selector that matches nothing: no error, as for kubectl delete. */
export function reportNoPools({ err }: Pick<Io, 'err'>): void {
  err('No pools found.');
}
