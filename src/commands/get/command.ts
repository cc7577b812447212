import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { showError, showNote, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { formatFlag, labelColumnsFlag, namesArg, noHeadersFlag, parseResources } from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import type { RawPool } from '../../kube/cluster.ts';
import { NodepoolError, type Warning } from '../../nodepool/errors.ts';
import { readManagedFields } from '../../nodepool/managed-fields.ts';
import { hasLostFields, LOST_FIELDS, MEND_LOST_FIELDS } from '../../nodepool/membership/membership.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { droppedFields, droppedWarning } from '../../nodepool/spec/schema.ts';
import { noun, plural } from '../../nodepool/text.ts';
import { formatAge } from '../../print/time.ts';
import { poolSelectorFlag } from '../shared/pools/choose-pools.ts';
import { allPermitted, type ValueOrRefusal, valueOrRefusal } from '../shared/refusals.ts';
import type { LivePool } from './live-counts.ts';
import type { PoolOutput, PoolsTableOptions } from './print.ts';

export default class Get extends BaseCommand<typeof Get> {
  static override summary = 'List pools with their nodes, resources and taints.';
  static override description =
    'On a terminal, only -o wide shows all columns. Values of -o: json, yaml, name, wide, jsonpath=TEMPLATE, jsonpath-file=FILE, jsonpath-as-json=TEMPLATE, custom-columns=HEADER:PATH,… and custom-columns-file=FILE. kubectl itself prints go-template=…, go-template-file=… and kyaml.';
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
    { description: 'List pools, then watch for changes', command: '<%= config.bin %> get --watch' },
  ];
  static override args = { name: namesArg('Names of the pools; none means all.') };
  static override flags = {
    output: formatFlag,
    template: Flags.string({ summary: 'Template of -o go-template.', helpValue: 'TEMPLATE' }),
    'sort-by': Flags.string({
      summary: 'Sort by a JSONPath such as .status.nodeCount.',
      helpValue: 'PATH',
    }),
    ...poolSelectorFlag,
    'field-selector': Flags.string({
      summary: 'Select pools by fields: metadata.name!=a.',
      helpValue: 'SELECTOR',
    }),
    resources: Flags.string({
      summary: 'Resources; default CPU, memory, pods, GPUs.',
      helpValue: 'NAME,…|all',
    }),
    'label-columns': labelColumnsFlag,
    'show-labels': Flags.boolean({ summary: 'Show all labels in the last column.' }),
    'show-kind': Flags.boolean({ summary: 'Show the kind before each name.' }),
    'no-headers': noHeadersFlag,
    'ignore-not-found': Flags.boolean({ summary: 'Ignore pools that are not found.' }),
    cached: Flags.boolean({ summary: 'Show the last status; read no nodes.' }),
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
    if (output === 'kubectl') {
      // Reports the errors that other formats report, such as an empty --context.
      await connect();
      const { getByKubectl } = await import('./kubectl.ts');
      return getByKubectl(names, flags, io);
    }
    const path = flags['sort-by'];
    const order = path ? (await import('../shared/pools/sort-pools.ts')).poolOrder(path) : undefined;
    const sort = asList && order !== undefined ? order : undefined;
    const { getPools } = await import('../shared/pools/choose-pools.ts');
    const { selector, 'field-selector': fieldSelector, 'ignore-not-found': ignoreNotFound } = flags;
    const isWatch = flags.watch || flags['watch-only'];
    const isLive = typeof output === 'object' && !flags.cached && !flags['watch-only'];
    const meanwhile = () => void Promise.all([loadPrinter(output), ...(isLive ? [loadLive()] : [])]).catch(() => {});
    const connection = await connect({ meanwhile });
    const { cluster } = connection;
    const isAll = names.length === 0 && selector === undefined && fieldSelector === undefined;
    const reading = getPools({ names, selector, fieldSelector, ignoreNotFound }, cluster);
    const read = isLive ? readLive(cluster, isAll ? reading.then(({ pools }) => pools) : undefined) : undefined;
    const { pools, missing } = await reading;
    for (const pool of pools) {
      const warning = droppedWarning(isLive ? coercePool(pool) : { ...pool, dropped: droppedFields(pool) });
      if (warning !== undefined) showWarning(io, warning);
    }
    if (pools.some(hasLostFields)) showWarning(io, { message: LOST_FIELDS, next: MEND_LOST_FIELDS });
    const isNothing = pools.length === 0 && (ignoreNotFound || !asList);
    const hasNoMatch = isNothing && names.length > 0;
    const found = pools.length === 0 ? undefined : await read?.();
    if (found !== undefined && 'refusal' in found) showWarning(io, oldNumbers(found.refusal, pools, io.serverNow()));
    const live = found !== undefined && 'value' in found ? found.value : undefined;
    if (isWatch && missing.length === 0 && !hasNoMatch) {
      const { showPoolChanges } = await import('./watch.ts');
      if (order !== undefined) showWarning(io, '--sort-by sorts the first list only, not the changes that follow');
      const { 'output-watch-events': asEvents, 'watch-only': changesOnly, verbosity } = flags;
      const changes = {
        names,
        selector,
        fieldSelector,
        output,
        sort: sort ?? (listed => listed),
        asEvents,
        changesOnly,
        verbosity,
      };
      // Without pools, nothing has been counted yet.
      const isCounted = live !== undefined || (isLive && pools.length === 0);
      return showPoolChanges(
        { ...changes, requestTimeoutMs, live: isCounted ? new Map(live) : undefined },
        io,
        connection,
      );
    }
    if (!isNothing) await printPools(pools, asList, sort, withLiveOption(output, live), io);
    const late = isWide(output) ? overdueText(pools, live) : undefined;
    if (late !== undefined) showNote(io, late);
    if (pools.length === 0 && names.length === 0 && typeof output === 'object' && !ignoreNotFound) {
      io.err('No pools found.');
      if (isAll && io.stderrIsTTY) showNote(io, FIRST_POOL);
    }
    for (const error of missing) showError(io, error);
    return missing.length > 0 ? 1 : 0;
  }
}

const FIRST_POOL =
  'next: `kubectl nodepool adopt` finds node groups and creates pools for them; `kubectl nodepool create NAME` creates one pool';

function isWide(output: PoolOutput): output is PoolsTableOptions {
  return typeof output === 'object' && output.wide;
}

type Live = ReadonlyMap<string, LivePool>;

function withLiveOption(output: PoolOutput, live: Live | undefined): PoolOutput {
  return typeof output === 'object' ? { ...output, live } : output;
}

const loadLive = () => import('./live-counts.ts');

/**
 * Lists nodes and pools at the same time. @param listed the pools, if all are listed already
 * @returns waits for both; not called if pools do not exist
 */
function readLive(
  cluster: Connection['cluster'],
  listed: Promise<RawPool[]> | undefined,
): () => Promise<ValueOrRefusal<Live>> {
  const coerced = listed?.then(pools => pools.map(pool => coercePool(pool))) ?? cluster.pools.listCoerced();
  const reads = [coerced, cluster.nodes.list()] as const;
  for (const each of reads) each.catch(() => {});
  return () =>
    valueOrRefusal(async () => {
      const [pools, nodes] = await allPermitted(reads);
      const { livePools } = await loadLive();
      return livePools(cluster, pools, nodes);
    });
}

/** Names the pools; undefined if nothing is overdue. */
function overdueText(pools: RawPool[], live: Live | undefined): string | undefined {
  const late = pools.flatMap(({ metadata: { name } }) => {
    const overdue = live?.get(name)?.maintenance.overdue ?? 0;
    return overdue === 0 ? [] : [`${name} (${plural(overdue, 'node')})`];
  });
  if (late.length === 0) return undefined;
  return `Maintenance is overdue in ${noun(late.length, 'pool')} ${late.join(', ')}. See \`kubectl nodepool doctor\`.`;
}

/** Reports the age of the oldest status. */
function oldNumbers({ oneLine, next }: NodepoolError, pools: readonly RawPool[], now: Date): Warning {
  const times = pools.flatMap(pool => statusTime(pool) ?? []).toSorted();
  const age = times[0] === undefined ? '' : `, ${formatAge(times[0], now)} ago${times.length > 1 ? ' or later' : ''}`;
  return { message: `STATUS and the node counts are from the last reconcile${age}: ${oneLine}`, next };
}

/** When the status was last written, in RFC 3339. */
function statusTime({ metadata }: RawPool): string | undefined {
  const managers = readManagedFields((metadata as { managedFields?: unknown }).managedFields);
  const times = managers.flatMap(({ subresource, time }) => (subresource === 'status' ? (time ?? []) : []));
  return times.toSorted().at(-1);
}

// The output format, and printing pools in it.

const OF_KUBECTL = ['go-template', 'go-template-file', 'template', 'templatefile', 'kyaml'];

/** The format in the flags, or `kubectl` if kubectl prints it. Throws usage errors before the first request. */
async function outputOf(flags: FlagsOf<typeof Get>, isTerminal: boolean): Promise<PoolOutput | 'kubectl'> {
  const {
    output = '',
    template,
    resources,
    'label-columns': labels = [],
    'show-labels': showLabels,
    'show-kind': showKind,
  } = flags;
  if (flags['output-watch-events'] && !flags.watch && !flags['watch-only']) {
    throw new NodepoolError('usage', '--output-watch-events needs --watch or --watch-only', 'add -w');
  }
  const headers = !flags['no-headers'];
  const isOfKubectl = template !== undefined || OF_KUBECTL.includes(output.replace(/=.*/s, ''));
  if (!isOfKubectl && (output === '' || output === 'wide')) {
    const chosen = resources === undefined ? undefined : parseResources(resources);
    const labelColumns = labels.filter(Boolean);
    return { wide: output === 'wide', headers, resources: chosen, labelColumns, showLabels, showKind };
  }
  const ofTables = {
    '--show-labels': showLabels,
    '--show-kind': showKind,
    '--resources': resources,
    '--label-columns': labels.length > 0,
  };
  for (const [flag, isSet] of Object.entries(ofTables)) {
    if (isSet) throw new NodepoolError('usage', `${flag} cannot be combined with -o ${output || 'go-template'}`);
  }
  if (isOfKubectl) return 'kubectl';
  if (output === 'json' || output === 'yaml' || output === 'name') return output;
  const { readTemplate } = await import('../shared/template.ts');
  return readTemplate(output, { headers, isTerminal, others: OF_KUBECTL });
}

/** Loads the modules that print the format. */
async function loadPrinter(output: PoolOutput): Promise<void> {
  if (typeof output === 'object') await Promise.all([import('./print.ts'), import('../../print/style.ts')]);
  else await import('../../print/printers.ts');
}

/** @param asList print a List, even for one pool */
async function printPools(
  pools: RawPool[],
  asList: boolean,
  sort: ((pools: RawPool[]) => RawPool[]) | undefined,
  output: PoolOutput,
  io: Io,
): Promise<void> {
  if (typeof output === 'function') {
    const { listOrObject } = await import('../../print/printers.ts');
    io.write(output()([listOrObject(sort?.(pools) ?? pools, asList)]));
  } else if (typeof output === 'string') {
    const { printObjects } = await import('../../print/printers.ts');
    const text = printObjects(sort?.(pools) ?? pools, output, asList);
    if (text !== '') io.out(text);
  } else if (pools.length > 0) {
    const { poolsPrinter, widthFor, withLive } = await import('./print.ts');
    const { makeStyle } = await import('../../print/style.ts');
    // Also by numbers that are shown.
    const shown = sort?.(pools.map(pool => withLive(pool, output.live?.get(pool.metadata.name)))) ?? pools;
    io.out(
      poolsPrinter({ ...output, terminalWidth: widthFor(output, io) }, makeStyle(io.color))(shown, io.serverNow()),
    );
  }
}
