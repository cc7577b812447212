import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { namesArg } from '../../cli/flags.ts';
import { poolSelectorFlag } from '../shared/pools/choose-pools.ts';

export default class ReportCommand extends BaseCommand<typeof ReportCommand> {
  static override summary = 'Write an HTML page about the pools.';
  static override description =
    'One HTML page without scripts: status and conditions of pools, maintenance, drift and who set the values, conflicts, capacity, and Events of the last hour. The page loads nothing from elsewhere, so you can print, send or attach it. Each table lists at most 100 nodes.';
  static override examples = [
    { description: 'A page about all pools', command: '<%= config.bin %> report > pools.html' },
    { description: 'A page about the pools of a team', command: '<%= config.bin %> report -l team=a > team-a.html' },
    { description: 'The same data as JSON', command: '<%= config.bin %> report -o json' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all pools and unassigned nodes.') };
  static override flags = {
    ...poolSelectorFlag,
    output: Flags.option({
      options: ['html', 'json', 'yaml'] as const,
      char: 'o',
      default: 'html' as const,
      summary: 'Output format.',
      helpValue: 'html|json|yaml',
    })(),
  };

  protected async execute(
    { selector, output }: FlagsOf<typeof ReportCommand>,
    args: ArgsOf<typeof ReportCommand>,
    { io, connect, progress, version }: Deps,
  ): Promise<number> {
    const { systemClock } = await import('../../controller/clock.ts');
    const { report } = await import('./run.ts');
    const connection = await connect();
    const spinner = await progress('Reading nodes, pods and Events');
    const deps = { ...connection, clock: systemClock, now: () => io.now() };
    const found = await report({ names: args.name ?? [], selector }, deps).finally(() => spinner.stop());
    if (output === 'html') {
      const { renderPage } = await import('./page.ts');
      io.out(renderPage(found, version));
    } else {
      const { printReport } = await import('./data.ts');
      io.out(printReport(found, output));
    }
    return EXIT.done;
  }
}
