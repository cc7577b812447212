import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import { showError, showWarning } from '../cli/error-line.ts';
import type { Deps } from '../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, nameArg, objectOutputFlag } from '../cli/flags.ts';
import { EXIT } from '../cli/report-error.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { poolRef } from '../render/pool-ref.ts';
import { sanitizeLine } from '../render/sanitize.ts';
import { hintReconcile } from './shared/next-step.ts';

/** A controller that runs takes a new spec within a second or two. */
const QUIET_MS = 10_000;

const ACTIONS = ['status', 'pause', 'resume'] as const;

export default class Rollout extends BaseCommand<typeof Rollout> {
  static override summary = 'Show, pause or resume how a spec reaches the nodes.';
  static override description =
    `status follows until every node has the spec of the pool, and fails where that is stopped. pause keeps every write from the nodes of the pool; resume lifts that. Where the pool is not paused and its rollout is stopped by a node that turned NotReady, resume accepts that node, and the rollout goes on.

Exit status: 0 done, 1 stopped, not done before the timeout, or an error, 2 usage.`;
  static override examples = [
    { description: 'Follow until all nodes have the spec', command: '<%= config.bin %> rollout status worker' },
    {
      description: 'In a script: at most ten minutes',
      command: '<%= config.bin %> rollout status worker --timeout=10m && echo done',
    },
    { description: 'Write nothing to the nodes of a pool', command: '<%= config.bin %> rollout pause worker' },
    { description: 'Go on', command: '<%= config.bin %> rollout resume worker' },
  ];
  static override args = {
    action: Args.string({
      description: 'What to do.',
      options: [...ACTIONS],
      required: true,
      ignoreStdin: true,
    }),
    name: nameArg('Name of the pool.'),
  };
  static override flags = {
    watch: Flags.boolean({
      char: 'w',
      allowNo: true,
      default: true,
      summary: 'Of status: follow until it is done; --watch=false looks once.',
    }),
    timeout: Flags.string({
      default: '0s',
      summary: 'Of status: longest time to follow; 0 means none.',
      helpValue: 'TIME',
    }),
    'dry-run': dryRunFlag(),
    output: objectOutputFlag('Of pause and resume: print the pool instead of a message.'),
  };

  protected async execute(flags: FlagsOf<typeof Rollout>, args: ArgsOf<typeof Rollout>, deps: Deps): Promise<number> {
    if (args.action === 'status') return status(args.name, flags, deps);
    const { io, connect } = deps;
    const { 'dry-run': dryRun, output } = flags;
    const paused = args.action === 'pause';
    const { setPaused } = await import('../operations/rollout.ts');
    const { cluster } = await connect();
    const pool = await setPaused(args.name, { paused, dryRun }, { ...cluster, now: io.now });
    if (output !== undefined) {
      const { printObjects } = await import('../render/printers.ts');
      io.out(printObjects([pool], output, false));
      return EXIT.done;
    }
    io.out(`${poolRef(args.name)} ${paused ? 'paused' : 'resumed'}${dryRunSuffix(dryRun)}`);
    if (!paused && dryRun === 'none') hintReconcile([args.name], io);
    return EXIT.done;
  }
}

async function status(
  name: string,
  flags: Pick<FlagsOf<typeof Rollout>, 'watch' | 'timeout' | 'dry-run' | 'output'>,
  { io, connect }: Deps,
): Promise<number> {
  if (flags['dry-run'] !== 'none') throw new NodepoolError('usage', '--dry-run: status writes nothing', 'leave it out');
  if (flags.output !== undefined) {
    throw new NodepoolError(
      'usage',
      '-o: status prints lines',
      `for a program: \`kubectl nodepool get ${name} -o json\``,
    );
  }
  const timeoutMs = parseDuration(flags.timeout, '--timeout');
  const { followRollout } = await import('../operations/follow-rollout.ts');
  const { systemClock } = await import('../controller/clock.ts');
  const { cluster } = await connect();
  // Without a controller it would wait for ever, and say nothing.
  const hint = {
    message: `no news for ${QUIET_MS / 1000} s`,
    next: `if no controller runs, \`kubectl nodepool reconcile ${name}\``,
  };
  let cancelHint = () => {};
  const state = await followRollout(
    name,
    { timeoutMs, watch: flags.watch },
    {
      ...cluster,
      clock: systemClock,
      random: Math.random,
      log: (level, message) => {
        if (level === 'warning') showWarning(io, message);
        if (level === 'error') showError(io, { message });
      },
      onState: ({ kind, text }) => {
        if (kind !== 'failed') io.out(sanitizeLine(text));
        cancelHint();
        if (kind === 'waiting' && flags.watch) cancelHint = systemClock.after(QUIET_MS, () => showWarning(io, hint));
      },
    },
  ).finally(() => cancelHint());
  if (state.kind !== 'failed') return EXIT.done;
  showError(io, { message: state.text });
  return EXIT.error;
}
