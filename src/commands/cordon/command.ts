import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import type { Deps } from '../../cli/factory.ts';
import { namesArg } from '../../cli/flags.ts';
import { maintenanceFlags, parseMaintenance } from '../shared/cordon/maintenance-flags.ts';
import { cordonFlags, showCordon } from '../shared/cordon/show-cordon.ts';

export default class Cordon extends BaseCommand<typeof Cordon> {
  static override summary = 'Mark the nodes of pools as unschedulable.';
  static override description =
    "The same as 'kubectl cordon' for each node. Pods on the nodes keep running; 'drain' evicts them. --reason or --until puts the nodes under maintenance by you: others see it, and need --takeover to cordon, drain or uncordon these nodes. Only 'uncordon' ends the maintenance.";
  static override examples = [
    { description: 'All nodes of a pool', command: '<%= config.bin %> cordon worker' },
    { description: 'Two nodes of a pool', command: '<%= config.bin %> cordon worker --node node-1 --node node-2' },
    { description: 'The nodes of the pools of a team', command: '<%= config.bin %> cordon -l team=a' },
    {
      description: 'Give a reason and an end',
      command: "<%= config.bin %> cordon worker --reason 'kernel upgrade' --until 18:00",
    },
    { description: 'Show what would change', command: '<%= config.bin %> cordon worker --dry-run' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = { ...cordonFlags, ...maintenanceFlags };

  protected async execute(flags: FlagsOf<typeof Cordon>, args: ArgsOf<typeof Cordon>, deps: Deps): Promise<number> {
    const maintenance = parseMaintenance(flags, deps.io.now());
    return showCordon({ pools: args.name, unschedulable: true, maintenance, takeover: flags.takeover }, flags, deps);
  }
}
