/** `cordon` and `uncordon`: prints the result for each node. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { reportNoPools } from '../../cli/pool-choice.ts';
import { printLine } from '../../cli/print-line.ts';
import { EXIT } from '../../cli/report-error.ts';
import { chosenNames, type PoolChoice } from '../../operations/choose-pools.ts';
import { cordonNodes, findNodes } from '../../operations/cordon.ts';
import type { DryRun } from '../../operations/ports.ts';
import { cordonLine } from '../../render/cordon.ts';
import { showCordonedStatus } from './show-cordoned-status.ts';

export interface CordonChoice {
  pools: PoolChoice;
  /** Members to include; empty: all. */
  nodes: readonly string[];
  unschedulable: boolean;
  dryRun: DryRun;
}

/** Returns the exit code. */
export async function showCordon(choice: CordonChoice, { io, connect }: Deps): Promise<number> {
  const { unschedulable, dryRun } = choice;
  const { cluster } = await connect();
  const pools = await chosenNames(choice.pools, cluster.pools);
  if (pools.length === 0) {
    reportNoPools(io);
    return EXIT.done;
  }
  const deps = { cluster, dryRun, sleep: (ms: number) => sleep(ms) };
  const nodes = await findNodes({ ...choice, pools }, deps);
  if (nodes.length === 0) io.err(`No nodes found in nodepool ${pools.join(', ')}.`);
  let [failed, isChanged] = [false, false];
  for (const result of cordonNodes(nodes, unschedulable, deps)) {
    const outcome = await result;
    failed ||= outcome.kind === 'failed';
    isChanged ||= outcome.kind === 'changed';
    printLine(cordonLine(outcome, unschedulable, dryRunSuffix(dryRun)), io);
  }
  if (isChanged && dryRun === 'none') await showCordonedStatus(pools, cluster, io);
  return failed ? EXIT.error : EXIT.done;
}
