/** The output format of `get`, and printing pools in it. */
import { parseResources } from '../../cli/flags.ts';
import { type Io, terminalWidth } from '../../cli/io.ts';
import type { RawPool } from '../../kube/cluster.ts';
import type { Connection } from '../../kube/connect.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { ObjectTemplate } from '../../print/object-template.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import type { PoolsTableOptions } from './print.ts';

/** A table, a format of objects, or a template. */
export type PoolOutput = PoolsTableOptions | ObjectFormat | ObjectTemplate;

export interface OutputFlags {
  output: string | undefined;
  resources: string | undefined;
  'label-columns': string[] | undefined;
  'show-labels': boolean;
  'no-headers': boolean;
  watch: boolean;
  'watch-only': boolean;
  'output-watch-events': boolean;
}

/** The format in the flags. Throws usage errors before the first request. */
export async function outputOf(flags: OutputFlags, isTerminal: boolean): Promise<PoolOutput> {
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
  for (const [flag, isGiven] of Object.entries(ofTables)) {
    if (isGiven) throw new NodepoolError('usage', `${flag} is for tables, and -o ${output} is none`);
  }
  if (output === 'json' || output === 'yaml' || output === 'name') return output;
  const { readTemplate } = await import('../shared/template.ts');
  return readTemplate(output, { headers, isTerminal });
}

/** The modules that print in the format. */
export async function loadPrinter(output: PoolOutput): Promise<void> {
  if (typeof output === 'object') await Promise.all([import('./print.ts'), import('../../print/style.ts')]);
  else await import('../../print/printers.ts');
}

/** @param asList a List, even of one pool */
export async function printPools(
  pools: RawPool[],
  asList: boolean,
  output: PoolOutput,
  io: Io,
  connection: Pick<Connection, 'nodeLabels'>,
): Promise<void> {
  if (typeof output === 'function') {
    const { listOrObject } = await import('../../print/printers.ts');
    io.write(output()([listOrObject(pools, asList)]));
  } else if (typeof output === 'string') {
    const { printObjects } = await import('../../print/printers.ts');
    const text = printObjects(pools, output, asList);
    if (text !== '') io.out(text);
  } else if (pools.length > 0) {
    const { poolsPrinter } = await import('./print.ts');
    const { makeStyle } = await import('../../print/style.ts');
    const matching = await matchingOf(pools, connection);
    io.out(
      poolsPrinter({ ...output, terminalWidth: widthFor(output, io), matching }, makeStyle(io.color))(pools, io.now()),
    );
  }
}

/** The terminal's width, where the table has to fit it. */
export function widthFor({ wide, showLabels }: PoolsTableOptions, io: Io): number | undefined {
  return wide || showLabels ? undefined : terminalWidth(io);
}

/** How many nodes match the pools that have no status; undefined where all have one. */
export async function matchingOf(
  pools: RawPool[],
  connection: Pick<Connection, 'nodeLabels'>,
): Promise<Map<string, number> | undefined> {
  // A status without counts is the CRD's default.
  if (pools.every(({ status }) => status?.nodeCount !== undefined)) return undefined;
  const { coercePool } = await import('../../nodepool/spec/coerce.ts');
  const { matchingNodes } = await import('../shared/pools/load-cluster-state.ts');
  return matchingNodes(pools.map(coercePool), connection);
}
