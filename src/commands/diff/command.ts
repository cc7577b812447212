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
    `Compares labels, taints and RuntimeClasses. A node that only joins a pool, or is adopted, without a change of these is no difference, nor are the counts in a pool's status: stderr notes what reconcile writes of them. For a value that differs from what the pool had set, it names who set it, and when. With -f it compares the pools of files, as kubectl apply would leave them, with the cluster: their spec, labels and annotations, and what their nodes would get. Nothing is written.

${DIFF_EXIT_STATUS}`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> diff' },
    {
      description: 'One pool, in a script',
      command: '<%= config.bin %> diff worker >/dev/null; case $? in 1) echo differs;; 2) echo failed;; esac',
    },
    { description: 'The pools of a team', command: '<%= config.bin %> diff -l team=a' },
    { description: 'With what it does to pods', command: '<%= config.bin %> diff worker --impact' },
    {
      description: 'What pools of files would do once they are applied, as in a pull request',
      command: '<%= config.bin %> diff -f pools/ --impact',
    },
    { description: 'For a program', command: '<%= config.bin %> diff -o json' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    ...poolSelectorFlag,
    ...filenameFlags,
    impact: Flags.boolean({ summary: 'Also show which pods stop, start or are evicted, and what selects the nodes.' }),
    'impact-path': Flags.string({
      multiple: true,
      dependsOn: ['impact'],
      summary: 'A further field that names labels of nodes.',
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

/** The pools of -f, which are valid; undefined without it. */
async function declaredPools(
  { filename, selector, recursive }: FlagsOf<typeof Diff>,
  names: readonly string[] | undefined,
  { io, requestTimeoutMs }: Deps,
) {
  if (filename === undefined) return undefined;
  if ((names ?? []).length > 0 || selector !== undefined)
    throw new NodepoolError('usage', '-f takes the pools from files; names and -l do not go with it', 'leave them out');
  const { readDeclared } = await import('../shared/create/pool-files.ts');
  return readDeclared(filename, io, { urlDeadlineMs: requestTimeoutMs, recursive });
}
