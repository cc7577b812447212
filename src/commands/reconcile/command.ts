import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { parseDuration } from '../../cli/duration.ts';
import { EXIT_STATUS } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import {
  byNodeFlag,
  concurrencyFlag,
  dryRunFlag,
  namesArg,
  outputFlag,
  refuseByNode,
  yesFlag,
} from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined } from '../../nodepool/json.ts';
import { dnsLabelProblem } from '../../nodepool/spec/syntax.ts';
import { LEASE_NAMESPACE } from '../../nodepool/types.ts';
import { approver } from '../shared/consent/approve.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import { type PoolChoice, parsePoolChoice, poolChoiceFlags } from '../shared/pools/choose-pools.ts';
import { showReconcile } from '../shared/reconcile/show-reconcile.ts';

/** Defaults are not set in oclif, because each of these flags is refused without --watch. */
const WATCH = { helpGroup: 'WATCH' };
const RESYNC = '10m';
const LOG_FORMAT = 'text';
const WAIT = '10m';

const watchFlags = {
  resync: Flags.string({
    ...WATCH,
    summary: `Full reconcile interval; default ${RESYNC}.`,
    helpValue: 'TIME',
  }),
  'leader-elect': Flags.boolean({
    ...WATCH,
    summary: 'Reconcile only while holding the lease.',
  }),
  'leader-elect-namespace': Flags.string({
    ...WATCH,
    summary: `Lease namespace; default ${LEASE_NAMESPACE}.`,
    helpValue: 'NAME',
  }),
  'metrics-bind-address': Flags.string({
    ...WATCH,
    summary: 'Address of /metrics: PORT or [HOST]:PORT.',
    helpValue: 'ADDRESS',
  }),
  'metrics-secure': Flags.boolean({
    ...WATCH,
    summary: 'HTTPS; only users who may get /metrics.',
  }),
  'metrics-cert-path': Flags.string({
    ...WATCH,
    summary: 'Directory with tls.crt and tls.key.',
    helpValue: 'DIR',
  }),
  'health-probe-bind-address': Flags.string({
    ...WATCH,
    summary: 'Address of /healthz and /readyz.',
    helpValue: 'ADDRESS',
  }),
  'log-format': Flags.option({
    ...WATCH,
    options: ['text', 'json'] as const,
    summary: `Format of the log; default ${LOG_FORMAT}.`,
    helpValue: 'text|json',
  })(),
};

export default class Reconcile extends BaseCommand<typeof Reconcile> {
  static override summary = "Apply the pools' labels and taints to their nodes.";
  static override description =
    `Sets on each node what its pool declares, and repairs drift. A node that left loses what its pool set. Also updates RuntimeClass, status and Events. Values that no pool set are kept. Runs once; with --wait, until rollouts are complete or stopped; with --watch, after each change.

${EXIT_STATUS}`;
  static override examples = [
    { description: 'Until the rollout is complete or stopped', command: '<%= config.bin %> reconcile worker --wait' },
    { description: 'After each change, until Ctrl-C', command: '<%= config.bin %> reconcile --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    ...poolChoiceFlags,
    'dry-run': dryRunFlag('Only show the changes; with "server", the server validates every write.'),
    'by-node': byNodeFlag,
    concurrency: concurrencyFlag,
    yes: yesFlag(),
    'pod-counts': Flags.boolean({ summary: 'Write the number of pods to the status.' }),
    output: outputFlag('Print the results as a list.'),
    wait: Flags.boolean({
      summary: 'Continue until rollouts are complete or stopped.',
    }),
    timeout: Flags.string({
      summary: `Timeout of an eviction (15m), or of --wait (${WAIT}).`,
      helpValue: 'TIME',
    }),
    quiet: Flags.boolean({
      char: 'q',
      exclusive: ['output'],
      summary: 'Print errors and warnings only.',
    }),
    watch: Flags.boolean({
      char: 'w',
      summary: 'Reconcile after each change; never prompts.',
    }),
    ...watchFlags,
  };

  protected async execute(
    flags: FlagsOf<typeof Reconcile>,
    args: ArgsOf<typeof Reconcile>,
    deps: Deps,
  ): Promise<number> {
    const { concurrency, 'dry-run': dryRun } = flags;
    const pools = parsePoolChoice(args.name, flags, { all: true });
    if (flags.watch) return watch(flags, pools, deps);
    refuseWatchFlags(flags);
    if (flags['by-node'] && dryRun === 'none') {
      throw new NodepoolError('usage', '--by-node needs --dry-run', 'add --dry-run, or leave out --by-node');
    }
    refuseByNode(flags);
    if (flags.wait && dryRun !== 'none')
      throw new NodepoolError('usage', '--wait and --dry-run cannot be used together', 'use one of the two');
    const ofFlag = flags.timeout === undefined ? undefined : parseDuration(flags.timeout, '--timeout');
    const waitMs = flags.wait ? (ofFlag ?? parseDuration(WAIT, '--timeout')) : undefined;
    // An eviction that a budget blocks has the same timeout as the rest.
    const optional = defined({ waitMs, timeoutMs: flags.wait ? 0 : ofFlag });
    const connection = await deps.connect({ concurrency, dryRun: dryRun !== 'none' });
    const podCounts = flags['pod-counts'];
    const approve = approver(
      { yes: flags.yes, dryRun: dryRun !== 'none' },
      deps.io,
      connection,
      impactTeller(deps.io, connection),
    );
    const print = flags.quiet ? 'nothing' : (flags.output ?? 'lines');
    const byNode = flags['by-node'];
    return showReconcile(
      { pools, concurrency, dryRun, podCounts, approve, print, byNode, ...optional },
      deps,
      connection,
    );
  }
}

/** Without --watch they would be ignored, which is dangerous for --leader-elect. */
function refuseWatchFlags(flags: FlagsOf<typeof Reconcile>): void {
  for (const name of Object.keys(watchFlags)) {
    if (!flags[name as keyof typeof watchFlags]) continue;
    throw new NodepoolError('usage', `--${name} needs --watch`, 'add --watch, or leave out the flag');
  }
}

/** Runs until a signal; returns the exit code. Throws a usage error for flags that are incompatible with --watch. */
async function watch(flags: FlagsOf<typeof Reconcile>, pools: PoolChoice, deps: Deps): Promise<number> {
  if (!('all' in pools)) {
    throw new NodepoolError('usage', '--watch reconciles all pools', 'leave out the names and -l');
  }
  if (flags.output !== undefined) {
    throw new NodepoolError('usage', '-o and --watch cannot be used together', 'with --watch, use --log-format json');
  }
  if (flags.timeout !== undefined) throw new NodepoolError('usage', '--watch and --timeout cannot be used together');
  if (flags.wait) throw new NodepoolError('usage', '--watch and --wait cannot be used together');
  if (flags.quiet) throw new NodepoolError('usage', '--watch and --quiet cannot be used together');
  if (flags['dry-run'] !== 'none') throw new NodepoolError('usage', '--watch and --dry-run cannot be used together');
  if (flags['by-node']) throw new NodepoolError('usage', '--watch and --by-node cannot be used together');
  const resyncMs = parseDuration(flags.resync ?? RESYNC, '--resync');
  if (resyncMs === 0) throw new NodepoolError('usage', '--resync must be greater than 0', 'write it like 10m');
  if (flags['metrics-secure'] && flags['metrics-bind-address'] === undefined) {
    throw new NodepoolError(
      'usage',
      '--metrics-secure needs --metrics-bind-address',
      'add --metrics-bind-address :8443',
    );
  }
  if (flags['metrics-cert-path'] !== undefined && !flags['metrics-secure']) {
    throw new NodepoolError('usage', '--metrics-cert-path needs --metrics-secure', 'add --metrics-secure');
  }
  const leaderElectNamespace = flags['leader-elect-namespace'] ?? LEASE_NAMESPACE;
  const problem = dnsLabelProblem(leaderElectNamespace);
  if (problem !== undefined) throw new NodepoolError('usage', `--leader-elect-namespace: ${problem}`);
  const { showWatch } = await import('./show-watch.ts');
  const options = {
    concurrency: flags.concurrency,
    resyncMs,
    podCounts: flags['pod-counts'],
    leaderElect: flags['leader-elect'],
    leaderElectNamespace,
    metricsAddress: flags['metrics-bind-address'],
    metricsSecure: flags['metrics-secure'],
    metricsCertPath: flags['metrics-cert-path'],
    healthAddress: flags['health-probe-bind-address'],
    logFormat: flags['log-format'] ?? LOG_FORMAT,
    verbosity: flags.verbosity,
  };
  return showWatch(options, deps);
}
