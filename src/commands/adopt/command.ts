import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT, showErrors, showNote, showWarning } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { dryRunFlag, namesArg, outputFlag, repeatedFlag, yesFlag } from '../../cli/flags.ts';
import { terminalWidth } from '../../cli/io.ts';
import type { PoolCandidate } from '../../nodepool/adopt/adopt.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { approver } from '../shared/consent/approve.ts';
import { readProtection, warnOfKubelets } from '../shared/consent/membership-warnings.ts';
import { showCreated } from '../shared/create/show-created.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';

export default class Adopt extends BaseCommand<typeof Adopt> {
  static override summary = 'Find node groups by their labels and create pools for them.';
  static override description =
    'Looks for the labels of EKS, GKE, AKS, DOKS, Karpenter and node-role.kubernetes.io. --create creates pools that change nothing on the nodes. Each pool selects its nodes by that label. A pool sets the labels, taints and annotations that all of its nodes already have.\n\nLeft out: labels in the domains of Kubernetes and the clouds, and temporary taints. Also left out: annotations that kubectl annotate, edit or patch did not set, and keys whose value varies within another group.';
  static override examples = [
    { description: 'List the node groups', command: '<%= config.bin %> adopt' },
    { description: 'Groups by your own label', command: '<%= config.bin %> adopt --label example.com/team' },
    { description: 'Print the pools as YAML', command: '<%= config.bin %> adopt -o yaml' },
    { description: 'Create two of the pools', command: '<%= config.bin %> adopt system gpu --create' },
    { description: 'Create all pools without a prompt', command: '<%= config.bin %> adopt --create --yes' },
  ];
  static override args = { name: namesArg('Names of proposed pools; none means all.') };
  static override flags = {
    label: repeatedFlag({
      summary: 'Label that marks groups, instead of the known labels; repeatable.',
      helpValue: 'KEY',
    }),
    create: Flags.boolean({ summary: 'Create the new pools.' }),
    'dry-run': dryRunFlag(),
    output: outputFlag('Print the proposed or created pools.'),
    yes: yesFlag(''),
  };

  protected async execute(flags: FlagsOf<typeof Adopt>, args: ArgsOf<typeof Adopt>, deps: Deps): Promise<number> {
    const { io } = deps;
    const dryRun = flags['dry-run'];
    if (dryRun !== 'none' && !flags.create) {
      throw new NodepoolError(
        'usage',
        '--dry-run needs --create',
        'add --create, or leave out --dry-run: without --create, adopt creates nothing',
      );
    }
    if (flags.yes && !flags.create) showWarning(io, '--yes has no effect without --create: nothing is created');
    const { controlPlaneWarnings, findAdoptable, leftOut, poolsToCreate } = await import('./run.ts');
    const names = args.name ?? [];
    const connection = await deps.connect({ dryRun: dryRun !== 'none' });
    const labels = [...new Set(flags.label)];
    const candidates = await findAdoptable({ labels, names }, connection);
    const { output } = flags;
    const warn = (some: readonly Pick<NodePool, 'metadata'>[], created: boolean) => {
      for (const text of controlPlaneWarnings(candidates, some, { created })) showWarning(io, text);
    };
    if (!flags.create && output === undefined) {
      const pools = poolsToCreate(candidates, false);
      const protection = readProtection(pools, connection, deps);
      await show(candidates, labels, deps);
      await warnOfKubelets(pools, protection, io);
      warn(pools, false);
      const hasNew = candidates.some(({ state }) => state.kind === 'new');
      if (hasNew && io.stderrIsTTY) showNote(io, CREATE_THEM);
      return 0;
    }

    const pools = poolsToCreate(candidates, names.length > 0);
    for (const text of leftOut(candidates)) showWarning(io, text);
    // One name gives one object, as in kubectl get, however many pools are new.
    const asList = names.length !== 1;
    if (!flags.create) {
      await warnOfKubelets(pools, readProtection(pools, connection, deps), io);
      warn(pools, false);
      const { printObjects } = await import('../../print/printers.ts');
      io.out(printObjects(pools, output ?? 'yaml', asList));
      return 0;
    }
    if (pools.length === 0 && output === undefined) {
      io.err('Nothing to adopt.');
      return 0;
    }
    const protection = readProtection(pools, connection, deps);
    const { createAdopted } = await import('./create-adopted.ts');
    const approve = approver(
      { yes: flags.yes, dryRun: dryRun !== 'none' },
      io,
      connection,
      impactTeller(io, connection),
    );
    const adopted = await createAdopted({ pools, labels, dryRun }, { ...connection, approve });
    if (adopted === undefined) {
      io.err('nothing was created');
      return EXIT.error;
    }
    const { created, errors } = adopted;
    if (created.length > 0 || asList) await showCreated(created, { format: output, asList, dryRun }, deps);
    await warnOfKubelets(created, protection, io);
    warn(created, dryRun === 'none');
    return showErrors(errors, io);
  }
}

const CREATE_THEM = 'next: `kubectl nodepool adopt --create` creates the new pools; name some to create only these';

async function show(candidates: PoolCandidate[], labels: string[], { io }: Deps): Promise<void> {
  if (candidates.length === 0) {
    const known = 'No known node group labels found. Use --label KEY for a label of your own.';
    io.err(labels.length === 0 ? known : `No node has the label ${labels.join(' or ')}.`);
    return;
  }
  const { renderCandidates } = await import('./print.ts');
  const { makeStyle } = await import('../../print/style.ts');
  io.out(renderCandidates(candidates, makeStyle(io.color), terminalWidth(io)));
}
