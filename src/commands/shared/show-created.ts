/** What was created: for `create` and `adopt --create`. */

import { showError } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import { EXIT } from '../../cli/report-error.ts';
import type { NodepoolError } from '../../nodepool/errors.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { DryRun } from '../../operations/ports.ts';
import { poolRef } from '../../render/pool-ref.ts';
import type { ObjectFormat } from '../../render/printers.ts';

export interface CreatedOutput {
  /** Undefined: a message for each pool. */
  format: ObjectFormat | undefined;
  /** A List, even of one pool. */
  asList: boolean;
  dryRun: DryRun;
}

/** Prints the errors of the others; returns the exit code. */
export function reportErrors(errors: readonly NodepoolError[], io: Io): number {
  for (const error of errors) showError(io, error);
  if (errors.some(({ kind }) => kind === 'interrupted')) return EXIT.interrupted;
  return errors.length > 0 ? EXIT.error : EXIT.done;
}

export async function showCreated(
  pools: NodePool[],
  { format, asList, dryRun }: CreatedOutput,
  { io }: Pick<Deps, 'io'>,
): Promise<void> {
  if (format !== undefined) {
    const { printObjects } = await import('../../render/printers.ts');
    io.out(printObjects(pools, format, asList));
    return;
  }
  for (const { metadata } of pools) {
    io.out(`${poolRef(metadata.name)} created${dryRunSuffix(dryRun)}`);
  }
}
