import * as Flags from '@oclif/core/flags';
import { approver } from '../cli/approve.ts';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { canAsk } from '../cli/confirm.ts';
import type { Deps } from '../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, dryRunSuffix, namesArg, yesFlag } from '../cli/flags.ts';
import { interruptible, isInterrupted, reportInterruption } from '../cli/interruptible.ts';
import { parsePoolChoice, poolChoiceFlags, reportNoPools } from '../cli/pool-choice.ts';
import { reconcileDeps } from '../cli/reconcile-deps.ts';
import { EXIT } from '../cli/report-error.ts';
import { agree } from '../operations/consent.ts';
import { deletePools } from '../operations/delete.ts';
import { proposeDeletion } from '../operations/propose-deletion.ts';
import { deletionLine, reportDeletion } from './delete/report.ts';

export default class Delete extends BaseCommand<typeof Delete> {
  static override summary = 'Delete pools and release their nodes.';
  static override description =
    "The pools' labels and taints leave the nodes, what they displaced comes back, and the RuntimeClass goes: all by this command, no controller is needed. The membership labels stay unless --detach-nodes is given.";
  static override examples = [
    { description: 'Delete one pool', command: '<%= config.bin %> delete worker' },
    {
      description: 'Without being asked, and take the nodes out of the role',
      command: '<%= config.bin %> delete worker --detach-nodes --yes',
    },
    { description: 'See what would happen', command: '<%= config.bin %> delete worker --dry-run=server' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    'detach-nodes': Flags.boolean({
      summary: 'Also remove the label node-role.kubernetes.io/NAME from the nodes; not for pools with a nodeSelector.',
    }),
    'ignore-not-found': Flags.boolean({ summary: 'Pass over names that do not exist.' }),
    'dry-run': dryRunFlag('Change nothing: "client" only reads, "server" has the server validate it.'),
    concurrency: concurrencyFlag,
    yes: yesFlag,
  };

  protected async execute(flags: FlagsOf<typeof Delete>, args: ArgsOf<typeof Delete>, deps: Deps): Promise<number> {
    const { io, connect } = deps;
    const chosen = parsePoolChoice(args.name, flags);
    const dryRun = flags['dry-run'];
    const connection = await connect({ concurrency: flags.concurrency });
    const detachNodes = flags['detach-nodes'];
    const { concurrency, yes } = flags;
    const choice = { ...chosen, ignoreNotFound: flags['ignore-not-found'], detachNodes };
    const isAsked = dryRun === 'none' && !yes && canAsk(io);
    const propose = () => proposeDeletion({ ...choice, countsNodes: isAsked }, connection);
    const agreed = await agree(propose, approver({ yes, dryRun: dryRun !== 'none' }, io, connection.pods));
    if (agreed === undefined) {
      io.err('nothing was deleted');
      return EXIT.error;
    }
    const { proposal, consent } = agreed;
    const { pools } = proposal;
    if (pools.length === 0 && !('names' in chosen)) reportNoPools(io);
    if (dryRun === 'client') {
      for (const { metadata } of pools) io.out(deletionLine(metadata.name, 'deleted', dryRunSuffix(dryRun)));
      return 0;
    }
    const work = await reconcileDeps(deps, connection, 'Releasing');
    const results = await interruptible(io, signal =>
      deletePools(
        { pools, detachNodes, concurrency, dryRun: dryRun === 'server', consent },
        { ...work, signal },
      ).finally(work.stop),
    );
    const codes = results.map(result => reportDeletion(result, dryRunSuffix(dryRun), deps));
    return isInterrupted(results) ? reportInterruption(io, results) : Math.max(0, ...codes);
  }
}
