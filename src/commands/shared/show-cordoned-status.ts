import { warningLine } from '../../cli/error-line.ts';
import type { Io } from '../../cli/io.ts';
import { type CordonedStatusPort, recordCordoned } from '../../operations/cordoned-status.ts';

/** Updates the number of cordoned nodes in the status of pools, after a command that cordons or uncordons. */
export async function showCordonedStatus(
  pools: readonly string[],
  cluster: CordonedStatusPort,
  { err }: Pick<Io, 'err'>,
): Promise<void> {
  const recorded = await recordCordoned(pools, cluster);
  if ('refusal' in recorded) {
    err(warningLine(`'get' shows cordoned nodes as of the last reconcile: ${recorded.refusal.oneLine}`));
  }
}
