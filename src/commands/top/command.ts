import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { EXIT, warningLine, warnOnce } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { labelColumnsFlag, namesArg, noHeadersFlag, parseResources } from '../../cli/flags.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { firstWarnings } from '../../nodepool/text.ts';
import { nodesText } from '../../print/names.ts';
import { formatDuration } from '../../print/time.ts';
import { poolSelectorFlag } from '../shared/pools/choose-pools.ts';
import type { TopResult as Figures, TopOptions } from '../shared/top/top.ts';

/** Interval of --watch: kubelets report usage every 15 s, but pods change more often. */
const SECONDS = 5;

interface TopOutput {
  options: TopOptions;
  /** Undefined: a table. */
  output: 'json' | 'yaml' | 'csv' | undefined;
  headers: boolean;
  /** Node labels with a column each. */
  labels: readonly string[];
  /** A line for each resource instead of columns. */
  byResource: boolean;
}

export default class Top extends BaseCommand<typeof Top> {
  static override summary = 'Show requested, used and free resources of pools.';
  static override description =
    `Requests and limits of running pods, counted by the scheduler's rules. NODES, FREE and FIT count nodes that accept new pods (Ready and not cordoned). FIT is the largest free amount on one node: a pod that requests more cannot be scheduled now. USED needs metrics.k8s.io. A terminal omits columns that do not fit; a pipe shows all.`;
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> top' },
    { description: 'A line for each resource, with limits', command: '<%= config.bin %> top --by resource' },
    { description: 'Each node of a pool', command: '<%= config.bin %> top gpu --nodes' },
    {
      description: 'The pods of a pool by requested CPU',
      command: '<%= config.bin %> top gpu --pods --sort-by cpu.requested',
    },
    {
      description: 'Free GPUs',
      command: '<%= config.bin %> top --resources nvidia.com/gpu --sort-by nvidia.com/gpu.free',
    },
    {
      description: 'The nodes of a pool with their zones, refreshed every 5 s',
      command: '<%= config.bin %> top gpu --nodes -L topology.kubernetes.io/zone --watch',
    },
    { description: 'Numbers for a spreadsheet', command: '<%= config.bin %> top --nodes -o csv' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all pools and unassigned nodes.') };
  static override flags = {
    nodes: Flags.boolean({ summary: 'Show each node.', exclusive: ['pods'] }),
    pods: Flags.boolean({ summary: 'Show each pod.', exclusive: ['nodes', 'no-pods', 'by'] }),
    by: Flags.option({
      options: ['resource'] as const,
      summary: 'A line for each resource, with limits.',
      helpValue: 'resource',
    })(),
    resources: Flags.string({
      summary: 'Resources to show: comma-separated names, or all. Default: cpu, memory, pods and accelerators.',
      helpValue: 'NAME,…|all',
    }),
    'sort-by': Flags.string({
      default: 'name',
      summary:
        'Sort by name, nodes, RESOURCE (highest requested percentage first) or RESOURCE.MEASURE, such as cpu.free.',
      helpValue: 'KEY',
    }),
    'no-pods': Flags.boolean({ summary: 'Skip pods and metrics; show allocatable only.' }),
    output: Flags.option({
      options: ['json', 'yaml', 'csv'] as const,
      char: 'o',
      summary: 'Output format, with exact quantities.',
      helpValue: 'json|yaml|csv',
    })(),
    'label-columns': labelColumnsFlag,
    'no-headers': noHeadersFlag,
    watch: Flags.boolean({ char: 'w', summary: `Refresh every ${SECONDS} s.` }),
    ...poolSelectorFlag,
  };

  protected async execute(flags: FlagsOf<typeof Top>, args: ArgsOf<typeof Top>, deps: Deps): Promise<number> {
    const { nodes, pods: eachPod, by, output, selector, 'no-pods': noPods, 'sort-by': sortBy } = flags;
    const resources = flags.resources === undefined ? ('usual' as const) : parseResources(flags.resources);
    const options = { names: args.name ?? [], selector, pods: !noPods, nodes, eachPod, resources, sortBy };
    const labels = (flags['label-columns'] ?? []).filter(Boolean);
    if (labels.length > 0 && (by !== undefined || output !== undefined)) {
      const without = by === undefined ? `-o ${output}` : '--by';
      throw new NodepoolError('usage', `--label-columns cannot be combined with ${without}`, 'use one of the two');
    }
    if (flags.watch && output !== undefined) {
      throw new NodepoolError('usage', `--watch cannot be combined with -o ${output}`, 'leave out -o');
    }
    const shown = { options, output, labels, headers: !flags['no-headers'], byResource: by !== undefined };
    if (flags.watch) return watch(shown, flags.verbosity, deps);
    const found = await read(options, await deps.connect(), deps.progress);
    warnOnce(deps.io)(warningsIn(found));
    return show(found, shown, deps);
  }
}

const CLEAR = '\x1b[H\x1b[2J';

/** A terminal shows only the last table; a pipe gets each table that differs. Ends like other watches. */
async function watch(shown: TopOutput, verbosity: number, deps: Deps): Promise<number> {
  const { untilStopped } = await import('../shared/follow.ts');
  const { sleep } = await import('../../controller/clock.ts');
  const { io, requestTimeoutMs } = deps;
  const warn = warnOnce(io);
  // Errors of the command line and refusals end the command at the first read.
  const connection = await deps.connect();
  let found = await read(shown.options, connection, deps.progress);
  return untilStopped(
    async (signal, guarded, { clock, log }) => {
      let last: string | undefined;
      let readAt = clock.now();
      let failure: string | undefined;
      const { makeStyle } = await import('../../print/style.ts');
      const hint = makeStyle(io.color).dim(`Every ${SECONDS} s. Ctrl-C ends.`);
      const print = guarded((text: string) => {
        const warnings = warningsIn(found);
        // Not printed again if stderr is the same terminal.
        if (!io.stdoutIsTTY || !io.stderrIsTTY) {
          warn(warnings);
          if (failure !== undefined) log('warning', failure, {});
        }
        if (io.stdoutIsTTY) {
          const age = formatDuration(clock.now() - readAt);
          const notes = failure === undefined ? warnings : [...warnings, `${failure}; the table is ${age} old`];
          const lines = [...notes.map(note => warningLine(note, io.columns)), hint];
          io.stdout.write(CLEAR);
          io.out([text, ...lines].join('\n'));
        } else if (text !== last) io.out(last === undefined ? text : `\n${text}`);
        last = text;
      });
      while (!signal.aborted) {
        print(await tableOf(found, shown, deps));
        await sleep(clock, SECONDS * 1000, signal);
        if (signal.aborted) return;
        try {
          found = await read(shown.options, connection);
          readAt = clock.now();
          failure = undefined;
        } catch (error) {
          if (!(error instanceof NodepoolError)) throw error;
          failure = error.oneLine;
        }
      }
    },
    { verbosity, requestTimeoutMs },
    io,
  );
}

async function read(options: TopOptions, connection: Connection, progress?: Deps['progress']): Promise<Figures> {
  const { systemClock } = await import('../../controller/clock.ts');
  const { top } = await import('../shared/top/top.ts');
  // Reading only nodes is too fast for a spinner.
  const spinner = options.pods ? await progress?.('Reading nodes and pods') : undefined;
  return top(options, { ...connection, clock: systemClock }).finally(() => spinner?.stop());
}

export function warningsIn({ warnings, usage, podUsage, pools }: Figures): string[] {
  const failure = [podUsage, usage].find(each => each?.kind === 'failed');
  const names = pools.flatMap(({ members }) => members.map(({ name }) => name));
  const unmeasured = usage?.kind === 'served' ? names.filter(name => !usage.byNode.has(name)) : [];
  return [
    ...firstWarnings(warnings),
    ...(failure?.kind === 'failed' ? [`no usage: metrics.k8s.io: ${failure.reason}`] : []),
    ...(unmeasured.length > 0 ? [`USED% leaves out ${nodesText(unmeasured)} without metrics`] : []),
  ];
}

async function show(found: Figures, shown: TopOutput, deps: Deps): Promise<number> {
  const { options, output, headers } = shown;
  const { io } = deps;
  if (output !== undefined) {
    const { printTop, topCsv } = await import('../shared/top/top-data.ts');
    const rows = options.eachPod ? 'pods' : options.nodes ? 'nodes' : 'pools';
    io.out(output === 'csv' ? topCsv(found, { rows, headers }) : printTop(found, rows, output));
    return EXIT.done;
  }
  const nothing = whatIsMissing(found, options);
  if (nothing === undefined) io.out(await tableOf(found, shown, deps));
  else io.err(`No ${nothing} found.`);
  return EXIT.done;
}

async function tableOf(found: Figures, shown: TopOutput, { io }: Deps): Promise<string> {
  const { options, headers, labels } = shown;
  const nothing = whatIsMissing(found, options);
  if (nothing !== undefined) return `No ${nothing} found.`;
  const { makeStyle } = await import('../../print/style.ts');
  const { barGlyphs } = await import('../../print/bar.ts');
  const terminal = io.stdoutIsTTY ? { columns: io.columns, glyphs: barGlyphs(io.env) } : undefined;
  const table = { headers, everyResource: Array.isArray(options.resources), terminal, labelColumns: labels };
  const render = await rendererOf(shown);
  return render(found, table, makeStyle(io.color));
}

function whatIsMissing({ pools, nodes, pods }: Figures, options: TopOptions): string | undefined {
  if (pools.length === 0) return 'pools';
  if (options.nodes && nodes.length === 0) return 'nodes';
  return options.eachPod && pods.length === 0 ? 'pods' : undefined;
}

async function rendererOf({ options, byResource }: TopOutput) {
  if (byResource) {
    const { renderNodeResources, renderPoolResources } = await import('./print.ts');
    return options.nodes ? renderNodeResources : renderPoolResources;
  }
  const { renderTopNodes, renderTopPods, renderTopPools } = await import('./print.ts');
  if (options.eachPod) return renderTopPods;
  return options.nodes ? renderTopNodes : renderTopPools;
}
