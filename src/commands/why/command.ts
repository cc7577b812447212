import * as Args from '@oclif/core/args';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT } from '../../cli/errors.ts';
import type { Deps } from '../../cli/factory.ts';
import { nodeName, optionalNameArg, outputFlag } from '../../cli/flags.ts';

export default class Why extends BaseCommand<typeof Why> {
  static override summary = 'Explain why a node is in a pool, or is not.';
  static override description =
    'Compares the selector of each pool with the labels of the node, part by part, and points out near misses. For the owner, why also shows what the pool set, and what the next reconcile would change. A short node name such as ip-10-0-1-15 is enough.';
  static override examples = [
    { description: 'Of all pools', command: '<%= config.bin %> why node-a' },
    { description: 'Of one pool', command: '<%= config.bin %> why node-a gpu' },
    { description: 'For a script', command: '<%= config.bin %> why node-a -o json' },
  ];
  static override args = {
    node: Args.string({ ignoreStdin: true, required: true, parse: nodeName, description: 'Name of the node.' }),
    pool: optionalNameArg('Name of the pool; none means all.'),
  };
  static override flags = { output: outputFlag('Print the explanation as an object.') };

  protected async execute({ output }: FlagsOf<typeof Why>, args: ArgsOf<typeof Why>, deps: Deps): Promise<number> {
    const { showWhy } = await import('../shared/describe/why.ts');
    await showWhy(args.node, args.pool === undefined ? [] : [args.pool], output, deps);
    return EXIT.done;
  }
}
