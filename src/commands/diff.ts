import { approver } from '../cli/approve.ts';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { warningLine } from '../cli/error-line.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg, outputFlag } from '../cli/flags.ts';
import { DIFF_EXIT_STATUS } from '../cli/report-error.ts';

export default class Diff extends BaseCommand<typeof Diff> {
  static override summary = 'Show what reconcile would change on the nodes, and why.';
  static override description =
    `It speaks of labels, taints and RuntimeClasses: a node that joins a pool or is taken over without a change of those is no difference.

${DIFF_EXIT_STATUS}`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> diff' },
    { description: 'One pool; in a script', command: '<%= config.bin %> diff worker >/dev/null || echo differs' },
    { description: 'For a program', command: '<%= config.bin %> diff -o json' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = { output: outputFlag('Print the differences as an object.') };

  protected async execute(
    { output }: FlagsOf<typeof Diff>,
    args: ArgsOf<typeof Diff>,
    { io, connect }: Deps,
  ): Promise<number> {
    const { diff } = await import('../operations/diff.ts');
    const { renderDiff } = await import('../render/diff.ts');
    const { makeStyle } = await import('../render/style.ts');
    const connection = await connect();
    const { plan, warnings } = await diff(args.name ?? [], connection);
    for (const warning of warnings) io.err(warningLine(warning));
    if (output !== undefined) {
      const { printDiff } = await import('../render/diff-data.ts');
      io.out(printDiff(plan, output));
    }
    const text = output === undefined ? renderDiff(plan, makeStyle(io.color), io.now()) : '';
    if (text !== '') io.out(text);
    await approver({ yes: false, dryRun: true }, io, connection.pods)({ plan });
    const nodes = plan.nodes.filter(({ changes }) => changes.length > 0);
    const changed = nodes.length + plan.runtimeClasses.filter(({ kind }) => kind !== 'foreign').length;
    return changed > 0 ? 1 : 0;
  }
}
