import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { optionalNameArg, outputFlag, poolName } from '../cli/flags.ts';
import { terminalWidth } from '../cli/io.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { oldestFirst } from '../operations/event-order.ts';
import { sanitizeLine } from '../render/sanitize.ts';

export default class Events extends BaseCommand<typeof Events> {
  static override summary = 'List the recent events of pools, oldest first.';
  static override description =
    'Lists the Events about NodePools that any controller or person reported. The API server keeps Events for an hour by default. -o json and -o yaml print the Event objects, as kubectl get does.';
  static override examples = [
    { description: 'Events of all pools', command: '<%= config.bin %> events' },
    { description: 'Events of one pool', command: '<%= config.bin %> events worker' },
    { description: 'Events of all pools, and new ones until Ctrl-C', command: '<%= config.bin %> events --watch' },
    { description: 'The Event objects', command: '<%= config.bin %> events worker -o json' },
  ];
  static override args = { name: optionalNameArg('Name of the pool; none means all.') };
  static override flags = {
    for: Flags.string({ summary: 'Name of the pool, as an argument.', helpValue: 'POOL', parse: poolName }),
    output: outputFlag('Print the Event objects.'),
    'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }),
    watch: Flags.boolean({ char: 'w', summary: 'After listing, watch for new and repeated events.' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Events>,
    args: ArgsOf<typeof Events>,
    { io, connect }: Deps,
  ): Promise<number> {
    const { output, verbosity, 'no-headers': noHeaders } = flags;
    const pool = args.name ?? flags.for;
    if (args.name !== undefined && flags.for !== undefined) {
      throw new NodepoolError('usage', 'a name and --for select the same thing', 'give one of the two');
    }
    const connection = await connect();
    const { events } = connection;
    const objects = output === undefined ? undefined : (await events.listObjects(pool)).toSorted(oldestFirst);
    const found = objects ?? (await events.list(pool)).toSorted(oldestFirst);
    if (found.length === 0) await connection.cluster.pools.assertServed();
    if (flags.watch) {
      const { showEventChanges } = await import('./events/watch.ts');
      return showEventChanges({ pool, output, headers: !noHeaders, verbosity }, io, connection);
    }
    if (output !== undefined) {
      const { printObjects } = await import('../render/printers.ts');
      const listed = (objects ?? []).map(({ object }) => object);
      io.out(printObjects(listed, output, true));
      return 0;
    }
    if (found.length === 0) {
      io.err(pool === undefined ? 'No events found.' : `No events found for pool ${sanitizeLine(pool)}.`);
      return 0;
    }
    const { eventsPrinter } = await import('../render/events.ts');
    const { makeStyle } = await import('../render/style.ts');
    io.out(eventsPrinter(!noHeaders, makeStyle(io.color), terminalWidth(io))(found, io.now()));
    return 0;
  }
}
