/** `cordon` and `uncordon`: prints the result for each node. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, membersFlag } from '../../cli/flags.ts';
import { type PoolChoiceFlags, parsePoolChoice, poolChoiceFlags, reportNoPools } from '../../cli/pool-choice.ts';
import { printLine } from '../../cli/print-line.ts';
import { EXIT } from '../../cli/report-error.ts';
import { chosenNames } from '../../operations/choose-pools.ts';
import { cordonNodes, findNodes } from '../../operations/cordon.ts';
import type { DryRun } from '../../operations/ports.ts';
import { cordonLine } from '../../render/cordon.ts';
import { showCordonedStatus } from './show-cordoned-status.ts';

/** The flags of both commands. */
export const cordonFlags = {
  ...poolChoiceFlags,
  node: membersFlag,
  'dry-run': dryRunFlag(),
};

export interface CordonFlags extends PoolChoiceFlags {
  /** Members to include; undefined: all. */
  node?: readonly string[] | undefined;
  'dry-run': DryRun;
}

/** Returns the exit code. */
export async function showCordon(
  { pools: names, unschedulable }: { pools: readonly string[] | undefined; unschedulable: boolean },
  flags: CordonFlags,
  { io, connect }: Deps,
): Promise<number> {
  const choice = parsePoolChoice(names, flags);
  const { node = [], 'dry-run': dryRun } = flags;
  const { cluster } = await connect();
  const pools = await chosenNames(choice, cluster.pools);
  if (pools.length === 0) {
    reportNoPools(io);
    return EXIT.done;
  }
  const deps = { cluster, dryRun, sleep: (ms: number) => sleep(ms) };
  const nodes = await findNodes({ pools, nodes: node, unschedulable }, deps);
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
