import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { namesArg, noHeadersFlag, outputFlag, poolName } from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { parsePoolChoice, poolSelectorFlag, showNoPools } from '../shared/pools/choose-pools.ts';

export default class Events extends BaseCommand<typeof Events> {
  static override summary = 'List the recent events of pools, oldest first.';
  static override description =
    "Lists the Events about NodePools. The API server keeps Events for an hour by default; 'history' shows them together with other changes of a pool. -o json and -o yaml print the Event objects, as kubectl get does.";
  static override examples = [
    { description: 'Events of all pools', command: '<%= config.bin %> events' },
    { description: 'Events of two pools', command: '<%= config.bin %> events worker gpu' },
    { description: 'Events of the pools of a team', command: '<%= config.bin %> events -l team=a' },
    { description: 'Events of all pools, then watch for new ones', command: '<%= config.bin %> events --watch' },
    { description: 'The Event objects', command: '<%= config.bin %> events worker -o json' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    ...poolSelectorFlag,
    for: Flags.string({ summary: 'Name of the pool; the same as the argument.', helpValue: 'POOL', parse: poolName }),
    output: outputFlag('Print the Event objects.'),
    'no-headers': noHeadersFlag,
    watch: Flags.boolean({ char: 'w', summary: 'After listing, watch for new and repeated events.' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Events>,
    args: ArgsOf<typeof Events>,
    { io, connect, requestTimeoutMs }: Deps,
  ): Promise<number> {
    const { output, verbosity, 'no-headers': noHeaders } = flags;
    const named = args.name ?? (flags.for === undefined ? [] : [flags.for]);
    if (args.name !== undefined && flags.for !== undefined) {
      throw new NodepoolError('usage', 'a name and --for cannot be used together', 'use one of the two');
    }
    const choice = parsePoolChoice(named, flags, { all: true });
    const connection = await connect();
    const { namesUnlessAll } = await import('../shared/pools/choose-pools.ts');
    const pools = await namesUnlessAll(choice, connection.cluster.pools);
    const isNone = pools?.length === 0;
    if (isNone) showNoPools(io);
    const { chosenEvents, eventsPrinter, ofPools } = await import('./run.ts');
    const events = chosenEvents(pools, { ...connection.cluster, events: connection.events });
    const objects = output === undefined ? undefined : await events.listObjects();
    const found = objects ?? (await events.list());
    if (flags.watch && !isNone) {
      const { showEventChanges } = await import('./watch.ts');
      return showEventChanges({ pools, output, headers: !noHeaders, verbosity, requestTimeoutMs }, io, events);
    }
    if (output !== undefined) {
      const { printObjects } = await import('../../print/printers.ts');
      const listed = (objects ?? []).map(({ object }) => object);
      io.out(printObjects(listed, output, true));
      return 0;
    }
    if (found.length === 0) {
      if (!isNone) io.err(`No events found${ofPools(pools)}.`);
      return 0;
    }
    io.out(eventsPrinter(!noHeaders, io)(found, io.serverNow()));
    return 0;
  }
}
