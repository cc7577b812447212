import { setTimeout as sleep } from 'node:timers/promises';
import { BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { warningLine } from '../cli/error-line.ts';
import type { Deps } from '../cli/factory.ts';
import { createLog } from '../cli/log.ts';
import { EXIT } from '../cli/report-error.ts';
import { leaveSoon, onStopSignal } from '../cli/signals.ts';
import { systemClock } from '../controller/clock.ts';
import type { Log } from '../controller/log.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { cordonNode } from '../operations/cordon.ts';
import { createLiveView, type LiveView } from '../operations/view.ts';
import type { NodePoolsClient } from '../reconciler/ports.ts';
import { makeStyle } from '../render/style.ts';
import type { Running } from '../view/run.ts';

export default class View extends BaseCommand<typeof View> {
  static override summary = 'Watch pools, nodes and events on a full screen, live.';
  static override description =
    'A list of pools, with bars of their nodes; enter goes into a pool, a node, an event. Reads only, but for c and u: they cordon and uncordon the selected node, after asking. ? shows the keys.';
  static override examples = [{ description: 'All pools', command: '<%= config.bin %> view' }];

  protected async execute(flags: FlagsOf<typeof View>, _args: object, deps: Deps): Promise<number> {
    const { stdinIsTTY, stdoutIsTTY, env } = deps.io;
    if (!stdinIsTTY || !stdoutIsTTY || env.TERM === 'dumb') {
      throw new NodepoolError('usage', 'view needs a terminal', 'use `kubectl nodepool get --watch` without one');
    }
    return showView(flags.verbosity, deps);
  }
}

/**
 * Runs until q, Ctrl-C or a signal. Returns the exit code.
 * @param verbosity of the log, which is written only if stderr is no terminal
 */
async function showView(verbosity: number, { io, connect, progress }: Deps): Promise<number> {
  let running: Running | undefined;
  const write = createLog(io, 'text', verbosity);
  // A line would break the screen, whose title shows outages.
  const log: Log = (level, text) => {
    if (!io.stderrIsTTY) write(level, text);
    else if (running === undefined && level === 'warning') io.err(warningLine(text));
  };
  const isTerminalTaken = () => running !== undefined;
  const { cluster, events, clusterName } = await connect({ log, isTerminalTaken });
  const spinner = await progress('Reading pools and nodes');
  const live = createLiveView({
    cluster,
    events,
    clock: systemClock,
    now: io.now,
    random: Math.random,
    log,
    onChange: () => running?.changed(),
  });
  try {
    const { runView } = await started(cluster.pools, live).finally(() => spinner.stop());
    running = runView({
      stdin: io.stdin,
      stdout: io.stdout,
      live,
      clusterName,
      clock: systemClock,
      now: io.now,
      style: makeStyle(io.color),
      cordon: ({ node, unschedulable }) =>
        cordonNode(node, unschedulable, { cluster, dryRun: 'none', sleep: ms => sleep(ms) }),
    });
    await running.ended.finally(stopOnSignal(running));
    return EXIT.done;
  } finally {
    leaveSoon();
    await live.stop();
  }
}

/** Starts the live view; resolves to the module that draws it. */
async function started(pools: Pick<NodePoolsClient, 'list'>, live: LiveView): Promise<typeof import('../view/run.ts')> {
  // Reflectors retry for ever: errors that the user has to fix (no access, no CRD) are reported at once instead.
  await pools.list();
  const [run] = await Promise.all([import('../view/run.ts'), live.start()]);
  return run;
}

/** Stops it on a signal, and on an uncaught error, to print that after the screen. Returns the unsubscribe function. */
function stopOnSignal(running: Running): () => void {
  const stop = () => running.stop();
  const failures = ['uncaughtException', 'unhandledRejection'] as const;
  for (const failure of failures) process.prependListener(failure, stop);
  const unsubscribe = onStopSignal(stop);
  return () => {
    unsubscribe();
    for (const failure of failures) process.off(failure, stop);
  };
}
