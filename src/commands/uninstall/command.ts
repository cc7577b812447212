import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { confirm } from '../../cli/confirm.ts';
import { parseDuration } from '../../cli/duration.ts';
import { showWarning } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { CRD_NAME, concurrencyFlag, dryRunFlag, dryRunSuffix, yesFlag } from '../../cli/flags.ts';
import { readBornInPool, readController, readPolicies } from '../../cli/manifests.ts';
import { interruptible } from '../../cli/signals.ts';
import type { DryRun } from '../../kube/cluster.ts';
import type { ManifestObject } from '../../kube/resources/manifests.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import { whereText } from '../../print/question.ts';
import { approver } from '../shared/consent/approve.ts';
import { deletedLine, showDeletion, showPlan } from '../shared/delete/print-delete.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import { servedOf } from '../shared/install/admission-policies.ts';
import { isForeign, quotedNameOf, refuseHelmRelease, textOf } from '../shared/install/foreign-objects.ts';
import { MAX_NAMED } from '../shared/pools/choose-pools.ts';
import { reconcileDeps } from '../shared/reconcile/reconcile-deps.ts';
import { type CrdUsage, uninstall } from './run.ts';

/** kubectl's name of a deleted object. */
const DELETED_CRD = CRD_NAME.replace(/\/(.*)/, ' "$1"');

export default class Uninstall extends BaseCommand<typeof Uninstall> {
  static override summary = 'Delete the NodePool CRD from the cluster.';
  static override description =
    'Deletes the CRD and the admission policies. Fails while pools exist, or while nodes still have labels or taints of deleted pools. --cascade deletes all pools first, and removes their labels, taints and annotations from the nodes. --controller deletes only the controller and the admission policies, and changes neither pools nor nodes. If the controller is installed, run --controller first.';
  static override examples = [
    { description: 'Delete the CRD when no pool exists', command: '<%= config.bin %> uninstall' },
    { description: 'Delete all pools, then the CRD', command: '<%= config.bin %> uninstall --cascade' },
    { description: 'Delete only the controller', command: '<%= config.bin %> uninstall --controller' },
    { description: 'Show what would be deleted', command: '<%= config.bin %> uninstall --cascade --dry-run' },
  ];
  static override flags = {
    cascade: Flags.boolean({ summary: 'Release the nodes of all pools and delete the pools first.' }),
    controller: Flags.boolean({
      summary: 'Delete only the controller, its namespace and the policies.',
      exclusive: ['cascade'],
    }),
    'dry-run': dryRunFlag(),
    timeout: Flags.string({
      default: '60s',
      summary: 'Maximum time to wait until the CRD is deleted.',
      helpValue: 'TIME',
    }),
    concurrency: concurrencyFlag,
    yes: yesFlag('Scripts need --yes for --cascade.'),
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
    const { objects: bornInPool } = await readBornInPool(deps.root);
    const { objects: policies } = await readPolicies(deps.root);
    if (flags.controller) {
      return removeController({ controller: [...policies, ...controller], bornInPool, dryRun, yes: flags.yes }, deps);
    }
    const connection = await deps.connect({ concurrency: flags.concurrency, dryRun: dryRun !== 'none' });
    const { cluster, crd, manifests, workloads } = connection;
    const outcome = await uninstall(
      { cascade: flags.cascade, controller, bornInPool, policies, dryRun, timeoutMs },
      {
        cluster,
        crd,
        manifests,
        workloads,
        async releasing(release) {
          const work = await reconcileDeps(deps, connection, 'Releasing', { concurrency: flags.concurrency });
          await interruptible(io, signal => release({ ...work, signal }).finally(work.stop));
        },
        stoppable: work => interruptible(io, work),
        actionOf,
        approve: approver({ yes: flags.yes, dryRun: dryRun !== 'none' }, io, connection, impactTeller(io, connection)),
      },
    );
    const suffix = dryRunSuffix(dryRun);
    const shown = { output: undefined, suffix };
    switch (outcome.kind) {
      case 'absent':
        io.out(`${CRD_NAME} is not installed`);
        if (outcome.policies.length > 0) {
          const message = `still installed: ${outcome.policies.map(quotedNameOf).join(', ')}`;
          showWarning(io, { message, next: 'delete them with `kubectl nodepool uninstall --controller`' });
        }
        return 0;
      case 'declined':
        io.err('nothing was deleted');
        return 1;
      case 'deleted':
        for (const policy of outcome.bornInPool) io.out(`${quotedNameOf(policy)} deleted${suffix}`);
        if (dryRun !== 'none') {
          await showPlan(outcome.plan, shown, io);
          for (const name of outcome.found.pools) io.out(deletedLine(name, shown));
        }
        for (const result of outcome.results) showDeletion(result, shown, deps);
        for (const { pool, nodes } of outcome.found.orphans) {
          io.out(`${plural(nodes, 'node')} of deleted pool "${pool}" released${suffix}`);
        }
        for (const policy of outcome.protections) io.out(`${quotedNameOf(policy)} deleted${suffix}`);
        io.out(`${DELETED_CRD} deleted${suffix}`);
        return 0;
    }
  }
}

/** What the question asks about. */
export function actionOf({ pools, nodes, orphans }: CrdUsage, policies = 0): string {
  const left = orphans.reduce((sum, orphan) => sum + orphan.nodes, 0);
  const of = pools.length === 1 ? 'pool' : plural(pools.length, 'pool');
  const steps = [
    ...(pools.length > 0 ? [`delete ${of} ${firstFew(pools, MAX_NAMED)} (releases ${plural(nodes, 'node')})`] : []),
    ...(left > 0 ? [`release ${plural(left, 'node')} of deleted pools`] : []),
    policies === 0 ? 'delete the NodePool CRD' : 'delete the NodePool CRD and the admission policies',
  ];
  const text = steps.join(' and ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

// `uninstall --controller`: asks, deletes the controller's objects and prints their names.

interface RemoveOptions {
  /** The controller's objects and the policies, in the order of creation. */
  controller: ManifestObject[];
  /** The policy that gives new nodes their pool's labels and taints, and its binding. */
  bornInPool: ManifestObject[];
  dryRun: DryRun;
  yes: boolean;
}

/** Leaves pools, nodes and the CRD unchanged. Returns the exit code. Throws NodepoolError. */
async function removeController(options: RemoveOptions, { io, connect }: Deps): Promise<number> {
  const { controller, bornInPool, dryRun, yes } = options;
  const connection = await connect({ dryRun: dryRun !== 'none' });
  const { manifests } = connection;
  const [found, foreign]: [ManifestObject[], ManifestObject[]] = [[], []];
  // Deletes the Deployment before what its pods need to shut down, and the namespace last.
  for (const object of [...(await servedOf(bornInPool, manifests)), ...controller].toReversed()) {
    const live = await manifests.get(object);
    refuseHelmRelease(live, 'uninstall');
    if (live !== undefined) (isForeign(object, live) ? foreign : found).push(live);
  }
  const action = `Delete ${found.map(quotedNameOf).join(', ')}`;
  const isAsked = found.length > 0 && dryRun === 'none' && !yes;
  const isDeclined = isAsked && !(await confirm(io, { action, where: whereText(connection) }));
  if (dryRun !== 'client' && !isDeclined) for (const object of found) await manifests.delete(object);
  for (const object of foreign) {
    showWarning(io, `${textOf(object)} was not created by kubectl nodepool and is kept`);
  }
  if (found.length === 0) {
    io.out('the controller is not installed');
    return 0;
  }
  if (isDeclined) {
    io.err('nothing was deleted');
    return 1;
  }
  for (const object of found) io.out(`${quotedNameOf(object)} deleted${dryRunSuffix(dryRun)}`);
  return 0;
}
