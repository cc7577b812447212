import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg } from '../cli/flags.ts';

export default class Describe extends BaseCommand<typeof Describe> {
  static override summary = 'Show pools in detail: spec, nodes, conditions, events.';
  static override examples = [
    { description: 'One pool', command: '<%= config.bin %> describe worker' },
    { description: 'All pools', command: '<%= config.bin %> describe' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };

  protected async execute(
    _flags: FlagsOf<typeof Describe>,
    args: ArgsOf<typeof Describe>,
    { io, connect }: Deps,
  ): Promise<number> {
    const { describe } = await import('../operations/describe.ts');
    const descriptions = await describe(args.name ?? [], await connect());
    if (descriptions.length === 0) {
      io.err('No pools found.');
      return 0;
    }
    const { droppedWarning } = await import('../nodepool/dropped-fields.ts');
    for (const { pool } of descriptions) {
      const warning = droppedWarning(pool);
      if (warning !== undefined) io.err(`warning: ${warning}`);
    }
    const { renderDescription } = await import('../render/describe.ts');
    const { makeStyle } = await import('../render/style.ts');
    const style = makeStyle(io.color);
    io.out(descriptions.map(description => renderDescription(description, io.now(), style)).join('\n\n'));
    return 0;
  }
}
