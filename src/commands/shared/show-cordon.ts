/** `cordon` and `uncordon`: prints the result for each node. */
import { setTimeout as sleep } from 'node:timers/promises';
import { showNote, warnOnce } from '../../cli/error-line.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, membersFlag } from '../../cli/flags.ts';
import { type PoolChoiceFlags, parsePoolChoice, poolChoiceFlags, reportNoPools } from '../../cli/pool-choice.ts';
import { printLine } from '../../cli/print-line.ts';
import { EXIT } from '../../cli/report-error.ts';
import type { CordonChange } from '../../nodepool/plan-cordon.ts';
import { chosenNames } from '../../operations/choose-pools.ts';
import { cordonNodes, findNodes } from '../../operations/cordon.ts';
import { maintenanceClient } from '../../operations/maintenance.ts';
import type { DryRun } from '../../operations/ports.ts';
import { cordonLine } from '../../render/cordon.ts';
import { wishText } from '../../render/maintenance.ts';
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
  { pools: names, ...change }: { pools: readonly string[] | undefined } & CordonChange,
  flags: CordonFlags,
  { io, connect }: Deps,
): Promise<number> {
  const choice = parsePoolChoice(names, flags);
  const { node = [], 'dry-run': dryRun } = flags;
  const { cluster, maintenance: open } = await connect();
  const pools = await chosenNames(choice, cluster.pools);
  if (pools.length === 0) {
    reportNoPools(io);
    return EXIT.done;
  }
  const pause = (ms: number) => sleep(ms);
  const maintenance = maintenanceClient(open, pause);
  const deps = { cluster, maintenance, dryRun, now: io.now, sleep: pause };
  const nodes = await findNodes({ pools, nodes: node, unschedulable: change.unschedulable }, deps);
  if (nodes.length === 0) io.err(`No nodes found in nodepool ${pools.join(', ')}.`);
  else if (change.maintenance !== undefined)
    showNote(io, wishText(await maintenance.owner(), change.maintenance, io.now()));
  const warn = warnOnce(io);
  let [failed, isChanged] = [false, false];
  for (const result of cordonNodes(nodes, change, deps)) {
    const outcome = await result;
    failed ||= outcome.kind === 'failed';
    isChanged ||= outcome.kind === 'changed';
    printLine(cordonLine(outcome, change.unschedulable, dryRunSuffix(dryRun)), io);
    if ('warnings' in outcome) warn(outcome.warnings);
  }
  if (isChanged && dryRun === 'none') await showCordonedStatus(pools, cluster, io);
  return failed ? EXIT.error : EXIT.done;
}
