/** Reconciles and shows the result: for `reconcile` and `create --reconcile`. */
import { canAsk } from '../../../cli/confirm.ts';
import { EXIT, showError, showWarning, warnOnce } from '../../../cli/errors.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import { dryRunSuffix } from '../../../cli/flags.ts';
import { type Io, terminalWidth } from '../../../cli/io.ts';
import { interruptible } from '../../../cli/signals.ts';
import type { ClusterPort, DryRun } from '../../../kube/cluster.ts';
import { type Warning, warningAbout } from '../../../nodepool/errors.ts';
import { unfinishedRollout } from '../../../nodepool/status/status.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { droppedFields, lackingWarning } from '../../../reconciler/write/status-writer.ts';
import { type AgreedProposal, type Approve, agree, type Proposal } from '../consent/consent.ts';
import { namesUnlessAll, type PoolChoice, showNoPools } from '../pools/choose-pools.ts';
import { type PoolSummary, type RunMemory, reconcile } from './apply.ts';
import { isInterrupted, showInterruption } from './interrupted.ts';
import { type ProposedReconcile, proposeReconcile, type Steps } from './propose.ts';
import { reconcileDeps, showFailures } from './reconcile-deps.ts';
import type { WaitEnd } from './until-done.ts';

export interface ReconcileChoice {
  pools: PoolChoice;
  concurrency: number;
  /** If lines are printed to stdout, a dry run prints the changes before its result. */
  dryRun: DryRun;
  /** Show these changes separately for each node. */
  byNode?: boolean;
  podCounts: boolean;
  approve: Approve;
  /** Called with the warnings of a proposal; the caller prints each once. */
  warn?: (warnings: readonly Warning[]) => void;
  /** After an edit of the nodeSelector: nodes whose release was shown. A reconcile asks about other nodes. */
  released?: ReadonlySet<string> | undefined;
  /** Give up a pool after so many ms without an eviction; 0: never. Default: 15 minutes. */
  timeoutMs?: number;
  /** Continue until the pools are done or stopped, for at most so many milliseconds; 0: no limit. */
  waitMs?: number;
  /** What to print to stdout; default: lines. */
  print?: 'lines' | 'nothing' | 'json' | 'yaml';
}

/** Prints the results to stdout, failures and warnings to stderr; returns the exit code. */
export async function showReconcile(choice: ReconcileChoice, deps: Deps, connection: Connection): Promise<number> {
  const { io } = deps;
  const { dryRun, timeoutMs } = choice;
  const { cluster } = connection;
  const names = await namesUnlessAll(choice.pools, cluster.pools);
  if (names?.length === 0) {
    await printResults([], choice, io);
    showNoPools(io);
    return EXIT.done;
  }
  const work = await reconcileDeps(deps, connection, `Reconciling${dryRunSuffix(dryRun)}`, {
    concurrency: choice.concurrency,
    quiet: choice.print === 'nothing',
  });
  const { warn = warnOnce(io) } = choice;
  const { workloads } = connection;
  const reading = {
    cluster,
    workloads,
    ...(choice.podCounts ? { podCounts: () => connection.pods.countByNode() } : {}),
  };
  const { waitMs } = choice;
  const wait = waitMs === undefined ? undefined : await import('./until-done.ts');
  const limit = wait && new wait.Limit(work.clock, waitMs ?? 0);
  const ask = (proposal: Proposal, signal?: AbortSignal) => work.aside(() => choice.approve(proposal, signal));
  const agreeOn = (pools: readonly string[], steps: Steps | undefined, signal?: AbortSignal) =>
    agree(
      async () => {
        const proposal = await proposeReconcile([...pools], reading, choice.released, steps);
        warn(proposal.warnings);
        return proposal;
      },
      // The timeout pauses while the user reads.
      proposal =>
        limit !== undefined && canAsk(io) ? limit.aside(() => ask(proposal, signal)) : ask(proposal, signal),
    );
  const memory: RunMemory = {};
  const carryOut = async (
    { proposal, consent }: AgreedProposal<ProposedReconcile>,
    signal: AbortSignal,
  ): Promise<PoolSummary[]> => {
    if (dryRun !== 'none' && (choice.print ?? 'lines') === 'lines') {
      const { printChanges, showImpactToPerson } = await import('../changes/diff.ts');
      await work.aside(async () => {
        await printChanges(proposal.plan, cluster, io, choice.byNode);
        await showImpactToPerson(proposal.plan, io, connection, proposal.state);
      });
    }
    const target = dryRun === 'client' ? await inMemory(proposal.state, cluster) : cluster;
    const leavesPods = wait !== undefined;
    return reconcile(proposal, { ...work, cluster: target, consent, timeoutMs, leavesPods, signal, memory, warn });
  };
  const run = async (): Promise<(Partial<WaitEnd> & Pick<WaitEnd, 'summaries'>) | undefined> => {
    // Before the first write, Ctrl-C ends the command at once.
    const first = await agreeOn(names ?? [], wait && { isFirst: true, written: undefined });
    if (first === undefined) return undefined;
    return interruptible(io, async signal => {
      if (wait === undefined || limit === undefined) return { summaries: await carryOut(first, signal) };
      const again = (pools: readonly string[], written: Steps['written']) =>
        agreeOn(pools, { isFirst: false, written }, signal);
      const isQuiet = choice.print === 'nothing';
      return wait.untilDone({ first, again, run: carryOut, limit, clock: work.clock, signal, io, isQuiet });
    });
  };
  const end = await run().finally(work.stop);
  if (end === undefined) {
    io.err('nothing was reconciled');
    return EXIT.error;
  }
  const { summaries } = end;
  await printResults(summaries, choice, io);
  if (summaries.length === 0) {
    io.err('No pools found. Create one with `kubectl nodepool create`.');
    return EXIT.done;
  }
  const dropped = droppedFields(summaries.flatMap(({ outcome }) => outcome?.lacking ?? []));
  if (dropped.length > 0) showWarning(io, lackingWarning(dropped));
  const said = new Set<string>();
  for (const { pool, outcome, error } of summaries) {
    for (const warning of outcome?.warnings ?? []) showWarning(io, warningAbout(pool, warning));
    showFailures(io, outcome?.failures ?? [], pool, said);
    if (error !== undefined) showError(io, error, pool);
  }
  if (end.exit !== undefined) return end.exit;
  if (isInterrupted(summaries)) return showInterruption(io, summaries);
  const codes = summaries.map(exitCode);
  // With --wait, exit 0 would mean that paused pools are done.
  if (end.leavesPaused) codes.push(EXIT.unhealthy);
  // An error takes precedence over a pool with a problem.
  return codes.includes(EXIT.error) ? EXIT.error : Math.max(EXIT.done, ...codes);
}

async function inMemory(state: ClusterState, cluster: ClusterPort): Promise<ClusterPort> {
  const { dryRunCluster } = await import('./dry-run-cluster.ts');
  return dryRunCluster(cluster, state);
}

async function printResults(pools: PoolSummary[], choice: ReconcileChoice, io: Io): Promise<void> {
  const { print = 'lines', dryRun, waitMs } = choice;
  const suffix = dryRunSuffix(dryRun);
  if (print === 'json' || print === 'yaml') {
    const { printSummaries } = await import('./print-summary-data.ts');
    io.out(printSummaries(pools, { dryRun: dryRun !== 'none' }, print));
    return;
  }
  // Without these lines, a script would exit with 3 and no reason.
  const shown = print === 'lines' ? pools : pools.filter(pool => exitCode(pool) === EXIT.unhealthy);
  if (shown.length === 0) return;
  const { renderSummaries } = await import('./print-summary.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  const isOneStep = dryRun === 'none' && waitMs === undefined;
  const text = renderSummaries(shown, { suffix, terminalWidth: terminalWidth(io), isOneStep }, makeStyle(io.color));
  if (print === 'lines') io.out(text);
  else io.err(text);
}

function exitCode({ outcome, error }: PoolSummary): number {
  if (error !== undefined || outcome === undefined || outcome.failures.length > 0) return EXIT.error;
  if (outcome.kind === 'released') return EXIT.done;
  const isStopped = unfinishedRollout(outcome.status)?.reason === 'RolloutStopped';
  return outcome.status?.status === 200 && !isStopped ? EXIT.done : EXIT.unhealthy;
}
