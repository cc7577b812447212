/** Prints what was created, for `create` and `adopt --create`. */
import type { Deps } from '../../../cli/factory.ts';
import { dryRunSuffix } from '../../../cli/flags.ts';
import type { DryRun } from '../../../kube/cluster.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import type { ObjectFormat } from '../../../print/printers.ts';
import { poolRef } from '../../../print/sanitize.ts';

export interface CreatedOutput {
  /** Undefined: print a message for each pool. */
  format: ObjectFormat | undefined;
  /** Print a List, even for one pool. */
  asList: boolean;
  dryRun: DryRun;
}

export async function showCreated(
  pools: NodePool[],
  { format, asList, dryRun }: CreatedOutput,
  { io }: Pick<Deps, 'io'>,
): Promise<void> {
  if (format !== undefined) {
    const { printObjects } = await import('../../../print/printers.ts');
    io.out(printObjects(pools, format, asList));
    return;
  }
  for (const { metadata } of pools) {
    io.out(`${poolRef(metadata.name)} created${dryRunSuffix(dryRun)}`);
  }
}
