import * as Flags from '@oclif/core/flags';
import { approver } from '../cli/approve.ts';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, evictYesFlag, namesArg, outputFlag } from '../cli/flags.ts';
import { parsePoolChoice, poolChoiceFlags, reportNoPools } from '../cli/pool-choice.ts';
import { EXIT, EXIT_STATUS } from '../cli/report-error.ts';
import { refuseWatchFlags, watch, watchFlags } from './reconcile/watch-flags.ts';
import { showReconcile } from './shared/show-reconcile.ts';

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
      command: '<%= config.bin %> reconcile --dry-run=server',
    },
    { description: 'Keep at it as things change, until Ctrl-C', command: '<%= config.bin %> reconcile --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    ...poolChoiceFlags,
    'dry-run': dryRunFlag(
      'Change nothing: "client" shows the changes as diff does, "server" has the server validate them.',
    ),
    concurrency: concurrencyFlag,
    yes: evictYesFlag,
    'pod-counts': Flags.boolean({ summary: "Count the pods on each pool's nodes into its status; reads every pod." }),
    output: outputFlag('Print the results as a list.'),
    quiet: Flags.boolean({
      char: 'q',
      exclusive: ['output'],
      summary: 'Print errors and warnings only; the exit code has the result.',
    }),
    watch: Flags.boolean({ char: 'w', summary: 'Keep reconciling all pools as things change, until Ctrl-C.' }),
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
    const connection = await deps.connect({ concurrency });
    if (dryRun === 'client') {
      const { chosenNames } = await import('../operations/choose-pools.ts');
      const { showDiff } = await import('./shared/show-diff.ts');
      const names = 'all' in pools ? [] : await chosenNames(pools, connection.cluster.pools);
      if (names.length > 0 || 'all' in pools) await showDiff(names, flags.output, deps, connection);
      else reportNoPools(deps.io);
      return EXIT.done;
    }
    const podCounts = flags['pod-counts'];
    const approve = approver({ yes: flags.yes, dryRun: dryRun === 'server' }, deps.io, connection.pods);
    const print = flags.quiet ? 'nothing' : (flags.output ?? 'lines');
    return showReconcile(
      { pools, concurrency, dryRun: dryRun === 'server', podCounts, approve, print },
      deps,
      connection,
    );
  }
}
