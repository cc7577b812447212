import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { optionalNameArg } from '../cli/flags.ts';
import { oldestFirst } from '../operations/event-order.ts';
import { sanitizeLine } from '../render/sanitize.ts';

export default class Events extends BaseCommand<typeof Events> {
  static override summary = 'List the recent events of pools, oldest first.';
  static override examples = [
    { description: 'Of all pools', command: '<%= config.bin %> events' },
    { description: 'Of one pool', command: '<%= config.bin %> events worker' },
    { description: 'Of all pools, and new ones as they come', command: '<%= config.bin %> events --watch' },
  ];
  static override args = { name: optionalNameArg('Name of the pool; none means all.') };
  static override flags = {
    'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }),
    watch: Flags.boolean({ char: 'w', summary: 'Then show every event that comes or repeats, until Ctrl-C.' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Events>,
    args: ArgsOf<typeof Events>,
    { io, connect }: Deps,
  ): Promise<number> {
    const connection = await connect();
    const found = (await connection.events.list(args.name)).toSorted(oldestFirst);
    if (found.length === 0) await connection.cluster.pools.assertServed();
    if (flags.watch) {
      const { showEventChanges } = await import('./events/watch.ts');
      const { 'no-headers': noHeaders, verbosity } = flags;
      return showEventChanges({ pool: args.name, headers: !noHeaders, verbosity }, io, connection);
    }
    if (found.length === 0) {
      io.err(args.name === undefined ? 'No events found.' : `No events found for pool ${sanitizeLine(args.name)}.`);
      return 0;
    }
    const { eventsPrinter } = await import('../render/events.ts');
    const { makeStyle } = await import('../render/style.ts');
    io.out(eventsPrinter(!flags['no-headers'], makeStyle(io.color))(found, io.now()));
    return 0;
  }
}
