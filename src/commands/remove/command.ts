import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { nameArg, nodesArg } from '../../cli/flags.ts';
import { moveFlags, showMoves } from '../shared/move/show-moves.ts';

export default class Remove extends BaseCommand<typeof Remove> {
  static override summary = 'Remove nodes from a pool.';
  static override description =
    "One write per node removes the labels of the pool's node selector and what the pool set. Values that the pool replaced are restored. If another pool also matches the node, the node joins that pool.";
  static override examples = [
    { description: 'Two nodes', command: '<%= config.bin %> remove gpu node-a node-b' },
    { description: 'Nodes with a label', command: '<%= config.bin %> remove gpu -l old=true' },
    { description: 'See what would change', command: '<%= config.bin %> remove gpu node-a --dry-run' },
  ];
  static override args = { pool: nameArg('Name of the pool.'), node: nodesArg() };
  static override flags = moveFlags;

  protected async execute(flags: FlagsOf<typeof Remove>, args: ArgsOf<typeof Remove>, deps: Deps): Promise<number> {
    return showMoves({ kind: 'remove', pool: args.pool, nodes: args.node ?? [], from: undefined }, flags, deps);
  }
}
