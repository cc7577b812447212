import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { showErrors, showWarning } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { namesArg } from '../../cli/flags.ts';
import { type Io, terminalWidth } from '../../cli/io.ts';
import type { PoolFacts } from '../shared/describe/describe.ts';
import { parsePoolChoice, poolSelectorFlag, showNoPools } from '../shared/pools/choose-pools.ts';

export default class Describe extends BaseCommand<typeof Describe> {
  static override summary = 'Show pools in detail: spec, nodes, conditions, events.';
  static override examples = [
    { description: 'One pool', command: '<%= config.bin %> describe worker' },
    { description: 'All pools', command: '<%= config.bin %> describe' },
    { description: 'The pools of a team', command: '<%= config.bin %> describe -l team=a' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = poolSelectorFlag;

  protected async execute(
    flags: FlagsOf<typeof Describe>,
    args: ArgsOf<typeof Describe>,
    { io, connect }: Deps,
  ): Promise<number> {
    const { describe } = await import('../shared/describe/describe.ts');
    const { namesUnlessAll } = await import('../shared/pools/choose-pools.ts');
    const choice = parsePoolChoice(args.name, flags, { all: true });
    const connection = await connect();
    const names = await namesUnlessAll(choice, connection.cluster.pools);
    const none = { descriptions: [], warnings: [], missing: [] };
    const { descriptions, warnings, missing } = names?.length === 0 ? none : await describe(names ?? [], connection);
    if (descriptions.length + missing.length === 0) showNoPools(io);
    for (const warning of warnings) showWarning(io, warning);
    if (descriptions.length > 0) await show(descriptions, io);
    return showErrors(missing, io);
  }
}

async function show(descriptions: PoolFacts[], io: Io): Promise<void> {
  const { droppedWarning } = await import('../../nodepool/spec/schema.ts');
  for (const { pool } of descriptions) {
    const warning = droppedWarning(pool);
    if (warning !== undefined) showWarning(io, warning);
  }
  const { renderDescription } = await import('../shared/describe/print-describe.ts');
  const { makeStyle } = await import('../../print/style.ts');
  const [style, width] = [makeStyle(io.color), terminalWidth(io)];
  io.out(descriptions.map(description => renderDescription(description, io.serverNow(), style, width)).join('\n\n'));
}
