import { setTimeout as sleep } from 'node:timers/promises';
import { BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Flags } from '../../cli/completion/grammar.ts';
import { EXIT, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { createLog } from '../../cli/io.ts';
import { leaveSoon, onStopSignal } from '../../cli/signals.ts';
import { systemClock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import type { NodePoolsClient } from '../../kube/cluster.ts';
import { NodepoolError, warningText } from '../../nodepool/errors.ts';
import { makeStyle } from '../../print/style.ts';
import type { CordonTarget, DrainTarget } from '../../view/places.ts';
import type { ReadPlace, RunningView, ViewEnd } from '../../view/run.ts';
import { createLiveView, type LiveView } from '../../view/view.ts';
import { createUsagePoll } from '../../view/view-usage.ts';
import { cordonNode } from '../shared/cordon/cordon.ts';
import { recordCordoned } from '../shared/cordon/cordoned-status.ts';
import { maintenanceClient } from '../shared/cordon/maintenance.ts';

export default class View extends BaseCommand<typeof View> {
  static override summary = 'Show pools, nodes and events on a live full screen.';
  static override description =
    'Lists pools with bars of their nodes; enter opens a pool, a node or an event. d describes, y shows YAML, t shows requested and used resources, : jumps to a pool or node. It writes only after asking: c and u cordon and uncordon the selected node, D drains the pool or node. ? shows the keys, q goes back, ctrl-c quits.';
  static override examples = [{ description: 'All pools', command: '<%= config.bin %> view' }];

  protected async execute(flags: FlagsOf<typeof View>, _args: object, deps: Deps): Promise<number> {
    const { stdinIsTTY, stdoutIsTTY, env } = deps.io;
    if (!stdinIsTTY || !stdoutIsTTY || env.TERM === 'dumb') {
      throw new NodepoolError('usage', 'view needs a terminal', 'use `kubectl nodepool get --watch` without one');
    }
    const shell = {
      io: deps.io,
      version: deps.version,
      flags: this.config.findCommand('drain', { must: true }).flags as Flags,
    };
    return showView(flags.verbosity, deps, async (target, connection) => {
      const [{ default: Drain }, { drainOnTerminal }] = await Promise.all([
        import('../drain/command.ts'),
        import('./drain.ts'),
      ]);
      // A new connection would go to another cluster where somebody has changed the current context.
      const run = (words: string[]) => new Drain(words, this.config).runOn(connection);
      await drainOnTerminal(target, { ...shell, clusterName: connection.clusterName, run });
    });
  }
}

/**
 * Runs until q, Ctrl-C or a signal. Returns the exit code.
 * @param verbosity of the log, which is written only if stderr is no terminal
 * @param drain drains a pool or node on the restored terminal
 */
async function showView(
  verbosity: number,
  { io, connect, progress }: Deps,
  drain: (target: DrainTarget, connection: Connection) => Promise<void>,
): Promise<number> {
  let running: RunningView | undefined;
  const write = createLog(io, 'text', verbosity);
  // A line would break the screen, whose title shows outages.
  const log: Log = (level, text) => {
    if (!io.stderrIsTTY) write(level, text);
    else if (running === undefined && level === 'warning') showWarning(io, text);
  };
  const isTerminalTaken = () => running !== undefined;
  const connection = await connect({ log, isTerminalTaken });
  const { cluster, events, pods, nodeUsage, clusterName } = connection;
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
  const onChange = () => running?.changed();
  const usage = createUsagePoll({ pods, nodeUsage, clock: systemClock, onChange });
  try {
    const { runView } = await started(cluster.pools, live).finally(() => spinner.stop());
    let ended: ViewEnd | undefined;
    do {
      running = runView({
        ...{ stdin: io.stdin, stdout: io.stdout, live, usage, clusterName },
        ...{ clock: systemClock, now: io.now, style: makeStyle(io.color), state: ended?.state },
        cordon: target => cordonMember(target, live, connection, io.now),
        read: place => readText(place, connection, io.now),
      });
      ended = await running.ended.finally(stopOnSignal(running));
      running = undefined;
      if (ended.drain !== undefined) await drain(ended.drain, connection);
      // After Ctrl-D no more keys come.
    } while (ended.drain !== undefined && !io.stdin.readableEnded);
    return EXIT.done;
  } finally {
    leaveSoon();
    await live.stop();
  }
}

/** As `cordon` of the pool with this node alone. */
async function cordonMember(
  { node, unschedulable }: CordonTarget,
  live: LiveView,
  connection: Connection,
  now: () => Date,
) {
  const { cluster } = connection;
  const pause = (ms: number) => sleep(ms);
  const maintenance = maintenanceClient(connection.maintenance, pause);
  const deps = { cluster, maintenance, dryRun: 'none', now, sleep: pause } as const;
  const result = await cordonNode(node, { unschedulable }, deps);
  const pool = live.clusterState.ownership(node.name)?.owner;
  const isRecorded = result.kind !== 'changed' || pool === undefined;
  const warnings = [
    ...('warnings' in result ? result.warnings.map(warningText) : []),
    isRecorded ? undefined : await recordCordoned([pool], cluster),
  ].filter(warning => warning !== undefined);
  return { result, warning: warnings.length === 0 ? undefined : warnings.join('; ') };
}

/** Starts the live view; resolves to the module that draws it. */
async function started(
  pools: Pick<NodePoolsClient, 'list'>,
  live: LiveView,
): Promise<typeof import('../../view/run.ts')> {
  // Reflectors retry for ever: errors that the user has to fix (no access, no CRD) are reported at once instead.
  await pools.list();
  const [run] = await Promise.all([import('../../view/run.ts'), live.start()]);
  return run;
}

/** Stops it on a signal, and on an uncaught error, to print that after the screen. Returns the unsubscribe function. */
function stopOnSignal(running: RunningView): () => void {
  const stop = () => running.stop();
  const failures = ['uncaughtException', 'unhandledRejection'] as const;
  for (const failure of failures) process.prependListener(failure, stop);
  const unsubscribe = onStopSignal(stop);
  return () => {
    unsubscribe();
    for (const failure of failures) process.off(failure, stop);
  };
}

// The texts that are read from the server: describe and YAML of a pool or a node.

/** As the commands print them, without colour. Throws NodepoolError. */
async function readText(
  { kind, pool = '', subject }: ReadPlace,
  connection: Connection,
  now: () => Date,
): Promise<string> {
  if (kind === 'describe')
    return subject === undefined ? describePool(pool, connection, now) : explainNode(subject, connection);
  const object = subject === undefined ? connection.cluster.pools.get(pool) : connection.nodeObject(subject);
  const found = await object;
  const name = subject === undefined ? `nodepool "${pool}"` : `node "${subject}"`;
  if (found === undefined) throw new NodepoolError('input', `${name} not found`);
  const { printObjects } = await import('../../print/printers.ts');
  return printObjects([found], 'yaml', false).trimEnd();
}

async function describePool(pool: string, connection: Connection, now: () => Date): Promise<string> {
  const { describe } = await import('../shared/describe/describe.ts');
  const { renderDescription } = await import('../shared/describe/print-describe.ts');
  const { makeStyle } = await import('../../print/style.ts');
  const { descriptions, missing } = await describe([pool], connection);
  if (missing[0] !== undefined) throw missing[0];
  return descriptions.map(description => renderDescription(description, now(), makeStyle(false))).join('\n');
}

/** As `nodes --why`: what kubectl describe prints of a node takes requests for its pods, lease and events. */
async function explainNode(node: string, connection: Connection): Promise<string> {
  const { whyNode } = await import('../shared/describe/print-why.ts');
  const { renderWhy } = await import('../shared/describe/print-why.ts');
  const { makeStyle } = await import('../../print/style.ts');
  return renderWhy(await whyNode(node, connection), makeStyle(false));
}
