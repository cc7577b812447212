import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { nodesArg } from '../../cli/flags.ts';
import { moveFlags, showMoves } from '../shared/move/show-moves.ts';

export default class Move extends BaseCommand<typeof Move> {
  static override summary = 'Move nodes to another pool.';
  static override description =
    "One write per node changes the labels of the node selectors, and applies the new pool's labels and taints. The same write removes what the old pool set, so no node is without a pool in between.";
  static override examples = [
    { description: 'One node', command: '<%= config.bin %> move node-a --to gpu' },
    { description: 'All nodes of a pool', command: '<%= config.bin %> move --from old --to new' },
    {
      description: 'Some nodes of a pool, without a prompt about evictions',
      command: '<%= config.bin %> move -l zone=a --from old --to new --yes',
    },
  ];
  static override args = { node: nodesArg() };
  static override flags = {
    to: Flags.string({ required: true, summary: 'Pool to move the nodes to.', helpValue: 'POOL' }),
    from: Flags.string({
      summary: 'Only nodes of this pool; without names and -l, all its nodes.',
      helpValue: 'POOL',
    }),
    ...moveFlags,
  };

  protected async execute(flags: FlagsOf<typeof Move>, args: ArgsOf<typeof Move>, deps: Deps): Promise<number> {
    return showMoves({ kind: 'move', pool: flags.to, nodes: args.node ?? [], from: flags.from }, flags, deps);
  }
}
