import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { namesArg } from '../../cli/flags.ts';
import { poolSelectorFlag } from '../shared/pools/choose-pools.ts';

export default class ReportCommand extends BaseCommand<typeof ReportCommand> {
  static override summary = 'Write a page about the pools, for a browser.';
  static override description =
    'One HTML page without scripts: pools with their status, conditions, maintenance, drift with who set the values, conflicts, capacity as top counts it, and the Events of the last hour. It can be printed, and has nothing from elsewhere, so it can be sent or attached. Of many nodes the first 100 are listed, and how many more there are.';
  static override examples = [
    { description: 'A page about all pools', command: '<%= config.bin %> report > pools.html' },
    { description: 'About the pools of a team', command: '<%= config.bin %> report -l team=a > team-a.html' },
    { description: 'The same as data', command: '<%= config.bin %> report -o json' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all, and the nodes of no pool.') };
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
