import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { confirm } from '../cli/confirm.ts';
import { warningLine } from '../cli/error-line.ts';
import type { Connection, Deps } from '../cli/factory.ts';
import { dryRunFlag, dryRunSuffix, namesArg, outputFlag, repeatedFlag, yesFlag } from '../cli/flags.ts';
import type { Candidate } from '../nodepool/adopt.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePool } from '../nodepool/types.ts';

export default class Adopt extends BaseCommand<typeof Adopt> {
  static override summary = 'Find the pools that exist by their labels, and take them over.';
  static override description =
    'Looks for the labels of EKS, GKE, AKS, DOKS, Karpenter and node-role.kubernetes.io. The pools that --create makes change nothing on the nodes: they select the nodes by that label, and set what all of them carry already: labels outside of the domains of Kubernetes and the clouds, and taints that stay. What differs between the nodes of any pool found belongs to the nodes, and is left to them.';
  static override examples = [
    { description: 'What there is', command: '<%= config.bin %> adopt' },
    { description: 'Pools by a label of your own', command: '<%= config.bin %> adopt --label example.com/team' },
    { description: 'As files, to look at and apply', command: '<%= config.bin %> adopt -o yaml' },
    { description: 'Create two of them', command: '<%= config.bin %> adopt system gpu --create' },
    { description: 'Create all of them in a script', command: '<%= config.bin %> adopt --create --yes' },
  ];
  static override args = { name: namesArg('Pools, as they are proposed; none means all.') };
  static override flags = {
    label: repeatedFlag({
      summary: 'Label that stands for pools, in place of the known ones; repeatable.',
      helpValue: 'KEY',
    }),
    create: Flags.boolean({ summary: 'Create the pools that are new.' }),
    'dry-run': dryRunFlag(),
    output: outputFlag('Print the pools, to be created or just created.'),
    yes: yesFlag,
  };

  protected async execute(flags: FlagsOf<typeof Adopt>, args: ArgsOf<typeof Adopt>, deps: Deps): Promise<number> {
    const { io } = deps;
    const dryRun = flags['dry-run'];
    if (dryRun !== 'none' && !flags.create) {
      throw new NodepoolError(
        'usage',
        '--dry-run is for --create',
        'leave it out: without --create nothing is changed',
      );
    }
    const { findAdoptable, poolsToCreate } = await import('../operations/adopt.ts');
    const names = args.name ?? [];
    const connection = await deps.connect({ dryRun: dryRun === 'server' });
    const candidates = await findAdoptable({ labels: [...new Set(flags.label)], names }, connection);
    const isQuiet = flags.output !== undefined;
    if (!flags.create && !isQuiet) return show(candidates, deps);

    const pools = poolsToCreate(candidates, names.length > 0);
    for (const { pool, state } of candidates) {
      if (state.kind === 'overlap')
        io.err(warningLine(`${pool.metadata.name} is left out: ${overlapText(state.pools)}`));
    }
    if (!flags.create) return print(pools, flags.output, deps);
    if (pools.length === 0) {
      io.err('Nothing to adopt.');
      return 0;
    }
    const asks = pools.length > 1 && dryRun === 'none' && !flags.yes;
    if (asks && !(await confirm(io, `Create pools ${pools.map(({ metadata }) => metadata.name).join(', ')}?`))) {
      io.err('nothing was created');
      return 1;
    }
    const created = await create(pools, dryRun, connection);
    if (isQuiet) return print(created, flags.output, deps);
    for (const { metadata } of created) {
      io.out(`nodepool.nodes.lailin.xyz/${metadata.name} created${dryRunSuffix(dryRun)}`);
    }
    return 0;
  }
}

async function show(candidates: Candidate[], { io }: Deps): Promise<number> {
  if (candidates.length === 0) {
    io.err('No labels of pools found on the nodes. Name one with --label KEY.');
    return 0;
  }
  const { renderCandidates } = await import('../render/adopt.ts');
  const { makeStyle } = await import('../render/style.ts');
  io.out(renderCandidates(candidates, makeStyle(io.color)));
  return 0;
}

async function print(pools: NodePool[], format: 'json' | 'yaml' | undefined, { io }: Deps): Promise<number> {
  const { printObjects } = await import('../render/printers.ts');
  io.out(printObjects(pools, format ?? 'yaml', pools.length !== 1));
  return 0;
}

async function create(pools: NodePool[], dryRun: 'none' | 'client' | 'server', connection: Connection) {
  const { createPools } = await import('../operations/create.ts');
  return createPools({ pools, nodes: [], concurrency: 1, dryRun }, async () => connection);
}

function overlapText(pools: string[]): string {
  return `it shares nodes with ${pools.join(', ')}; choose one by its name, or relabel the nodes`;
}
