import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { warningLine } from '../cli/error-line.ts';
import type { Deps } from '../cli/factory.ts';
import { namesArg, parseResources } from '../cli/flags.ts';
import { EXIT } from '../cli/report-error.ts';
import { andMore } from '../nodepool/plural.ts';
import type { Top as Figures, TopOptions } from '../operations/top.ts';

/** Warnings shown: thousands of pods can have the same error. */
const MAX_WARNINGS = 10;

interface Shown {
  options: TopOptions;
  /** Undefined: a table. */
  output: 'json' | 'yaml' | 'csv' | undefined;
  headers: boolean;
}

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
      options: ['json', 'yaml', 'csv'] as const,
      char: 'o',
      summary: 'Output format: exact quantities.',
      helpValue: 'json|yaml|csv',
    })(),
    'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }),
    selector: Flags.string({ char: 'l', summary: 'Only pools with these labels: a=b,c!=d,e.', helpValue: 'SELECTOR' }),
  };

  protected async execute(flags: FlagsOf<typeof Top>, args: ArgsOf<typeof Top>, deps: Deps): Promise<number> {
    const { nodes, output, selector, 'no-pods': noPods, 'sort-by': sortBy } = flags;
    const resources = flags.resources === undefined ? ('usual' as const) : parseResources(flags.resources);
    const options = { names: args.name ?? [], selector, pods: !noPods, nodes, resources, sortBy };
    const found = await read(options, deps);
    return show(found, { options, output, headers: !flags['no-headers'] }, deps);
  }
}

async function read(options: TopOptions, { io, connect, progress }: Deps): Promise<Figures> {
  const { systemClock } = await import('../controller/clock.ts');
  const { top } = await import('../operations/top.ts');
  const connection = await connect();
  // Nodes alone are read too fast for a spinner.
  const spinner = options.pods ? await progress('Reading nodes and pods') : undefined;
  const found = await top(options, { ...connection, clock: systemClock }).finally(() => spinner?.stop());
  const { warnings, usage } = found;
  for (const warning of warnings.slice(0, MAX_WARNINGS)) io.err(warningLine(warning));
  if (warnings.length > MAX_WARNINGS) io.err(warningLine(andMore(warnings.length - MAX_WARNINGS)));
  if (usage?.kind === 'failed') io.err(warningLine(`no usage: metrics.k8s.io: ${usage.reason}`));
  return found;
}

async function show(found: Figures, { options, output, headers }: Shown, { io }: Deps): Promise<number> {
  const withNodes = options.nodes;
  if (output !== undefined) {
    const { printTop, topCsv } = await import('../render/top-data.ts');
    io.out(output === 'csv' ? topCsv(found, { withNodes, headers }) : printTop(found, withNodes, output));
    return EXIT.done;
  }
  if (found.pools.length === 0 || (withNodes && found.nodes.length === 0)) {
    io.err(found.pools.length === 0 ? 'No pools found.' : 'No nodes found.');
    return EXIT.done;
  }
  const { renderTopNodes, renderTopPools } = await import('../render/top.ts');
  const { makeStyle } = await import('../render/style.ts');
  const { barGlyphs } = await import('../render/bar.ts');
  const bars = io.stdoutIsTTY ? { columns: io.columns, glyphs: barGlyphs(io.env) } : undefined;
  const table = { headers, everyResource: Array.isArray(options.resources), bars };
  io.out((withNodes ? renderTopNodes : renderTopPools)(found, table, makeStyle(io.color)));
  return EXIT.done;
}
