import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg, parseResources } from '../cli/flags.ts';

export default class Top extends BaseCommand<typeof Top> {
  static override summary = 'Show what pools have, what pods ask for and use, and what is free.';
  static override description =
    `Requests and limits are those of pods that have not ended, counted as the scheduler counts them. USED is there where the cluster serves metrics.k8s.io. FREE counts only nodes that take new pods: Ready and not cordoned. NODES is how many do, of how many.`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> top' },
    { description: 'Each node of a pool', command: '<%= config.bin %> top gpu --nodes' },
    { description: 'The fullest pools first', command: '<%= config.bin %> top --sort-by memory' },
    {
      description: 'Free GPUs',
      command: '<%= config.bin %> top --resources nvidia.com/gpu --sort-by nvidia.com/gpu.free',
    },
    { description: 'Numbers for a spreadsheet', command: '<%= config.bin %> top --nodes -o csv' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all, and the nodes of no pool.') };
  static override flags = {
    nodes: Flags.boolean({ summary: 'Show each node.' }),
    resources: Flags.string({
      summary: 'Resources to show: names with commas between, or all; else cpu, memory, pods and GPUs.',
      helpValue: 'NAMES|all',
    }),
    'sort-by': Flags.string({
      default: 'name',
      summary: 'name, nodes, RESOURCE (the fullest first) or RESOURCE.MEASURE, as cpu.free (the most first).',
      helpValue: 'KEY',
    }),
    'no-pods': Flags.boolean({ summary: 'Read neither pods nor usage: only what is allocatable is known then.' }),
    output: Flags.option({
      options: ['json', 'csv'] as const,
      char: 'o',
      summary: 'Output format: exact quantities.',
      helpValue: 'json|csv',
    })(),
    'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }),
    selector: Flags.string({ char: 'l', summary: 'Only pools with these labels: a=b,c!=d,e.', helpValue: 'SELECTOR' }),
  };

  protected async execute(flags: FlagsOf<typeof Top>, args: ArgsOf<typeof Top>, deps: Deps): Promise<number> {
    const { showTop } = await import('../cli/show-top.ts');
    const { nodes, output, selector, 'no-pods': noPods, 'sort-by': sortBy } = flags;
    const resources = flags.resources === undefined ? ('usual' as const) : parseResources(flags.resources);
    const options = { names: args.name ?? [], selector, pods: !noPods, nodes, resources, sortBy };
    return showTop({ options, output, headers: !flags['no-headers'] }, deps);
  }
}
