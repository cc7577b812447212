import * as Flags from '@oclif/core/flags';
import { approver } from '../cli/approve.ts';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { parseDuration } from '../cli/duration.ts';
import type { Deps } from '../cli/factory.ts';
import { CRD_NAME, concurrencyFlag, dryRunFlag, dryRunSuffix, yesFlag } from '../cli/flags.ts';
import { interruptible } from '../cli/interruptible.ts';
import { readController, readPolicies } from '../cli/manifests.ts';
import { reconcileDeps } from '../cli/reconcile-deps.ts';
import { plural } from '../nodepool/plural.ts';
import { type CrdUsage, uninstall } from '../operations/uninstall.ts';
import { removeController } from './uninstall/remove-controller.ts';

/** As kubectl names a deleted object. */
const DELETED_CRD = CRD_NAME.replace(/\/(.*)/, ' "$1"');

export default class Uninstall extends BaseCommand<typeof Uninstall> {
  static override summary = 'Remove the NodePool resource from the cluster.';
  static override description =
    'Refuses while pools exist, or nodes still carry what a pool that is gone applied. With --cascade every pool is deleted first: its labels and taints leave the nodes, and what they displaced comes back. With --controller only the controller in the cluster and the admission policies are removed, which has to be done first: pools and nodes stay as they are.';
  static override examples = [
    { description: 'Remove it when no pool is left', command: '<%= config.bin %> uninstall' },
    { description: 'Delete all pools too', command: '<%= config.bin %> uninstall --cascade' },
    { description: 'Remove the controller only', command: '<%= config.bin %> uninstall --controller' },
    { description: 'See what that would delete', command: '<%= config.bin %> uninstall --cascade --dry-run' },
  ];
  static override flags = {
    cascade: Flags.boolean({ summary: 'Delete the pools that exist, releasing their nodes.' }),
    controller: Flags.boolean({
      summary: 'Remove the controller, its namespace and the policies only; pools stay.',
      exclusive: ['cascade'],
    }),
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
    const { objects: controller } = await readController(deps.root);
    if (flags.controller) {
      const { objects: policies } = await readPolicies(deps.root);
      return removeController({ controller: [...policies, ...controller], dryRun, yes: flags.yes }, deps);
    }
    const connection = await deps.connect({ concurrency: flags.concurrency });
    const { cluster, crd, manifests } = connection;
    const outcome = await uninstall(
      { cascade: flags.cascade, controller, dryRun, timeoutMs, concurrency: flags.concurrency },
      {
        cluster,
        crd,
        manifests,
        async releasing(release) {
          const work = await reconcileDeps(deps, connection, 'Releasing');
          await interruptible(io, signal => release({ ...work, signal }).finally(work.stop));
        },
        stoppable: work => interruptible(io, work),
        question,
        approve: approver({ yes: flags.yes, dryRun: dryRun !== 'none' }, io, connection.pods),
      },
    );
    const suffix = dryRunSuffix(dryRun);
    switch (outcome.kind) {
      case 'absent':
        io.out(`${CRD_NAME} is not installed`);
        return 0;
      case 'declined':
        io.err('nothing was deleted');
        return 1;
      case 'deleted':
        for (const name of outcome.found.pools) io.out(`nodepool.nodes.lailin.xyz "${name}" deleted${suffix}`);
        for (const { pool, nodes } of outcome.found.orphans) {
          io.out(`${plural(nodes, 'node')} of pool "${pool}", which is gone, released${suffix}`);
        }
        io.out(`${DELETED_CRD} deleted${suffix}`);
        return 0;
    }
  }
}

function question({ pools, orphans }: CrdUsage): string {
  const nodes = orphans.reduce((sum, orphan) => sum + orphan.nodes, 0);
  const steps = [
    ...(pools.length > 0
      ? [`delete ${pools.length === 1 ? 'the pool' : `${pools.length} pools`} ${pools.join(', ')}`]
      : []),
    ...(nodes > 0 ? [`release ${plural(nodes, 'node')} of pools that are gone`] : []),
    'remove the NodePool resource from the cluster',
  ];
  const text = steps.join(' and ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}?`;
}
