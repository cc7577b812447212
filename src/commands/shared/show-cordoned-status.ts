import { type ErrorIo, showWarning } from '../../cli/error-line.ts';
import { type CordonedStatusPort, recordCordoned } from '../../operations/cordoned-status.ts';

/** Updates the number of cordoned nodes in the status of pools, after a command that cordons or uncordons. */
export async function showCordonedStatus(
  pools: readonly string[],
  cluster: CordonedStatusPort,
  io: ErrorIo,
): Promise<void> {
  const recorded = await recordCordoned(pools, cluster);
  if ('refusal' in recorded) {
    showWarning(io, `'get' shows cordoned nodes as of the last reconcile: ${recorded.refusal.oneLine}`);
  }
}
