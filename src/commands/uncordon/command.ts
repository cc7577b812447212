import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { namesArg, yesFlag } from '../../cli/flags.ts';
import { takeoverFlag } from '../shared/cordon/maintenance-flags.ts';
import { cordonFlags, showCordon } from '../shared/cordon/show-cordon.ts';

export default class Uncordon extends BaseCommand<typeof Uncordon> {
  static override summary = 'Mark the nodes of pools as schedulable.';
  static override description =
    "The same as 'kubectl uncordon' for each node. If something else cordoned a node, uncordon asks first; scripts need --yes. uncordon also ends a maintenance; a maintenance by somebody else needs --takeover. A node that was cordoned before its maintenance stays cordoned.";
  static override examples = [
    { description: 'All nodes of a pool', command: '<%= config.bin %> uncordon worker' },
    { description: 'Two nodes of a pool', command: '<%= config.bin %> uncordon worker --node node-1 --node node-2' },
    { description: 'The nodes of the pools of a team', command: '<%= config.bin %> uncordon -l team=a' },
    { description: 'Show what would change', command: '<%= config.bin %> uncordon worker --dry-run' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...cordonFlags,
    takeover: takeoverFlag,
    yes: yesFlag('Scripts need --yes to remove cordons by others.'),
  };

  protected async execute(flags: FlagsOf<typeof Uncordon>, args: ArgsOf<typeof Uncordon>, deps: Deps): Promise<number> {
    return showCordon({ pools: args.name, unschedulable: false, takeover: flags.takeover }, flags, deps);
  }
}
