import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg } from '../cli/flags.ts';
import { cordonFlags, showCordon } from './shared/show-cordon.ts';

export default class Cordon extends BaseCommand<typeof Cordon> {
  static override summary = 'Mark the nodes of pools as unschedulable.';
  static override description =
    "The same as 'kubectl cordon' for each node. Pods on the nodes keep running; 'drain' evicts them.";
  static override examples = [
    { description: 'All nodes of a pool', command: '<%= config.bin %> cordon worker' },
    { description: 'Two of its nodes', command: '<%= config.bin %> cordon worker --node node-1 --node node-2' },
    { description: 'The nodes of the pools of a team', command: '<%= config.bin %> cordon -l team=a' },
    { description: 'Show what would change', command: '<%= config.bin %> cordon worker --dry-run' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = cordonFlags;

  protected async execute(flags: FlagsOf<typeof Cordon>, args: ArgsOf<typeof Cordon>, deps: Deps): Promise<number> {
    return showCordon({ pools: args.name, unschedulable: true }, flags, deps);
  }
}
