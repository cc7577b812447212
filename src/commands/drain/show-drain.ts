/** `drain`: plans, asks, drains and reports the result, also after Ctrl-C. */

import { setTimeout as sleep } from 'node:timers/promises';
import { approver } from '../../cli/approve.ts';
import { errorLine, warningLine } from '../../cli/error-line.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { interruptible } from '../../cli/interruptible.ts';
import type { Io } from '../../cli/io.ts';
import { printLine } from '../../cli/print-line.ts';
import { SILENT } from '../../cli/progress.ts';
import { EXIT } from '../../cli/report-error.ts';
import { systemClock } from '../../controller/clock.ts';
import { plural } from '../../nodepool/plural.ts';
import { agree, NO_CHANGE, type Question } from '../../operations/consent.ts';
import { type DrainDeps, type DrainOptions, type DrainPlan, drain, planDrain } from '../../operations/drain.ts';
import type { NodeDrain } from '../../operations/drain-node.ts';
import type { DryRun } from '../../operations/ports.ts';
import type { NodeLine } from '../../render/cordon.ts';
import { drainColor, drainHeading, drainLine, drainProgress, renderDrains } from '../../render/drain.ts';
import { sanitizeText } from '../../render/sanitize.ts';
import { makeStyle } from '../../render/style.ts';

export interface DrainChoice extends Omit<DrainOptions, 'pace'> {
  pool: string;
  dryRun: DryRun;
  yes: boolean;
  /** @param members of the pool; throws a usage error */
  pace: (members: number) => DrainOptions['pace'];
}

type BaseDeps = Pick<DrainDeps, 'cluster' | 'port' | 'clock' | 'now' | 'dryRun' | 'sleep'>;

/** Returns the exit code. */
export async function showDrain(choice: DrainChoice, deps: Deps): Promise<number> {
  const { io } = deps;
  const { pool, dryRun } = choice;
  // Refuses wrong flags before the first request.
  choice.pace(1);
  const connection = await deps.connect();
  const drainDeps = await drainDepsOf(connection, dryRun, deps);
  const said = new Set<string>();
  const propose = async () => {
    const drainPlan = await planDrain(pool, choice, drainDeps);
    const pace = choice.pace(drainPlan.nodes.length + drainPlan.otherMembers.length);
    if (drainPlan.nodes.length > 0) tell(drainPlan, { ...choice, pace }, said, io);
    return { drainPlan, pace, plan: NO_CHANGE, question: question(drainPlan, choice) };
  };
  const agreed = await agree(propose, approver({ yes: choice.yes, dryRun: dryRun !== 'none' }, io, connection.pods));
  if (agreed === undefined) {
    io.err('nothing was drained');
    return EXIT.error;
  }
  const { drainPlan: plan, pace } = agreed.proposal;
  if (plan.nodes.length === 0) {
    io.err(`No nodes found in nodepool ${pool}.`);
    return EXIT.done;
  }
  return report(plan, await interruptibleDrain(plan, { ...choice, pace }, drainDeps, deps), dryRun, deps);
}

/** What will be done and what stands in the way; each line once. */
function tell(
  plan: DrainPlan,
  choice: DrainOptions & Pick<DrainChoice, 'dryRun'>,
  said: Set<string>,
  { err }: Io,
): void {
  const notChecked = choice.dryRun === 'none' ? [] : ['Not checked: whether other nodes have enough free resources.'];
  const lines = [...plan.warnings.map(warningLine), drainHeading(plan, choice), ...plan.notes, ...notChecked];
  for (const line of lines.filter(each => !said.has(each))) err(line);
  for (const line of lines) said.add(line);
}

async function drainDepsOf({ cluster, drain }: Connection, dryRun: DryRun, { io }: Deps): Promise<BaseDeps> {
  return { cluster, port: await drain(), clock: systemClock, now: io.now, dryRun, sleep: ms => sleep(ms) };
}

/** A yes covers the nodes, and that number of pods: which pods they are changes by the minute. */
function question({ pool, nodes }: DrainPlan, { disableEviction }: DrainChoice): Question {
  const pods = nodes.reduce((sum, planned) => sum + planned.pods.length, 0);
  const what = `${disableEviction ? 'delete' : 'evict'} ${plural(pods, 'pod')}`;
  return {
    text: `Drain pool ${pool}: cordon ${plural(nodes.length, 'node')} and ${what}?`,
    covers: [...nodes.map(({ node }) => `node ${node.name}`), ...Array.from({ length: pods }, (_, at) => `pod ${at}`)],
  };
}

interface Drained {
  drains: NodeDrain[];
  interrupted: boolean;
  /** Nodes that were cordoned by this run. */
  cordoned: string[];
}

async function interruptibleDrain(
  plan: DrainPlan,
  options: DrainOptions & Pick<DrainChoice, 'dryRun'>,
  drainDeps: BaseDeps,
  { io, progress }: Deps,
): Promise<Drained> {
  // In a dry run there is no spinner: a line for each pod is what people want to see.
  const live = options.dryRun === 'none' ? await progress(drainProgress(plan.pool, [])) : SILENT;
  const words = { disableEviction: options.disableEviction, suffix: dryRunSuffix(options.dryRun) };
  const cordoned: string[] = [];
  const run = async (signal: AbortSignal) => {
    const onEvent: DrainDeps['onEvent'] = (event, drains) => {
      if (!signal.aborted) live.update(drainProgress(plan.pool, drains));
      if (event.kind === 'cordon' && event.result.kind === 'changed') cordoned.push(event.result.node);
      const isDetail = event.kind === 'asking' || event.kind === 'gone';
      if (live === SILENT || !isDetail) print(drainLine(event, words), drainColor(event), io);
    };
    const drains = await drain(plan, options, { ...drainDeps, onEvent, signal });
    return { drains, interrupted: signal.aborted, cordoned };
  };
  return interruptible(io, run, () => live.update('Stopping. Ctrl-C again ends it at once')).finally(() => live.stop());
}

function print(line: NodeLine, color: ReturnType<typeof drainColor>, io: Io): void {
  if (color === undefined || line.to === 'error') printLine(line, io);
  else if (line.to === 'out') io.out(makeStyle(io.color)[color](line.text));
  // io.err() would escape the colour.
  else io.stderr.write(`${makeStyle(io.errorColor)[color](sanitizeText(line.text))}\n`);
}

/** Prints the result as a line, or as a table where nodes are left to drain; returns the exit code. */
function report(
  { pool, nodes, otherMembers }: DrainPlan,
  { drains, interrupted, cordoned }: Drained,
  dryRun: DryRun,
  { io }: Deps,
): number {
  const left = drains.filter(({ phase }) => phase !== 'drained');
  if (left.length === 0) {
    const pods = drains.reduce((sum, { gone }) => sum + gone, 0);
    const what = `${plural(drains.length, 'node')}, ${plural(pods, 'pod')}`;
    io.out(`nodepool.nodes.lailin.xyz/${pool} drained (${what})${dryRunSuffix(dryRun)}`);
    return EXIT.done;
  }
  io.out(renderDrains(drains, makeStyle(io.color)));
  const how = interrupted ? 'interrupted' : 'not drained';
  const isFull = !interrupted && left.some(({ phase }) => phase === 'not begun');
  const why = isFull ? '; --max-unavailable is used up by members that failed or are not Ready' : '';
  const message = `nodepool "${pool}" ${how}: ${left.length} of ${plural(drains.length, 'node')} left to drain${why}`;
  const isAll = otherMembers.length === 0 && cordoned.length === nodes.length;
  io.err(errorLine({ message, next: `run the command again to continue${uncordonHint(pool, isAll, cordoned)}` }));
  return interrupted ? EXIT.interrupted : EXIT.error;
}

/** More would not fit on a command line that somebody reads. */
const MAX_NODES = 20;

/** Of the nodes that this run cordoned; empty where there are none. */
function uncordonHint(pool: string, isAll: boolean, cordoned: readonly string[]): string {
  if (cordoned.length === 0) return '';
  const few = cordoned.length <= MAX_NODES ? cordoned.toSorted().map(node => ` --node ${node}`) : [];
  const note = isAll || few.length > 0 ? '' : ` (it cordoned ${plural(cordoned.length, 'node')}: see above)`;
  return `, or make the nodes that it cordoned schedulable again: \`kubectl nodepool uncordon ${pool}${isAll ? '' : few.join('')}\`${note}`;
}
