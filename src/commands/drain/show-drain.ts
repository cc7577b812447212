/** `drain`: plans, asks, drains and reports the result, even after Ctrl-C. */
import { setTimeout as sleep } from 'node:timers/promises';
import { canAsk } from '../../cli/confirm.ts';
import { EXIT, errorWidth, noteLine, showNote, warningLine, warnOnce } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { type Io, terminalWidth } from '../../cli/io.ts';
import { SILENT } from '../../cli/progress.ts';
import { interruptible } from '../../cli/signals.ts';
import { systemClock } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { firstFew, noun, plural } from '../../nodepool/text.ts';
import { namesText, nodesText } from '../../print/names.ts';
import { sanitizeText } from '../../print/sanitize.ts';
import { makeStyle } from '../../print/style.ts';
import { PREEMPTION } from '../../scheduling/not-judged.ts';
import { approver } from '../shared/consent/approve.ts';
import { agree, NO_CHANGE, type Question } from '../shared/consent/consent.ts';
import { showCordonedStatus } from '../shared/cordon/cordoned-status.ts';
import { maintenanceClient } from '../shared/cordon/maintenance.ts';
import { type NodeLine, printLine, requestedText } from '../shared/cordon/print-cordon.ts';
import { chosenNames, chosenText, type PoolChoice, showNoPools } from '../shared/pools/choose-pools.ts';
import type { DrainChoice, DrainOptions } from './options.ts';
import { type PlannedPool, type PoolsDrainPlan, planDrain } from './plan-drain.ts';
import { drainColor, drainHeading, drainLine, drainProgress, showDrainResult } from './print.ts';
import { drain, paceOf } from './run.ts';

export interface ShownDrain extends DrainChoice {
  pools: PoolChoice;
  /** Undefined: the grace period of each pod. */
  gracePeriodSeconds: number | undefined;
  yes: boolean;
  /** Refuse, before anything is written, if an evicted pod would fit nowhere. */
  checkFit: boolean;
  /** Warnings about the pace for a pool. */
  warnOf: (pool: PlannedPool) => string[];
}

/** Scheduling rules that the plan did not check. */
function notCheckedText({ knowsVolumes }: PoolsDrainPlan): string {
  const volumes = knowsVolumes ? '' : 'volumes, ';
  return `Not checked: free resources, ${volumes}pod affinity, topology spread; to check, use --check-fit.`;
}

/** A client dry run assumes that the server accepts every eviction except those that a budget rules out. */
const NOT_TRIED =
  'Evictions are computed from PodDisruptionBudgets; --dry-run=server has the server check each eviction.';

/** Returns the exit code. */
export async function showDrain(choice: ShownDrain, deps: Deps): Promise<number> {
  const { io } = deps;
  const { dryRun } = choice;
  // Refuses invalid flags before the first request.
  choice.pace(1);
  const connection = await deps.connect({ dryRun: dryRun !== 'none' });
  const options = await optionsOf(choice, connection, io);
  const said = new Set<string>();
  const propose = async () => {
    const names = await chosenNames(choice.pools, connection.cluster.pools);
    const drainPlan = await planDrain(names, options);
    // Prints obstacles first, so that users see all of them in one run.
    showObstacles(drainPlan, choice, said, io);
    if (choice.checkFit) await requireFit(drainPlan, connection, io);
    return { drainPlan, plan: NO_CHANGE, ...question(drainPlan, choice) };
  };
  const agreed = await agree(propose, approver({ yes: choice.yes, dryRun: dryRun !== 'none' }, io, connection));
  if (agreed === undefined) {
    io.err('nothing was drained');
    return EXIT.error;
  }
  const plan = agreed.proposal.drainPlan;
  if (plan.pools.length === 0) showNoPools(io);
  for (const { pool, nodes } of plan.pools) if (nodes.length === 0) io.err(`No nodes found in pool ${pool}.`);
  const pools = plan.pools.filter(({ nodes }) => nodes.length > 0);
  // A warning has already named the nodes under maintenance by others.
  const begun = pools.filter(({ nodes }) => nodes.some(({ inOthersMaintenance }) => inOthersMaintenance !== true));
  const requested = choice.cordon.maintenance;
  if (begun.length > 0 && requested !== undefined)
    showNote(io, requestedText(await options.maintenance.owner(), requested, io.now()));
  for (const each of begun) showNote(io, drainHeading(each, { ...choice, pace: paceOf(each, choice) }));
  const cordoned = new Set<string>();
  return interruptibleDrain({ ...plan, pools }, options, cordoned, deps).finally(async () => {
    const names = pools.map(({ pool }) => pool);
    if (dryRun === 'none' && cordoned.size > 0) await showCordonedStatus(names, connection.cluster, io);
  });
}

/** The obstacles, each line once. */
function showObstacles(plan: PoolsDrainPlan, choice: ShownDrain, said: Set<string>, io: Io): void {
  const { pools, warnings, notes } = plan;
  const begun = pools.filter(({ nodes }) => nodes.length > 0);
  const hasPods = begun.some(({ nodes }) => nodes.some(({ pods }) => pods.length > 0));
  const isDry = choice.dryRun !== 'none' && begun.length > 0;
  const asksPerson = choice.dryRun === 'none' && hasPods && !choice.yes && canAsk(io);
  const notChecked = (isDry || asksPerson) && !choice.checkFit ? [notCheckedText(plan)] : [];
  if (choice.dryRun === 'client' && hasPods && !choice.disableEviction) notChecked.push(NOT_TRIED);
  const warned = [...warnings, ...begun.flatMap(choice.warnOf)].map(text => warningLine(text, errorWidth(io)));
  const lines = [...warned, ...[...notes, ...notChecked].map(text => noteLine(text, errorWidth(io)))];
  for (const line of lines.filter(each => !said.has(each))) io.err(line);
  for (const line of lines) said.add(line);
}

async function optionsOf(choice: ShownDrain, connection: Connection, io: Io): Promise<DrainOptions> {
  const { cluster, maintenance, scheduling } = connection;
  const { gracePeriodSeconds, disableEviction } = choice;
  const pause = (ms: number) => sleep(ms);
  const warn = warnOnce(io);
  return {
    ...choice,
    cluster,
    evictions: await cluster.evictions({ gracePeriodSeconds, disableEviction }),
    maintenance: maintenanceClient(maintenance, pause),
    volumes: async namespaces => (await scheduling()).boundVolumes(namespaces),
    clock: systemClock,
    now: io.now,
    sleep: pause,
    onWarning: warning => warn([warning]),
  };
}

/** Reports the result of each pool when it is done; returns the exit code. */
async function interruptibleDrain(
  plan: PoolsDrainPlan,
  options: DrainOptions,
  cordoned: Set<string>,
  deps: Deps,
): Promise<number> {
  const { io, progress } = deps;
  const [first] = plan.pools;
  if (first === undefined) return EXIT.done;
  // No spinner in a dry run: users want to see a line for each pod.
  const live = options.dryRun === 'none' ? await progress(drainProgress(first.pool, [])) : SILENT;
  const words = { disableEviction: options.disableEviction, suffix: dryRunSuffix(options.dryRun) };
  const planned = new Map(plan.pools.map(each => [each.pool, each]));
  const run = async (signal: AbortSignal) => {
    const onEvent: DrainOptions['onEvent'] = (event, { pool, drains }) => {
      if (!signal.aborted) live.update(drainProgress(pool, drains));
      if (event.kind === 'cordon' && event.result.kind === 'changed') cordoned.add(event.result.node);
      // `uncordon` of the pool refuses the node.
      if (event.kind === 'left') cordoned.delete(event.node);
      const isDetail = event.kind === 'asking' || event.kind === 'gone';
      if (live === SILENT || !isDetail) print(drainLine(event, words), drainColor(event), io);
    };
    const codes: number[] = [];
    for await (const drained of drain(plan, { ...options, onEvent, signal })) {
      const ends = { interrupted: signal.aborted, dryRun: options.dryRun, cordoned };
      codes.push(showDrainResult(drained, planned.get(drained.pool), ends, deps));
    }
    return Math.max(...codes);
  };
  return interruptible(io, run, () => live.update('Shutting down. Press Ctrl-C again to exit at once')).finally(() =>
    live.stop(),
  );
}

function print(line: NodeLine, color: ReturnType<typeof drainColor>, io: Io): void {
  if (color === undefined || line.to === 'error') printLine(line, io);
  else if (line.to === 'out') io.out(makeStyle(io.color)[color](noteLine(line.text, terminalWidth(io) ?? Infinity)));
  // io.err() would escape the colour codes.
  else io.stderr.write(`${makeStyle(io.errorColor)[color](noteLine(sanitizeText(line.text), errorWidth(io)))}\n`);
}

// The question of `drain`, and what an approval covers.

/** Maximum numbers in the error for a script; the warnings name all. */
const MAX_BUDGETS = 5;
const MAX_POOLS = 5;

/** A script would wait for blocked pods until each node's timeout, with all nodes cordoned. */
function question(
  { pools, blocked }: Pick<PoolsDrainPlan, 'pools' | 'blocked'>,
  { pools: choice, ...options }: Pick<ShownDrain, 'disableEviction' | 'isRolling' | 'pace' | 'pools'>,
): { action: string; question: Question } {
  const nodes = pools.flatMap(pool => pool.nodes).filter(({ inOthersMaintenance }) => inOthersMaintenance !== true);
  const all = nodes.reduce((sum, planned) => sum + planned.pods.length, 0);
  const pods = all - blocked.pods;
  const of = blocked.pods === 0 ? '' : `${pods} of `;
  const evict = `${options.disableEviction ? 'delete' : 'evict'} ${of}${plural(all, 'pod')}`;
  const names = firstFew(
    pools.map(({ pool }) => pool),
    MAX_POOLS,
  );
  const begun = pools.filter(pool => pool.nodes.length > 0).map(({ pool }) => pool);
  // A percentage gives a different number in each pool.
  const [pace = 0, ...otherPaces] = new Set(pools.map(pool => paceOf(pool, options).nodes));
  const rate = options.isRolling && pace > 0 && otherPaces.length === 0 ? `, ${plural(pace, 'node')} at a time` : '';
  const reasons = [
    // Not needed if the command line names the pools.
    ...('names' in choice || begun.length === 0 ? [] : [chosenText(begun, 'drained')]),
    ...(blocked.pods === 0 ? [] : [blockedText(blocked, all)]),
  ];
  return {
    action: `Drain ${noun(pools.length, 'pool')} ${names}${rate}: ${cordonAnd(evict, nodes)}`,
    question: {
      covers: [
        ...nodes.flatMap(({ node, warned }) => [`node ${node.uid}`, ...[...warned].map(uid => `warned pod ${uid}`)]),
        ...Array.from({ length: pods }, (_, at) => `pod ${at}`),
      ],
      needsYes: reasons.length === 0 ? undefined : reasons,
    },
  };
}

/** What is done to which nodes; only nodes that are still schedulable are named as cordoned. */
function cordonAnd(evict: string, nodes: PlannedPool['nodes']): string {
  const open = nodes.filter(({ node }) => !node.unschedulable);
  const names = (of: PlannedPool['nodes']) => of.map(({ node }) => node.name);
  if (open.length === 0 && nodes.length > 0)
    return `${evict} from ${nodesText(names(nodes)).replace('node', 'cordoned node')}`;
  const some = `${open.length} of ${plural(nodes.length, 'node')} (${namesText(names(open))})`;
  const pods = nodes.some(node => node.pods.length > 0) ? ` and ${evict}` : '';
  return `cordon ${open.length < nodes.length ? some : nodesText(names(open))}${pods}`;
}

function blockedText({ pods, budgets }: PoolsDrainPlan['blocked'], all: number): string {
  const allow = budgets.length === 1 ? 'never allows' : 'never allow';
  const what = `${noun(budgets.length, 'PodDisruptionBudget')} ${firstFew(budgets, MAX_BUDGETS)}`;
  return `${what} ${allow} ${pods} of ${plural(all, 'pod')} to be evicted`;
}

// `drain --check-fit`.

/** Throws NodepoolError with the pods that would fit nowhere. */
async function requireFit(plan: PoolsDrainPlan, connection: Connection, io: Io): Promise<void> {
  const { drainFit } = await import('./drain-fit.ts');
  const { moving, withoutPlace, uncertain, unfit, stuck, bound, failed, done, notJudged } = await drainFit(
    plan,
    connection,
  );
  for (const text of notJudged) showNote(io, `Not considered: ${text}.`);
  if (failed > 0) showNote(io, failedText(failed));
  if (done > 0) showNote(io, doneText(done));
  if (unfit.length > 0) {
    showNote(io, `Not considered: ${PREEMPTION}.`);
    const [count, find] =
      withoutPlace > 0
        ? [`${uncertain > 0 ? 'at least ' : ''}${withoutPlace}`, 'would find']
        : [`${uncertain}`, 'may find'];
    const message = `${count} of ${plural(moving, 'pod')} ${find} no place on other nodes; nothing was cordoned`;
    throw new NodepoolError('cluster', message, nextWithoutPlace(withoutPlace, bound), { items: [...unfit, ...stuck] });
  }
  if (moving === 0) return;
  showNote(io, `${moving === 1 ? 'The recreated pod fits' : `All ${moving} recreated pods fit`} on the other nodes.`);
}

function failedText(pods: number): string {
  const [are, their] = pods === 1 ? ['1 pod is', 'its'] : [`${pods} pods are`, 'their'];
  return `${are} not recreated: an eviction counts as a failed pod, and ${their} Job allows no more of them.`;
}

function doneText(pods: number): string {
  const [are, their] = pods === 1 ? ['1 pod is', 'its'] : [`${pods} pods are`, 'their'];
  return `${are} not recreated: ${their} Job has no completions, and a pod of it has succeeded.`;
}

/** A new node does not help pods whose volumes only their current node can reach. */
function nextWithoutPlace(unfit: number, bound: number): string {
  const without = 'drain without --check-fit: the pods stay Pending until the node is uncordoned';
  if (unfit === 0) return 'add nodes, drain fewer at a time, or drain without --check-fit: some may stay Pending';
  if (bound === unfit) return `if pods may wait for the node with their volumes, ${without}`;
  const room = 'add nodes, or drain fewer at a time';
  return bound === 0 ? room : `${room}; for pods whose volumes exist only on their node, ${without}`;
}
