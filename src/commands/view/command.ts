import { setTimeout as sleep } from 'node:timers/promises';
import { BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Flags } from '../../cli/completion/grammar.ts';
import { EXIT, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { createLog, type Io } from '../../cli/io.ts';
import { leaveSoon, onStopSignal } from '../../cli/signals.ts';
import { systemClock } from '../../controller/clock.ts';
import type { Log } from '../../controller/log.ts';
import type { NodePoolsClient } from '../../kube/cluster.ts';
import { NodepoolError, warningText } from '../../nodepool/errors.ts';
import { makeStyle } from '../../print/style.ts';
import { type CordonTarget, NO_POOL, type ReadPlace, type TerminalCommand } from '../../view/places.ts';
import type { RunningView, ViewEnd } from '../../view/run.ts';
import { createLiveView, type LiveView } from '../../view/view.ts';
import { createUsagePoll } from '../../view/view-usage.ts';
import { cordonNode } from '../shared/cordon/cordon.ts';
import { recordCordoned } from '../shared/cordon/cordoned-status.ts';
import { maintenanceClient } from '../shared/cordon/maintenance.ts';
import { laterCordonSince } from '../shared/cordon/show-cordon.ts';

export default class View extends BaseCommand<typeof View> {
  static override summary = 'Show pools, nodes and events on a live full screen.';
  static override description =
    'Lists pools with their nodes as bars; enter opens a pool, a node or an event. Keys: d describe, y YAML, t requested and used resources, : jump to a pool or node, p pods, = changes that reconcile would make. After a question: c cordon and u uncordon the selected node or pool, D drain, r reconcile. ? shows all keys, q goes back, ctrl-c quits.';
  static override examples = [{ description: 'All pools', command: '<%= config.bin %> view' }];

  protected async execute(flags: FlagsOf<typeof View>, _args: object, deps: Deps): Promise<number> {
    const { stdinIsTTY, stdoutIsTTY, env } = deps.io;
    if (!stdinIsTTY || !stdoutIsTTY || env.TERM === 'dumb') {
      throw new NodepoolError('usage', 'view needs a terminal', 'use `kubectl nodepool get --watch` without one');
    }
    return showView(flags.verbosity, deps, async (target, connection) => {
      const [{ default: Command }, { runOnTerminal }] = await Promise.all([
        COMMANDS[target.command](),
        import('./terminal-command.ts'),
      ]);
      // A new connection could go to another cluster, if the current context was changed.
      const run = (words: string[]) => new Command(words, this.config).runOn(connection);
      const commandFlags = this.config.findCommand(target.command, { must: true }).flags as Flags;
      const { io, version } = deps;
      const { clusterName } = connection;
      await runOnTerminal(target, { io, version, flags: commandFlags, clusterName, run });
    });
  }
}

/** Commands that run on the restored terminal. */
const COMMANDS = {
  cordon: () => import('../cordon/command.ts'),
  uncordon: () => import('../uncordon/command.ts'),
  drain: () => import('../drain/command.ts'),
  reconcile: () => import('../reconcile/command.ts'),
} as const;

/** Runs until q, Ctrl-C or a signal. Returns the exit code. @param runCommand runs on the restored terminal */
async function showView(
  verbosity: number,
  { io, connect, progress }: Deps,
  runCommand: (target: TerminalCommand, connection: Connection) => Promise<void>,
): Promise<number> {
  let running: RunningView | undefined;
  const write = createLog(io, 'text', verbosity);
  // A line would break the screen; its title shows outages.
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
        ...{ clock: systemClock, now: io.serverNow, style: makeStyle(io.color), state: ended?.state },
        cordon: (target, askedAt) => cordonMember(target, askedAt, live, connection, io.now),
        read: (place, width) => readText(place, { live, connection, io, width }),
      });
      ended = await running.ended.finally(stopOnSignal(running));
      running = undefined;
      for (const { text } of ended.late) io.err(text);
      if (ended.command !== undefined) await runCommand(ended.command, connection);
      // After Ctrl-D stdin sends no more keys.
    } while (ended.command !== undefined && !io.stdin.readableEnded);
    return ended.command === undefined && ended.late.some(({ isError }) => isError) ? EXIT.error : EXIT.done;
  } finally {
    leaveSoon();
    await live.stop();
  }
}

/** The same as `cordon` and `uncordon` with this node. */
async function cordonMember(
  { node, unschedulable }: CordonTarget,
  askedAt: Date,
  live: LiveView,
  connection: Connection,
  now: () => Date,
) {
  const { cluster } = connection;
  const pause = (ms: number) => sleep(ms);
  const maintenance = maintenanceClient(connection.maintenance, pause);
  const deps = { cluster, maintenance, dryRun: 'none', now, sleep: pause } as const;
  const laterCordon = laterCordonSince(askedAt, {}, deps);
  const result = await cordonNode(node, { unschedulable }, { ...deps, laterCordon });
  const owner = result.kind === 'changed' ? live.clusterState.ownership(node.name)?.owner : undefined;
  const warnings = [
    ...('warnings' in result ? result.warnings.map(warningText) : []),
    owner === undefined ? undefined : await recordCordoned([owner], cluster),
  ].filter(warning => warning !== undefined);
  return { result, warning: warnings.length === 0 ? undefined : warnings.join('; ') };
}

/** Starts the live view; resolves to the module that renders it. */
async function started(
  pools: Pick<NodePoolsClient, 'list'>,
  live: LiveView,
): Promise<typeof import('../../view/run.ts')> {
  // Reflectors retry forever; errors that the user has to fix (no access, no CRD) are reported at once instead.
  await pools.list();
  const [run] = await Promise.all([import('../../view/run.ts'), live.start()]);
  return run;
}

/** Stops it on a signal, or an uncaught error, so that it prints after the screen. Returns the unsubscribe function. */
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

// Texts read from the server, as the commands print them, without colour.

interface Reading {
  live: LiveView;
  connection: Connection;
  io: Io;
  /** Width of the terminal. */
  width: number;
}

/** Throws NodepoolError. */
async function readText({ kind, pool, subject }: ReadPlace, reading: Reading): Promise<string> {
  switch (kind) {
    case 'describe':
      return subject === undefined ? describePool(pool ?? '', reading) : describeNode(subject, reading);
    case 'yaml':
      return yamlOf(pool ?? '', subject, reading);
    case 'pods':
      return podsText(pool, subject, reading);
    case 'diff':
      return diffOf(pool ?? '', reading);
    case 'why':
      return explainNode(subject ?? '', reading);
  }
}

async function yamlOf(pool: string, node: string | undefined, { connection }: Reading): Promise<string> {
  const object = node === undefined ? connection.cluster.pools.get(pool) : connection.nodeObject(node);
  const found = await object;
  const name = node === undefined ? `nodepool "${pool}"` : `node "${node}"`;
  if (found === undefined) throw new NodepoolError('input', `${name} not found`);
  const { printObjects } = await import('../../print/printers.ts');
  return printObjects([found], 'yaml', false).trimEnd();
}

async function describePool(pool: string, { connection, io, width }: Reading): Promise<string> {
  const { describe } = await import('../shared/describe/describe.ts');
  const { renderDescription } = await import('../shared/describe/print-describe.ts');
  const { descriptions, missing } = await describe([pool], connection);
  if (missing[0] !== undefined) throw missing[0];
  return descriptions
    .map(description => renderDescription(description, io.serverNow(), makeStyle(false), width))
    .join('\n');
}

async function describeNode(name: string, { connection, io, width }: Reading): Promise<string> {
  const { renderNode } = await import('./print-node.ts');
  const [node, pods] = await Promise.all([
    connection.nodeObject(name),
    connection.pods.rows([name]).catch((error: unknown) => {
      if (error instanceof NodepoolError) return error;
      throw error;
    }),
  ]);
  if (node === undefined) throw new NodepoolError('input', `node "${name}" not found`);
  return renderNode(node, pods, io.serverNow(), width);
}

/** @param pool NO_POOL: nodes without a pool. If pool and node are undefined: all nodes */
async function podsText(
  pool: string | undefined,
  node: string | undefined,
  { live, connection, io, width }: Reading,
): Promise<string> {
  const { MAX_PODS, renderPods } = await import('./print-node.ts');
  const { nodeRows } = await import('../../view/rows.ts');
  // The list of a pool also has nodes that another pool owns, and former members.
  const rows = pool === undefined ? undefined : nodeRows(live.clusterState, pool);
  const ofPool = rows
    ?.filter(({ membership }) => pool === NO_POOL || membership?.kind === 'member')
    .map(({ key }) => key);
  const nodes = node === undefined ? ofPool : [node];
  // One more, to detect that there are more.
  return renderPods(await connection.pods.rows(nodes, MAX_PODS + 1), {
    now: io.serverNow(),
    width,
    hasNode: node === undefined,
  });
}

/** The text of `diff`. */
async function diffOf(pool: string, { connection, io }: Reading): Promise<string> {
  const { diff } = await import('../shared/changes/diff.ts');
  const { renderDiff } = await import('../shared/changes/print-diff.ts');
  const { plan, warnings, notes, forbidden } = await diff([pool], connection);
  const text = renderDiff(plan, makeStyle(false), { now: io.serverNow() });
  return [
    text === '' ? `reconcile would change nothing in pool ${pool}` : text,
    ...warnings.map(warning => `warning: ${warningText(warning)}`),
    ...notes.map(note => `note: ${note}`),
    ...(forbidden === undefined ? [] : [`warning: RuntimeClasses are not shown: ${forbidden.oneLine}`]),
  ].join('\n\n');
}

/** The text of `why`. */
async function explainNode(node: string, { connection, io }: Reading): Promise<string> {
  const { whyNode } = await import('../shared/describe/why.ts');
  const { renderWhy } = await import('../shared/describe/print-why.ts');
  return renderWhy(await whyNode(node, [], connection), makeStyle(false), io.serverNow());
}
