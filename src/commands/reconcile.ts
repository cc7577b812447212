import * as Flags from '@oclif/core/flags';
import { approveEvictions } from '../cli/approve-evictions.ts';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import type { Deps } from '../cli/factory.ts';
import { concurrencyFlag, evictYesFlag, namesArg } from '../cli/flags.ts';
import { EXIT_STATUS } from '../cli/report-error.ts';
import { showReconcile } from '../cli/show-reconcile.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { dnsLabelProblem } from '../nodepool/syntax.ts';
import { LEASE_NAMESPACE } from '../nodepool/types.ts';

/** The flags of a process that stays. Their defaults are not oclif's: without --watch each of them is refused. */
const WATCH = { helpGroup: 'WATCH' };
const RESYNC = '10m';
const LOG_FORMAT = 'text';

export default class Reconcile extends BaseCommand<typeof Reconcile> {
  static override summary = 'Bring the nodes to what their pools say.';
  static override description =
    `One pass (with --watch, one after each change): members get the labels and taints of their pool, nodes that left are cleaned, drift is repaired, the RuntimeClass follows, status and events tell what changed. Labels and taints that no pool set are never touched.

${EXIT_STATUS}`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> reconcile' },
    { description: 'Two pools', command: '<%= config.bin %> reconcile worker gpu' },
    {
      description: 'Have the server check every write, and change nothing',
      command: '<%= config.bin %> reconcile --dry-run',
    },
    { description: 'Keep at it as things change, until Ctrl-C', command: '<%= config.bin %> reconcile --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    'dry-run': Flags.boolean({ summary: 'Send every write as a server dry run: it is checked and not stored.' }),
    concurrency: concurrencyFlag,
    yes: evictYesFlag,
    'pod-counts': Flags.boolean({ summary: "Count the pods on each pool's nodes into its status; reads every pod." }),
    watch: Flags.boolean({ char: 'w', summary: 'Keep reconciling all pools as things change, until Ctrl-C.' }),
    resync: Flags.string({
      ...WATCH,
      summary: `Look at every pool this often; ${RESYNC} unless told.`,
      helpValue: 'TIME',
    }),
    'leader-elect': Flags.boolean({
      ...WATCH,
      summary: 'Reconcile only while holding a lease: for several processes.',
    }),
    'leader-elect-namespace': Flags.string({
      ...WATCH,
      summary: `Namespace of the lease kubectl-nodepool; ${LEASE_NAMESPACE} unless told.`,
      helpValue: 'NAME',
    }),
    'metrics-bind-address': Flags.string({
      ...WATCH,
      summary: 'Serve /metrics there: a port on loopback, HOST:PORT, or :PORT on all addresses.',
      helpValue: 'ADDRESS',
    }),
    'health-probe-bind-address': Flags.string({
      ...WATCH,
      summary: 'Serve /healthz and /readyz there.',
      helpValue: 'ADDRESS',
    }),
    'log-format': Flags.option({
      ...WATCH,
      options: ['text', 'json'] as const,
      summary: `Lines of the log; ${LOG_FORMAT} unless told.`,
      helpValue: 'text|json',
    })(),
  };

  protected async execute(
    flags: FlagsOf<typeof Reconcile>,
    args: ArgsOf<typeof Reconcile>,
    deps: Deps,
  ): Promise<number> {
    const { concurrency, 'dry-run': dryRun } = flags;
    if (flags.watch) return watch(flags, args.name ?? [], deps);
    refuseWatchFlags(flags);
    const connection = await deps.connect({ dryRun, concurrency });
    const podCounts = flags['pod-counts'];
    const approve = approveEvictions({ yes: flags.yes, dryRun }, deps.io, connection.nodeAccess);
    return showReconcile({ names: args.name ?? [], concurrency, dryRun, podCounts, approve }, deps, connection);
  }
}

/** Without --watch they would do nothing, and who runs one process of several with --leader-elect relies on it. */
function refuseWatchFlags(flags: FlagsOf<typeof Reconcile>): void {
  for (const [name, { helpGroup }] of Object.entries(Reconcile.flags)) {
    if (helpGroup !== WATCH.helpGroup || !flags[name as keyof typeof flags]) continue;
    throw new NodepoolError('usage', `--${name} is for --watch`, 'add --watch, or leave it out');
  }
}

async function watch(flags: FlagsOf<typeof Reconcile>, names: string[], deps: Deps): Promise<number> {
  if (names.length > 0) throw new NodepoolError('usage', '--watch looks after all pools', 'leave out the names');
  if (flags['dry-run']) throw new NodepoolError('usage', '--watch and --dry-run exclude each other');
  const resyncMs = parseDuration(flags.resync ?? RESYNC, '--resync');
  if (resyncMs === 0) throw new NodepoolError('usage', '--resync needs a time above 0', 'write it like 10m');
  const leaderElectNamespace = flags['leader-elect-namespace'] ?? LEASE_NAMESPACE;
  const problem = dnsLabelProblem(leaderElectNamespace);
  if (problem !== undefined) throw new NodepoolError('usage', `--leader-elect-namespace: ${problem}`);
  const { showWatch } = await import('../cli/show-watch.ts');
  const options = {
    concurrency: flags.concurrency,
    resyncMs,
    podCounts: flags['pod-counts'],
    leaderElect: flags['leader-elect'],
    leaderElectNamespace,
    metricsAddress: flags['metrics-bind-address'],
    healthAddress: flags['health-probe-bind-address'],
    logFormat: flags['log-format'] ?? LOG_FORMAT,
    verbosity: flags.verbosity,
  };
  return showWatch(options, deps);
}
