import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { showError, showNote, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { formatFlag, labelColumnsFlag, namesArg, noHeadersFlag, parseResources } from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import type { RawPool } from '../../kube/cluster.ts';
import type { MaintenanceCounts } from '../../nodepool/drain/maintenance.ts';
import { NodepoolError, type Warning } from '../../nodepool/errors.ts';
import { hasLostFields, LOST_FIELDS, MEND_LOST_FIELDS } from '../../nodepool/membership/membership.ts';
import { droppedFields, droppedWarning } from '../../nodepool/spec/schema.ts';
import { noun, plural } from '../../nodepool/text.ts';
import { poolSelectorFlag } from '../shared/pools/choose-pools.ts';
import type { PoolOutput, PoolsTableOptions } from './print.ts';

export default class Get extends BaseCommand<typeof Get> {
  static override summary = 'List pools with their nodes, resources and taints.';
  static override description =
    'Values of -o, as for kubectl get: json, yaml, name, wide, jsonpath=TEMPLATE, jsonpath-file=FILE, ' +
    'jsonpath-as-json=TEMPLATE, custom-columns=HEADER:PATH,… and custom-columns-file=FILE. ' +
    'On a terminal, the table is cut to its width; -o wide and a pipe show every column.';
  static override examples = [
    { description: 'All pools', command: '<%= config.bin %> get' },
    { description: 'With handler, selector, extended resources and more', command: '<%= config.bin %> get -o wide' },
    { description: 'One pool as YAML', command: '<%= config.bin %> get worker -o yaml' },
    { description: 'Names of the pools with a label', command: '<%= config.bin %> get -l team=a -o name' },
    {
      description: 'Names of the pools with a handler',
      command: `<%= config.bin %> get -o jsonpath='{.items[?(@.spec.handler=="runc")].metadata.name}'`,
    },
    {
      description: 'In custom columns, the largest pool last',
      command:
        '<%= config.bin %> get --sort-by .status.nodeCount -o custom-columns=POOL:.metadata.name,NODES:.status.nodeCount',
    },
    { description: 'All resources of the pools', command: '<%= config.bin %> get --resources all' },
    { description: 'List pools, then watch for changes', command: '<%= config.bin %> get --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    output: formatFlag,
    'sort-by': Flags.string({
      summary: 'Sort by this JSONPath, as .status.nodeCount.',
      helpValue: 'PATH',
    }),
    ...poolSelectorFlag,
    'field-selector': Flags.string({
      summary: 'Select pools by fields: metadata.name!=a.',
      helpValue: 'SELECTOR',
    }),
    resources: Flags.string({
      summary: 'Resources to show; default CPU, memory, pods.',
      helpValue: 'NAME,…|all',
    }),
    'label-columns': labelColumnsFlag,
    'show-labels': Flags.boolean({ summary: 'Show all labels in the last column.' }),
    'no-headers': noHeadersFlag,
    'ignore-not-found': Flags.boolean({ summary: 'Ignore pools that are not found.' }),
    watch: Flags.boolean({ char: 'w', summary: 'After listing, watch for changes.' }),
    'watch-only': Flags.boolean({ summary: 'Watch for changes without listing first.' }),
    'output-watch-events': Flags.boolean({ summary: 'With -w: show the type of each event.' }),
  };

  protected async execute(
    flags: FlagsOf<typeof Get>,
    args: ArgsOf<typeof Get>,
    { io, connect, requestTimeoutMs }: Deps,
  ): Promise<number> {
    const names = args.name ?? [];
    const asList = names.length !== 1;
    const output = await outputOf(flags, io.stdoutIsTTY);
    const path = flags['sort-by'];
    const order = path ? (await import('../shared/pools/sort-pools.ts')).poolOrder(path) : undefined;
    const sort = (pools: RawPool[]) => (asList && order !== undefined ? order(pools) : pools);
    const { getPools } = await import('../shared/pools/choose-pools.ts');
    const { selector, 'field-selector': fieldSelector, 'ignore-not-found': ignoreNotFound } = flags;
    const meanwhile = () => void loadPrinter(output).catch(() => {});
    const connection = await connect({ meanwhile });
    const choice = { names, selector, fieldSelector, ignoreNotFound };
    const { pools, missing } = await getPools(choice, connection.cluster);
    const isWatch = flags.watch || flags['watch-only'];
    for (const pool of pools) {
      const warning = droppedWarning({ ...pool, dropped: droppedFields(pool) });
      if (warning !== undefined) showWarning(io, warning);
    }
    if (pools.some(hasLostFields)) showWarning(io, { message: LOST_FIELDS, next: MEND_LOST_FIELDS });
    const isNothing = pools.length === 0 && (ignoreNotFound || !asList);
    const hasNoMatch = isNothing && names.length > 0;
    if (isWatch && missing.length === 0 && !hasNoMatch) {
      const { showPoolChanges } = await import('./watch.ts');
      if (order !== undefined) showWarning(io, '--sort-by sorts the first list only, not the changes that follow');
      const { 'output-watch-events': asEvents, 'watch-only': changesOnly, verbosity } = flags;
      const counts = typeof output === 'object' && !changesOnly;
      const changes = {
        names,
        selector,
        fieldSelector,
        output,
        sort,
        asEvents,
        changesOnly,
        verbosity,
        requestTimeoutMs,
        matching: counts ? await matchingOf(pools, connection) : undefined,
      };
      return showPoolChanges(changes, io, connection);
    }
    const isAll = names.length === 0 && selector === undefined && fieldSelector === undefined;
    const counted = isWide(output) ? await withLiveCounts(pools, isAll, connection, io.now()) : undefined;
    if (counted?.refusal !== undefined) showWarning(io, oldCounts(counted.refusal));
    const shown = counted?.pools ?? pools;
    const maintenance = counted?.maintenance;
    const filled = isWide(output) ? { ...output, maintenance } : output;
    if (!isNothing) await printPools(sort(shown), asList, filled, io, connection);
    const late = overdueText(shown, maintenance);
    if (late !== undefined) showNote(io, late);
    if (pools.length === 0 && names.length === 0 && typeof output === 'object' && !ignoreNotFound) {
      io.err('No pools found.');
    }
    for (const error of missing) showError(io, error);
    return missing.length > 0 ? 1 : 0;
  }
}

function isWide(output: PoolOutput): output is PoolsTableOptions {
  return typeof output === 'object' && output.wide;
}

/** In wide output the nodes are read as they are: the status is as old as the last reconcile, and knows of no maintenance. */
interface LiveCounts {
  pools?: RawPool[];
  maintenance?: ReadonlyMap<string, MaintenanceCounts>;
  refusal?: NodepoolError;
}

/** @param isAll the pools are all that there are */
async function withLiveCounts(
  shown: RawPool[],
  isAll: boolean,
  { cluster }: Connection,
  now: Date,
): Promise<LiveCounts> {
  if (shown.length === 0) return {};
  const { liveCounts, withCounts } = await import('./live-counts.ts');
  const { coercePool } = await import('../../nodepool/spec/coerce.ts');
  const pools = shown.map(pool => coercePool(pool));
  const counted = await liveCounts(cluster, now, isAll ? pools : undefined);
  if ('refusal' in counted) return counted;
  return {
    pools: shown.map(pool => withCounts(pool, counted.value.get(pool.metadata.name))),
    maintenance: new Map([...counted.value].map(([name, { maintenance }]) => [name, maintenance])),
  };
}

/** Names the pools; undefined where nothing is overdue. */
function overdueText(pools: RawPool[], counts: LiveCounts['maintenance']): string | undefined {
  const late = pools.flatMap(({ metadata: { name } }) => {
    const overdue = counts?.get(name)?.overdue ?? 0;
    return overdue === 0 ? [] : [`${name} (${plural(overdue, 'node')})`];
  });
  if (late.length === 0) return undefined;
  return `Maintenance is overdue in ${noun(late.length, 'pool')} ${late.join(', ')}. See \`kubectl nodepool doctor\`.`;
}

function oldCounts({ oneLine, next }: NodepoolError): Warning {
  return { message: `the numbers of nodes and resources are as of the last reconcile: ${oneLine}`, next };
}

// The output format, and printing pools in it.

/** The format in the flags. Throws usage errors before the first request. */
async function outputOf(flags: FlagsOf<typeof Get>, isTerminal: boolean): Promise<PoolOutput> {
  const { output = '', resources, 'label-columns': labels = [], 'show-labels': showLabels } = flags;
  if (flags['output-watch-events'] && !flags.watch && !flags['watch-only']) {
    throw new NodepoolError('usage', '--output-watch-events needs --watch or --watch-only', 'add -w');
  }
  const headers = !flags['no-headers'];
  if (output === '' || output === 'wide') {
    const chosen = resources === undefined ? undefined : parseResources(resources);
    const labelColumns = labels.filter(Boolean);
    return { wide: output === 'wide', headers, resources: chosen, labelColumns, showLabels };
  }
  const ofTables = { '--show-labels': showLabels, '--resources': resources, '--label-columns': labels.length > 0 };
  for (const [flag, isSet] of Object.entries(ofTables)) {
    if (isSet) throw new NodepoolError('usage', `${flag} is for tables, and -o ${output} is none`);
  }
  if (output === 'json' || output === 'yaml' || output === 'name') return output;
  const { readTemplate } = await import('../shared/template.ts');
  return readTemplate(output, { headers, isTerminal });
}

/** The modules that print in the format. */
async function loadPrinter(output: PoolOutput): Promise<void> {
  if (typeof output === 'object') await Promise.all([import('./print.ts'), import('../../print/style.ts')]);
  else await import('../../print/printers.ts');
}

/** @param asList a List, even of one pool */
async function printPools(
  pools: RawPool[],
  asList: boolean,
  output: PoolOutput,
  io: Io,
  connection: Connection,
): Promise<void> {
  if (typeof output === 'function') {
    const { listOrObject } = await import('../../print/printers.ts');
    io.write(output()([listOrObject(pools, asList)]));
  } else if (typeof output === 'string') {
    const { printObjects } = await import('../../print/printers.ts');
    const text = printObjects(pools, output, asList);
    if (text !== '') io.out(text);
  } else if (pools.length > 0) {
    const { poolsPrinter, widthFor } = await import('./print.ts');
    const { makeStyle } = await import('../../print/style.ts');
    const matching = await matchingOf(pools, connection);
    io.out(
      poolsPrinter({ ...output, terminalWidth: widthFor(output, io), matching }, makeStyle(io.color))(pools, io.now()),
    );
  }
}

/** How many nodes match the pools that have no status; undefined where all have one. */
async function matchingOf(pools: RawPool[], connection: Connection): Promise<Map<string, number> | undefined> {
  // A status without counts is the CRD's default.
  if (pools.every(({ status }) => status?.nodeCount !== undefined)) return undefined;
  const { coercePool } = await import('../../nodepool/spec/coerce.ts');
  const { matchingNodes } = await import('../shared/pools/load-cluster-state.ts');
  return matchingNodes(pools.map(coercePool), connection);
}
