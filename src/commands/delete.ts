import * as Flags from '@oclif/core/flags';
import { approveEvictions } from '../cli/approve-evictions.ts';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { confirm } from '../cli/confirm.ts';
import type { Deps } from '../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, dryRunSuffix, someNamesArg, yesFlag } from '../cli/flags.ts';
import { reconcileDeps } from '../cli/reconcile-deps.ts';
import { deletionLine, reportDeletion } from '../cli/report-deletion.ts';
import { noun, plural } from '../nodepool/plural.ts';
import { deletePools, findPools } from '../operations/delete.ts';

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
  static override args = { name: someNamesArg('Names of the pools.') };
  static override flags = {
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
    const dryRun = flags['dry-run'];
    const connection = await connect({ dryRun: dryRun === 'server', concurrency: flags.concurrency });
    const detachNodes = flags['detach-nodes'];
    const choice = { names: args.name, ignoreNotFound: flags['ignore-not-found'], detachNodes };
    const pools = await findPools(choice, connection.pools);
    if (pools.length > 0 && dryRun === 'none' && !flags.yes && !(await confirm(io, question(pools)))) {
      io.err('nothing was deleted');
      return 1;
    }
    if (pools.length > 0) {
      const { deletionPlans } = await import('../operations/evictions.ts');
      const approve = approveEvictions({ yes: flags.yes, dryRun: dryRun !== 'none' }, io, connection.nodeAccess);
      const known = pools.map(({ metadata }) => metadata.name);
      await approve(() => deletionPlans(known, connection.cluster));
    }
    if (dryRun === 'client') {
      for (const { metadata } of pools) io.out(deletionLine(metadata.name, 'deleted', dryRunSuffix(dryRun)));
      return 0;
    }
    const work = await reconcileDeps(deps, connection, 'Releasing');
    const results = await deletePools(
      { pools, detachNodes, concurrency: flags.concurrency, dryRun: dryRun === 'server' },
      { ...work, pools: connection.pools },
    ).finally(work.stop);
    const codes = results.map(result => reportDeletion(result, dryRunSuffix(dryRun), deps));
    return Math.max(0, ...codes);
  }
}

function question(pools: { metadata: { name: string }; status?: { nodeCount: number } }[]): string {
  const what = pools.map(({ metadata, status }) => {
    return `${metadata.name} (${plural(status?.nodeCount ?? 0, 'node')})`;
  });
  return `Delete ${noun(pools.length, 'pool')} ${what.join(', ')}?`;
}
