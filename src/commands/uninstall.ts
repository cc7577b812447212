import { Flags } from '@oclif/core';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { confirm } from '../cli/confirm.ts';
import { parseDuration } from '../cli/duration.ts';
import type { Connection, Deps } from '../cli/factory.ts';
import { concurrencyFlag, DEFINITION, dryRunFlag, dryRunSuffix, yesFlag } from '../cli/flags.ts';
import { reconcileDeps } from '../cli/reconcile-deps.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { deletePools } from '../operations/delete.ts';
import { uninstall } from '../operations/uninstall.ts';

export default class Uninstall extends BaseCommand<typeof Uninstall> {
  static override summary = 'Remove the NodePool resource from the cluster.';
  static override description =
    'Refuses while pools exist. With --cascade every pool is deleted first: its labels and taints leave the nodes, and what they displaced comes back.';
  static override examples = [
    { description: 'Remove it when no pool is left', command: '<%= config.bin %> uninstall' },
    { description: 'Delete all pools too', command: '<%= config.bin %> uninstall --cascade' },
    { description: 'See what that would delete', command: '<%= config.bin %> uninstall --cascade --dry-run' },
  ];
  static override flags = {
    cascade: Flags.boolean({ summary: 'Delete the pools that exist, releasing their nodes.' }),
    'dry-run': dryRunFlag('Change nothing: "client" only reads, "server" has the server validate it.'),
    timeout: Flags.string({ default: '60s', summary: 'Longest wait until it is gone.', helpValue: 'TIME' }),
    concurrency: concurrencyFlag,
    yes: yesFlag,
  };

  protected async execute(
    flags: FlagsOf<typeof Uninstall>,
    _args: ArgsOf<typeof Uninstall>,
    deps: Deps,
  ): Promise<number> {
    const { io } = deps;
    const timeoutMs = parseDuration(flags.timeout, '--timeout');
    const dryRun = flags['dry-run'];
    const connection = await deps.connect({ concurrency: flags.concurrency });
    const { pools, definition } = connection;
    const outcome = await uninstall(
      { cascade: flags.cascade, dryRun, timeoutMs },
      {
        pools,
        definition,
        deletePools: names => release(names, flags.concurrency, deps, connection),
        confirm: async names => flags.yes || confirm(io, question(names)),
      },
    );
    switch (outcome.kind) {
      case 'absent':
        io.out(`${DEFINITION} is not installed`);
        return 0;
      case 'declined':
        io.err('nothing was deleted');
        return 1;
      case 'deleted':
        for (const name of outcome.pools) io.out(`nodepool.nodes.lailin.xyz "${name}" deleted${dryRunSuffix(dryRun)}`);
        io.out(`${DEFINITION} deleted${dryRunSuffix(dryRun)}`);
        return 0;
    }
  }
}

/** Throws with the reasons when a pool could not be released. */
async function release(names: string[], concurrency: number, deps: Deps, connection: Connection): Promise<void> {
  const work = await reconcileDeps(deps, connection, 'Releasing');
  const options = { names, detachNodes: false, concurrency, dryRun: false, ignoreNotFound: true };
  const results = await deletePools(options, { ...work, pools: connection.pools }).finally(work.stop);
  for (const { summary } of results) {
    if (summary.error !== undefined) throw summary.error;
    const failures = summary.outcome?.failures ?? [];
    if (failures.length > 0) throw new NodepoolError('cluster', failures.join('\n'), 'run uninstall again to finish');
  }
}

function question(names: string[]): string {
  if (names.length === 0) return 'Remove the NodePool resource from the cluster?';
  const pools = names.length === 1 ? 'the pool' : `${names.length} pools`;
  return `Delete ${pools} ${names.join(', ')} and remove the NodePool resource from the cluster?`;
}
