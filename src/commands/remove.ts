import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { nameArg, nodesArg } from '../cli/flags.ts';
import { moveFlags, showMoves } from './shared/show-moves.ts';

export default class Remove extends BaseCommand<typeof Remove> {
  static override summary = 'Take nodes out of a pool.';
  static override description =
    "One write a node takes away the labels by which it is a member, and what the pool had set; what that displaced comes back. A node that another pool matches, too, is that pool's then.";
  static override examples = [
    { description: 'Two nodes', command: '<%= config.bin %> remove gpu node-a node-b' },
    { description: 'Those with a label', command: '<%= config.bin %> remove gpu -l old=true' },
    { description: 'See what would change', command: '<%= config.bin %> remove gpu node-a --dry-run' },
  ];
  static override args = { pool: nameArg('Name of the pool.'), node: nodesArg() };
  static override flags = moveFlags;

  protected async execute(flags: FlagsOf<typeof Remove>, args: ArgsOf<typeof Remove>, deps: Deps): Promise<number> {
    return showMoves({ kind: 'remove', pool: args.pool, nodes: args.node ?? [], from: undefined }, flags, deps);
  }
}
