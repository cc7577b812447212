import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { canAsk } from '../../cli/confirm.ts';
import { EXIT, showErrors } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import {
  concurrencyFlag,
  dryRunFlag,
  dryRunSuffix,
  filenameFlags,
  nameOutputFlag,
  namesArg,
  yesFlag,
} from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import { interruptible } from '../../cli/signals.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { showImpactToPerson } from '../shared/changes/diff.ts';
import { approver } from '../shared/consent/approve.ts';
import { agree } from '../shared/consent/consent.ts';
import { deletePools, proposeDeletion } from '../shared/delete/delete.ts';
import { deletedLine, showDeletion, showPlan } from '../shared/delete/print-delete.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import {
  type PoolChoice,
  type PoolChoiceFlags,
  parsePoolChoice,
  poolChoiceFlags,
  showNoPools,
} from '../shared/pools/choose-pools.ts';
import { isInterrupted, showInterruption } from '../shared/reconcile/interrupted.ts';
import { reconcileDeps } from '../shared/reconcile/reconcile-deps.ts';

/** With -f, uses the names in the files. */
async function readPoolChoice(
  names: string[] = [],
  flags: PoolChoiceFlags & { filename: string[] | undefined; recursive: boolean; interactive: boolean },
  { io, requestTimeoutMs }: Deps,
): Promise<PoolChoice> {
  if (flags.filename === undefined) return parsePoolChoice(names, flags);
  if (names.length > 0 || flags.selector !== undefined || flags.all) {
    throw new NodepoolError('usage', '-f reads pools from a file and cannot be used with names, -l or --all');
  }
  const { readInput } = await import('../../cli/input.ts');
  const { decodePool } = await import('../../nodepool/spec/coerce.ts');
  if (flags.interactive && flags.filename.includes('-')) {
    throw new NodepoolError('usage', '-i and -f - cannot be used together: both read stdin', 'name a file');
  }
  const documents = await readInput(flags.filename, io, {
    urlDeadlineMs: requestTimeoutMs,
    recursive: flags.recursive,
  });
  return { names: documents.map(({ value, source, placeOf }) => decodePool(value, source, placeOf).metadata.name) };
}

export default class Delete extends BaseCommand<typeof Delete> {
  static override summary = 'Delete pools and release their nodes.';
  static override description =
    "Removes the pools' labels, taints and annotations from the nodes, restores the values that they replaced, and deletes the RuntimeClasses. No controller is needed. Membership labels stay unless --detach-nodes is given. Workloads that use a deleted RuntimeClass cannot create new pods; they are listed first.\n\nIn a script, a named pool is deleted without a prompt, as with kubectl. -l, --all, and RuntimeClasses that workloads use need --yes.";
  static override examples = [
    { description: 'Delete one pool', command: '<%= config.bin %> delete worker' },
    {
      description: 'Without a prompt, and remove the role label from the nodes',
      command: '<%= config.bin %> delete worker --detach-nodes --yes',
    },
    { description: 'The pools of a file', command: '<%= config.bin %> delete -f pools.yaml' },
    { description: 'Show what would change', command: '<%= config.bin %> delete worker --dry-run=server' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    ...filenameFlags,
    'detach-nodes': Flags.boolean({
      summary:
        'Also remove the label node-role.kubernetes.io/NAME from the nodes; not for pools with their own node selector.',
    }),
    'ignore-not-found': Flags.boolean({ summary: 'Ignore pools that are not found.' }),
    'dry-run': dryRunFlag(),
    output: nameOutputFlag,
    concurrency: concurrencyFlag,
    interactive: Flags.boolean({
      char: 'i',
      summary: 'Always prompt and read the answer from stdin, even with --yes.',
    }),
    yes: yesFlag('Scripts may need --yes: see above.'),
  };

  protected async execute(flags: FlagsOf<typeof Delete>, args: ArgsOf<typeof Delete>, deps: Deps): Promise<number> {
    const { io, connect } = deps;
    const chosen = await readPoolChoice(args.name, flags, deps);
    const dryRun = flags['dry-run'];
    const connection = await connect({ concurrency: flags.concurrency, dryRun: dryRun !== 'none' });
    const detachNodes = flags['detach-nodes'];
    const { concurrency, interactive } = flags;
    const yes = flags.yes && !interactive;
    const asked: Io = interactive ? { ...io, alwaysAsks: true } : io;
    const choice = { ...chosen, ignoreNotFound: flags['ignore-not-found'], detachNodes };
    const readsNodes = dryRun !== 'none' || (!yes && canAsk(asked));
    const shown = { output: flags.output, suffix: dryRunSuffix(dryRun) };
    const propose = async () => {
      const proposal = await proposeDeletion({ ...choice, readsNodes }, connection);
      if (dryRun !== 'none') await showPlan(proposal.plan, shown, io);
      if (dryRun !== 'none' && flags.output === undefined) await showImpactToPerson(proposal.plan, io, connection);
      return proposal;
    };
    const agreed = await agree(
      propose,
      approver({ yes, dryRun: dryRun !== 'none' }, asked, connection, impactTeller(asked, connection)),
    );
    if (agreed === undefined) {
      io.err('nothing was deleted');
      return EXIT.error;
    }
    const { proposal, consent } = agreed;
    const { pools } = proposal;
    const missing = proposal.missing === undefined ? [] : [proposal.missing];
    if (pools.length === 0 && !('names' in chosen)) showNoPools(io);
    if (dryRun === 'client') {
      for (const { metadata } of pools) io.out(deletedLine(metadata.name, shown));
      return showErrors(missing, io);
    }
    const work = await reconcileDeps(deps, connection, 'Releasing', { concurrency });
    const results = await interruptible(io, signal =>
      deletePools({ ...work, pools, detachNodes, consent, signal }).finally(work.stop),
    );
    const codes = results.map(result => showDeletion(result, shown, deps));
    return isInterrupted(results) ? showInterruption(io, results) : Math.max(showErrors(missing, io), ...codes);
  }
}
