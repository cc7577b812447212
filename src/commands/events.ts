import { Flags } from '@oclif/core';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { optionalNameArg } from '../cli/flags.ts';

export default class Events extends BaseCommand<typeof Events> {
  static override summary = 'List the recent events of pools, oldest first.';
  static override examples = [
    { description: 'Of all pools', command: '<%= config.bin %> events' },
    { description: 'Of one pool', command: '<%= config.bin %> events worker' },
  ];
  static override args = { name: optionalNameArg('Name of the pool; none means all.') };
  static override flags = { 'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }) };

  protected async execute(
    flags: FlagsOf<typeof Events>,
    args: ArgsOf<typeof Events>,
    { io, connect }: Deps,
  ): Promise<number> {
    const { events } = await connect();
    const found = (await events.list(args.name)).toSorted((a, b) => (a.lastSeen < b.lastSeen ? -1 : 1));
    if (found.length === 0) {
      io.err(args.name === undefined ? 'No events found.' : `No events found for pool ${args.name}.`);
      return 0;
    }
    const { renderEvents } = await import('../render/events.ts');
    const { makeStyle } = await import('../render/style.ts');
    io.out(renderEvents(found, { headers: !flags['no-headers'], now: io.now() }, makeStyle(io.color)));
    return 0;
  }
}
