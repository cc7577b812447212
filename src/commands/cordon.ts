import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { dryRunFlag, namesArg, repeatedFlag } from '../cli/flags.ts';
import { parsePoolChoice, poolChoiceFlags } from '../cli/pool-choice.ts';
import { showCordon } from './shared/show-cordon.ts';

export default class Cordon extends BaseCommand<typeof Cordon> {
  static override summary = 'Close the nodes of pools to new pods.';
  static override description =
    "Marks them unschedulable, as kubectl cordon does. What runs on them stays; 'drain' takes it away.";
  static override examples = [
    { description: 'All nodes of a pool', command: '<%= config.bin %> cordon worker' },
    { description: 'Two of its nodes', command: '<%= config.bin %> cordon worker --node node-1 --node node-2' },
    { description: 'See which nodes it would be', command: '<%= config.bin %> cordon worker --dry-run' },
  ];
  static override args = { name: namesArg('Names of the pools.') };
  static override flags = {
    ...poolChoiceFlags,
    node: repeatedFlag({ summary: 'Only this node, which must be a member; repeatable.', helpValue: 'NAME' }),
    'dry-run': dryRunFlag('Change nothing: "client" only reads, "server" has the server validate it.'),
  };

  protected async execute(flags: FlagsOf<typeof Cordon>, args: ArgsOf<typeof Cordon>, deps: Deps): Promise<number> {
    const choice = { pools: parsePoolChoice(args.name, flags), nodes: flags.node ?? [], dryRun: flags['dry-run'] };
    return showCordon({ ...choice, unschedulable: true }, deps);
  }
}
