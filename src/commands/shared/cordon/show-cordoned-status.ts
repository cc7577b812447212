import { type ErrorIo, showWarning } from '../../../cli/error-line.ts';
import { type CordonedStatusPort, recordCordoned } from './cordoned-status.ts';

/** Updates the number of cordoned nodes in the status of pools, after a command that cordons or uncordons. */
export async function showCordonedStatus(
  pools: readonly string[],
  cluster: CordonedStatusPort,
  io: ErrorIo,
): Promise<void> {
  const warning = await recordCordoned(pools, cluster);
  if (warning !== undefined) showWarning(io, warning);
}
