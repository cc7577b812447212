/** `cordon` and `uncordon`: prints the result for each node. */
import { setTimeout as sleep } from 'node:timers/promises';
import { showNote, showWarning, warnOnce } from '../../../cli/error-line.ts';
import type { Deps } from '../../../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, membersFlag } from '../../../cli/flags.ts';
import { EXIT } from '../../../cli/report-error.ts';
import type { DryRun } from '../../../kube/cluster.ts';
import type { CordonChange } from '../../../nodepool/drain/plan-cordon.ts';
import { plural } from '../../../nodepool/text.ts';
import { approver } from '../consent/approve.ts';
import { chosenNames } from '../pools/choose-pools.ts';
import { type PoolChoiceFlags, parsePoolChoice, poolChoiceFlags, reportNoPools } from '../pools/pool-choice.ts';
import { cordonNodes, findNodes } from './cordon.ts';
import { showCordonedStatus } from './cordoned-status.ts';
import { cordonsQuestion, cordonsText, foreignCordons, laterCordonOf } from './foreign-cordons.ts';
import { maintenanceClient } from './maintenance.ts';
import { cordonLine, printLine } from './print-cordon.ts';
import { requestedText } from './print-maintenance.ts';

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
  /** Of `uncordon`. */
  yes?: boolean;
}

/** Returns the exit code. */
export async function showCordon(
  { pools: names, ...change }: { pools: readonly string[] | undefined } & CordonChange,
  flags: CordonFlags,
  { io, connect }: Deps,
): Promise<number> {
  const choice = parsePoolChoice(names, flags);
  const { node = [], 'dry-run': dryRun, yes = false } = flags;
  const { cluster, maintenance: open, pods } = await connect({ dryRun: dryRun !== 'none' });
  const pools = await chosenNames(choice, cluster.pools);
  if (pools.length === 0) {
    reportNoPools(io);
    return EXIT.done;
  }
  const pause = (ms: number) => sleep(ms);
  const maintenance = maintenanceClient(open, pause);
  const deps = { cluster, maintenance, dryRun, now: io.now, sleep: pause };
  const find = async () => {
    const nodes = await findNodes(change.unschedulable ? 'cordon' : 'uncordon', { pools, nodes: node }, cluster);
    return { nodes, theirs: change.unschedulable ? [] : await foreignCordons(nodes, change, deps) };
  };
  let { nodes, theirs } = await find();
  if (theirs.length > 0) {
    const { agree, NO_CHANGE } = await import('../consent/consent.ts');
    let first: Awaited<ReturnType<typeof find>> | undefined = { nodes, theirs };
    const propose = async () => {
      const found = first ?? (await find());
      first = undefined;
      return {
        plan: NO_CHANGE,
        ...found,
        ...(found.theirs.length === 0 ? {} : { question: cordonsQuestion(pools, found.theirs) }),
      };
    };
    const agreed = await agree(propose, approver({ yes, dryRun: dryRun !== 'none' }, io, pods));
    if (agreed === undefined) {
      io.err('nothing was changed');
      return EXIT.error;
    }
    ({ nodes, theirs } = agreed.proposal);
  }
  if (theirs.length > 0 && (yes || dryRun !== 'none')) showWarning(io, cordonsText(theirs));
  if (nodes.length === 0) io.err(`No nodes found in nodepool ${pools.join(', ')}.`);
  else if (change.maintenance !== undefined)
    showNote(io, requestedText(await maintenance.owner(), change.maintenance, io.now()));
  const warn = warnOnce(io);
  const left: string[] = [];
  let [failed, isChanged] = [false, false];
  const isAsked = !change.unschedulable && !yes && dryRun === 'none';
  const laterCordon = isAsked ? laterCordonOf(theirs, change, deps) : undefined;
  for (const result of cordonNodes(nodes, change, { ...deps, laterCordon })) {
    const outcome = await result;
    failed ||= outcome.kind === 'failed';
    isChanged ||= outcome.kind === 'changed';
    if (outcome.kind === 'left') left.push(outcome.node);
    printLine(cordonLine(outcome, change.unschedulable, dryRunSuffix(dryRun)), io);
    if ('warnings' in outcome) warn(outcome.warnings);
  }
  if (isChanged && dryRun === 'none') await showCordonedStatus(pools, cluster, io);
  if (left.length > 0 && dryRun === 'none') {
    const nodes = `${plural(left.length, 'node')} ${left.length === 1 ? 'was' : 'were'} cordoned before the maintenance`;
    const next = `to make ${left.length === 1 ? 'it' : 'them'} schedulable, run \`${uncordonOf(pools, left)}\` (a script needs --yes)`;
    warn([{ message: nodes, next }]);
  }
  return failed ? EXIT.error : EXIT.done;
}

/** More would not fit on a command line that somebody reads. */
const MAX_NODES = 20;

function uncordonOf(pools: readonly string[], nodes: readonly string[]): string {
  const names = nodes.length > MAX_NODES ? 'NODE,…' : nodes.join(',');
  return `kubectl nodepool uncordon ${pools.join(' ')} --node ${names}`;
}
