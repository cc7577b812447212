import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { nameArg, nodesArg } from '../../cli/flags.ts';
import { moveFlags, showMoves } from '../shared/move/show-moves.ts';

export default class Add extends BaseCommand<typeof Add> {
  static override summary = 'Add nodes to a pool.';
  static override description =
    "One write per node sets the labels of the pool's node selector, and the pool's labels and taints. 'add' refuses a node of another pool: use 'move'.";
  static override examples = [
    { description: 'Two nodes', command: '<%= config.bin %> add gpu node-a node-b' },
    { description: 'Nodes with a label', command: '<%= config.bin %> add gpu -l accelerator=a100' },
    { description: 'See what would change', command: '<%= config.bin %> add gpu node-a --dry-run' },
  ];
  static override args = { pool: nameArg('Name of the pool.'), node: nodesArg() };
  static override flags = moveFlags;

  protected async execute(flags: FlagsOf<typeof Add>, args: ArgsOf<typeof Add>, deps: Deps): Promise<number> {
    return showMoves({ kind: 'add', pool: args.pool, nodes: args.node ?? [], from: undefined }, flags, deps);
  }
}
