import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { nodesArg } from '../cli/flags.ts';
import { moveFlags, showMoves } from './shared/show-moves.ts';

export default class Move extends BaseCommand<typeof Move> {
  static override summary = 'Move nodes from their pool to another.';
  static override description =
    'One write a node changes the labels by which it is a member, takes back what the old pool had set and sets what the new one says: a node never stands between two pools.';
  static override examples = [
    { description: 'One node', command: '<%= config.bin %> move node-a --to gpu' },
    { description: 'All nodes of a pool', command: '<%= config.bin %> move --from old --to new' },
    {
      description: 'Some of them, without being asked about evictions',
      command: '<%= config.bin %> move -l zone=a --from old --to new --yes',
    },
  ];
  static override args = { node: nodesArg() };
  static override flags = {
    to: Flags.string({ required: true, summary: 'The pool that gets the nodes.', helpValue: 'POOL' }),
    from: Flags.string({
      summary: 'Only nodes of this pool; without names and -l, all of them.',
      helpValue: 'POOL',
    }),
    ...moveFlags,
  };

  protected async execute(flags: FlagsOf<typeof Move>, args: ArgsOf<typeof Move>, deps: Deps): Promise<number> {
    return showMoves({ kind: 'move', pool: flags.to, nodes: args.node ?? [], from: flags.from }, flags, deps);
  }
}
