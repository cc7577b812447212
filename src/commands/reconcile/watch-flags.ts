/** The flags of `reconcile --watch`. */
import * as Flags from '@oclif/core/flags';
import { parseDuration } from '../../cli/duration.ts';
import type { Deps } from '../../cli/factory.ts';
import type { DryRun } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { dnsLabelProblem } from '../../nodepool/spec/syntax.ts';
import { LEASE_NAMESPACE } from '../../nodepool/types.ts';
import type { PoolChoice } from '../shared/pools/choose-pools.ts';

/** Defaults are not given to oclif: without --watch each of these flags is refused. */
const WATCH = { helpGroup: 'WATCH' };
const RESYNC = '10m';
const LOG_FORMAT = 'text';

export const watchFlags = {
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
    summary: 'Address of /metrics: PORT on loopback, HOST:PORT, or :PORT on all addresses.',
    helpValue: 'ADDRESS',
  }),
  'metrics-secure': Flags.boolean({
    ...WATCH,
    summary: 'HTTPS, for users who may get /metrics.',
  }),
  'metrics-cert-path': Flags.string({
    ...WATCH,
    summary: 'Folder of its tls.crt and tls.key.',
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

interface WatchFlags {
  concurrency: number;
  'dry-run': DryRun;
  'pod-counts': boolean;
  output?: 'json' | 'yaml' | undefined;
  quiet: boolean;
  timeout: string | undefined;
  verbosity: number;
  resync: string | undefined;
  'leader-elect': boolean;
  'leader-elect-namespace': string | undefined;
  'metrics-bind-address': string | undefined;
  'metrics-secure': boolean;
  'metrics-cert-path': string | undefined;
  'health-probe-bind-address': string | undefined;
  'log-format': 'text' | 'json' | undefined;
}

/** Without --watch they would be ignored, and a user who passes --leader-elect relies on it. */
export function refuseWatchFlags(flags: WatchFlags): void {
  for (const name of Object.keys(watchFlags)) {
    if (!flags[name as keyof typeof watchFlags]) continue;
    throw new NodepoolError('usage', `--${name} is for --watch`, 'add --watch, or leave it out');
  }
}

/** Runs until a signal; returns the exit code. Throws a usage error for flags that exclude --watch. */
export async function watch(flags: WatchFlags, pools: PoolChoice, deps: Deps): Promise<number> {
  if (!('all' in pools)) {
    throw new NodepoolError('usage', '--watch reconciles all pools', 'leave out the names and -l');
  }
  if (flags.output !== undefined) {
    throw new NodepoolError('usage', '-o prints the results of one run', 'with --watch use --log-format json');
  }
  if (flags.timeout !== undefined) throw new NodepoolError('usage', '--watch and --timeout exclude each other');
  if (flags.quiet) throw new NodepoolError('usage', '--watch and --quiet exclude each other');
  if (flags['dry-run'] !== 'none') throw new NodepoolError('usage', '--watch and --dry-run exclude each other');
  const resyncMs = parseDuration(flags.resync ?? RESYNC, '--resync');
  if (resyncMs === 0) throw new NodepoolError('usage', '--resync needs a time above 0', 'write it like 10m');
  if (flags['metrics-secure'] && flags['metrics-bind-address'] === undefined) {
    throw new NodepoolError('usage', '--metrics-secure needs --metrics-bind-address', 'add it, as :8443');
  }
  if (flags['metrics-cert-path'] !== undefined && !flags['metrics-secure']) {
    throw new NodepoolError('usage', '--metrics-cert-path is for --metrics-secure', 'add --metrics-secure');
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
