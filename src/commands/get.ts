import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg } from '../cli/flags.ts';

export default class Get extends BaseCommand<typeof Get> {
  static override summary = 'List pools: status, nodes, allocatable resources, taints.';
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> get' },
    { description: 'With handler, selector and more', command: '<%= config.bin %> get -o wide' },
    { description: 'One pool as YAML', command: '<%= config.bin %> get worker -o yaml' },
    { description: 'Names of the pools of a team', command: '<%= config.bin %> get -l team=a -o name' },
    { description: 'All pools, and each again as it changes', command: '<%= config.bin %> get --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    output: Flags.option({
      options: ['wide', 'json', 'yaml', 'name'] as const,
      char: 'o',
      summary: 'Output format.',
      helpValue: 'wide|json|yaml|name',
    })(),
    'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }),
    watch: Flags.boolean({ char: 'w', summary: 'Then show every pool that changes, until Ctrl-C.' }),
    selector: Flags.string({ char: 'l', summary: 'Only pools with these labels: a=b,c!=d,e.', helpValue: 'SELECTOR' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Get>,
    args: ArgsOf<typeof Get>,
    { io, connect }: Deps,
  ): Promise<number> {
    const { getPools } = await import('../operations/get.ts');
    const names = args.name ?? [];
    const { output, selector } = flags;
    const connection = await connect();
    const { pools, missing } = await getPools({ names, selector }, connection);
    if (flags.watch && missing.length === 0) {
      const { showPoolChanges } = await import('../cli/show-changes.ts');
      const { 'no-headers': noHeaders, verbosity } = flags;
      return showPoolChanges({ names, selector, output, headers: !noHeaders, verbosity }, io, connection);
    }
    if (output === 'json' || output === 'yaml' || output === 'name') {
      const { printObjects } = await import('../render/printers.ts');
      const text = printObjects(pools, output, names.length !== 1);
      if (text !== '' && (pools.length > 0 || names.length === 0)) io.out(text);
    } else if (pools.length > 0) {
      const { renderPools } = await import('../render/pools.ts');
      const { makeStyle } = await import('../render/style.ts');
      const options = { wide: output === 'wide', headers: !flags['no-headers'], now: io.now() };
      io.out(renderPools(pools, options, makeStyle(io.color)));
    } else if (names.length === 0) {
      io.err('No pools found.');
    }
    if (missing.length > 0) {
      const { errorLine } = await import('../cli/error-line.ts');
      for (const error of missing) io.err(errorLine(error));
    }
    return missing.length > 0 ? 1 : 0;
  }
}
