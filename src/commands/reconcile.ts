import { Flags } from '@oclif/core';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { concurrencyFlag, namesArg } from '../cli/flags.ts';
import { showReconcile } from '../cli/show-reconcile.ts';

export default class Reconcile extends BaseCommand<typeof Reconcile> {
  static override summary = 'Bring the nodes to what their pools say.';
  static override description =
    `One pass: members get the labels and taints of their pool, nodes that left are cleaned, drift is repaired, the RuntimeClass follows, status and events tell what changed. Labels and taints that no pool set are never touched.

Exit status: 0 every pool is 200 afterwards, 3 some pool is not, 1 something could not be done, 2 the command line is wrong.`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> reconcile' },
    { description: 'Two pools', command: '<%= config.bin %> reconcile worker gpu' },
    {
      description: 'Have the server check every write, and change nothing',
      command: '<%= config.bin %> reconcile --dry-run',
    },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    'dry-run': Flags.boolean({ summary: 'Send every write as a server dry run: it is checked and not stored.' }),
    concurrency: concurrencyFlag,
  };

  protected async execute(
    flags: FlagsOf<typeof Reconcile>,
    args: ArgsOf<typeof Reconcile>,
    deps: Deps,
  ): Promise<number> {
    const { concurrency, 'dry-run': dryRun } = flags;
    const connection = await deps.connect({ dryRun, concurrency });
    return showReconcile({ names: args.name ?? [], concurrency, dryRun }, deps, connection);
  }
}
