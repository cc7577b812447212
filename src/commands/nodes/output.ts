/** The output format of `nodes`, and printing nodes in it. */
import { type Io, terminalWidth } from '../../cli/io.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { ObjectTemplate } from '../../print/object-template.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import type { PoolNode } from '../shared/pools/nodes.ts';
import type { NodesTableOptions } from './print.ts';

/** A table, a format, or a template of the document that `-o json` prints. */
export type NodesOutput = NodesTableOptions | ObjectFormat | ObjectTemplate;

export interface NodesOutputFlags {
  output?: string | undefined;
  'label-columns'?: string[] | undefined;
  'no-headers': boolean;
  watch: boolean;
}

/** The format in the flags. Throws usage errors before the first request. */
export async function nodesOutput(flags: NodesOutputFlags, { stdoutIsTTY }: Io): Promise<NodesOutput> {
  const { output = '', 'label-columns': labels = [] } = flags;
  const headers = !flags['no-headers'];
  if (output === '' || output === 'wide') {
    return { wide: output === 'wide', headers, labelColumns: labels.filter(Boolean) };
  }
  if (labels.length > 0) throw new NodepoolError('usage', `--label-columns is for tables, and -o ${output} is none`);
  if (flags.watch) throw new NodepoolError('usage', `--watch prints a table, and -o ${output} is none`, 'leave out -o');
  if (output === 'json' || output === 'yaml' || output === 'name') return output;
  const { readTemplate } = await import('../shared/template.ts');
  return readTemplate(output, { headers, isTerminal: stdoutIsTTY });
}

export async function printPoolNodes(nodes: PoolNode[], output: NodesOutput, io: Io): Promise<void> {
  if (typeof output === 'object') {
    const { nodesPrinter } = await import('./print.ts');
    const { makeStyle } = await import('../../print/style.ts');
    if (nodes.length > 0) io.out(nodesPrinter(withTerminal(output, io), makeStyle(io.color))(nodes, io.now()));
    else io.err('No nodes found.');
    return;
  }
  const { nodesDocument, printNodeNames, printNodes } = await import('./print.ts');
  if (typeof output === 'function') io.write(output()([nodesDocument(nodes, io.now())]));
  else if (output !== 'name') io.out(printNodes(nodes, output, io.now()));
  else if (nodes.length > 0) io.out(printNodeNames(nodes));
}

/** -o wide has every column, whole, on a terminal too. */
export function withTerminal(table: NodesTableOptions, io: Io): NodesTableOptions {
  return table.wide ? table : { ...table, terminalWidth: terminalWidth(io) };
}
