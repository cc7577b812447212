import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { DIFF_EXIT_STATUS } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { byNodeFlag, filenameFlags, namesArg, outputFlag, refuseByNode } from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined } from '../../nodepool/json.ts';
import { parsePoolChoice, poolSelectorFlag } from '../shared/pools/choose-pools.ts';

export default class Diff extends BaseCommand<typeof Diff> {
  static override summary = 'Show what reconcile would change on the nodes, and why.';
  static override description =
    `Compares labels, taints and RuntimeClasses, and writes nothing. If something else changed a value that the pool had set, diff names who changed it and when. Differences that only affect records or a pool's status are noted on stderr and do not count.

With -f, diff compares the pools in files with the cluster: their spec, labels and annotations as kubectl apply would leave them, and the changes on nodes.

${DIFF_EXIT_STATUS}`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> diff' },
    {
      description: 'One pool, in a script',
      command: '<%= config.bin %> diff worker >/dev/null; case $? in 1) echo differs;; 2) echo failed;; esac',
    },
    { description: 'The pools of a team', command: '<%= config.bin %> diff -l team=a' },
    { description: 'With the impact on pods', command: '<%= config.bin %> diff worker --impact' },
    {
      description: 'What the pools in files would change once they are applied, as in a pull request',
      command: '<%= config.bin %> diff -f pools/ --impact',
    },
    { description: 'For a program', command: '<%= config.bin %> diff -o json' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    ...poolSelectorFlag,
    ...filenameFlags,
    impact: Flags.boolean({
      summary: 'Also show which pods stop, start or are evicted, and which objects select the nodes.',
    }),
    'impact-path': Flags.string({
      multiple: true,
      dependsOn: ['impact'],
      summary: 'Another field that holds node labels.',
      helpValue: 'RESOURCE:.FIELD',
    }),
    'by-node': byNodeFlag,
    output: outputFlag('Print the differences as an object.'),
  };

  protected async execute(flags: FlagsOf<typeof Diff>, args: ArgsOf<typeof Diff>, deps: Deps): Promise<number> {
    refuseByNode(flags);
    const declared = await declaredPools(flags, args.name, deps);
    const choice = declared === undefined ? parsePoolChoice(args.name, flags, { all: true }) : { all: true as const };
    const paths = flags.impact ? (flags['impact-path'] ?? []) : undefined;
    const annotations = (declared ?? []).flatMap(({ pool }) => Object.keys(pool.spec.annotations ?? {}));
    const { showDiff } = await import('../shared/changes/diff.ts');
    const options = { output: flags.output, impactPaths: paths, byNode: flags['by-node'], ...defined({ declared }) };
    return Math.min(1, await showDiff(choice, options, deps, await deps.connect({ annotations })));
  }
}

/** The valid pools of -f; undefined without -f. */
async function declaredPools(
  { filename, selector, recursive }: FlagsOf<typeof Diff>,
  names: readonly string[] | undefined,
  { io, requestTimeoutMs }: Deps,
) {
  if (filename === undefined) return undefined;
  if ((names ?? []).length > 0 || selector !== undefined)
    throw new NodepoolError(
      'usage',
      '-f reads pools from files and cannot be used with names or -l',
      'leave out the names and -l',
    );
  const { readDeclared } = await import('../shared/create/pool-files.ts');
  return readDeclared(filename, io, { urlDeadlineMs: requestTimeoutMs, recursive });
}
