import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { parseDuration } from '../../cli/duration.ts';
import type { Deps } from '../../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, namesArg, outputFlag, yesFlag } from '../../cli/flags.ts';
import { EXIT_STATUS } from '../../cli/report-error.ts';
import { defined } from '../../nodepool/json.ts';
import { approver } from '../shared/consent/approve.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import { parsePoolChoice, poolChoiceFlags } from '../shared/pools/pool-choice.ts';
import { showReconcile } from '../shared/reconcile/show-reconcile.ts';
import { refuseWatchFlags, watch, watchFlags } from './watch-flags.ts';

export default class Reconcile extends BaseCommand<typeof Reconcile> {
  static override summary = "Apply the pools' labels and taints to their nodes.";
  static override description =
    `Sets the labels, taints and annotations of the pool on its nodes, removes them from nodes that left, repairs drift, and updates RuntimeClass, status and Events. What no pool set is kept. It runs once; with --watch, after each change until Ctrl-C.

${EXIT_STATUS}`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> reconcile' },
    {
      description: 'Have the server validate every write, and store nothing',
      command: '<%= config.bin %> reconcile --dry-run=server',
    },
    { description: 'Reconcile after each change until Ctrl-C', command: '<%= config.bin %> reconcile --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    ...poolChoiceFlags,
    'dry-run': dryRunFlag('Only show the changes; with "server", the server validates every write.'),
    concurrency: concurrencyFlag,
    yes: yesFlag(),
    'pod-counts': Flags.boolean({ summary: 'Write the number of pods to the status.' }),
    output: outputFlag('Print the results as a list.'),
    timeout: Flags.string({
      summary: 'Longest wait for an eviction; default 15m.',
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
    const connection = await deps.connect({ concurrency, dryRun: dryRun !== 'none' });
    const podCounts = flags['pod-counts'];
    const approve = approver(
      { yes: flags.yes, dryRun: dryRun !== 'none' },
      deps.io,
      connection.pods,
      impactTeller(deps.io, connection),
    );
    const print = flags.quiet ? 'nothing' : (flags.output ?? 'lines');
    const timeoutMs = flags.timeout === undefined ? undefined : parseDuration(flags.timeout, '--timeout');
    const optional = defined({ timeoutMs });
    return showReconcile({ pools, concurrency, dryRun, podCounts, approve, print, ...optional }, deps, connection);
  }
}
