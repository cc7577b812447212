import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../../cli/base-command.ts';
import { showNote, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { formatFlag, labelColumnsFlag, namesArg, nodeName, noHeadersFlag } from '../../cli/flags.ts';
import type { Io } from '../../cli/io.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { plural } from '../../nodepool/text.ts';
import type { ObjectTemplate } from '../../print/object-template.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import type { PoolNode } from '../shared/pools/nodes.ts';
import type { NodesTableOptions } from './print.ts';

export default class Nodes extends BaseCommand<typeof Nodes> {
  static override summary = 'List the nodes of pools with state, taints and due changes.';
  static override description =
    'APPLIED: labels, taints and annotations that the pool set on the node. DUE: what the next reconcile changes on the node: + sets, ~ changes, - removes. SET-BY: who set the values that differ. MAINTENANCE: owner, end and reason. Formats of -o: wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-file=FILE, jsonpath-as-json=TEMPLATE, custom-columns=HEADER:PATH,… and custom-columns-file=FILE.';
  static override examples = [
    { description: 'Nodes of all pools', command: '<%= config.bin %> nodes' },
    { description: 'Nodes of one pool, without cut columns', command: '<%= config.bin %> nodes gpu -o wide' },
    { description: 'Unassigned nodes', command: '<%= config.bin %> nodes --unassigned' },
    { description: 'Why a node is in a pool, or is not', command: '<%= config.bin %> nodes gpu --why node-a' },
    {
      description: 'With their zones, oldest first',
      command: '<%= config.bin %> nodes -L topology.kubernetes.io/zone --sort-by .metadata.creationTimestamp',
    },
    { description: 'Watch the nodes of a pool', command: '<%= config.bin %> nodes gpu --watch' },
    { description: 'Names, for other commands', command: '<%= config.bin %> nodes gpu -o name' },
    {
      description: 'Names of nodes that are not Ready',
      command: `<%= config.bin %> nodes -o jsonpath='{.items[?(@.ready==false)].name}'`,
    },
  ];
  static override args = { pool: namesArg('Names of the pools; none means all.') };
  static override flags = {
    unassigned: Flags.boolean({ summary: 'List unassigned nodes.' }),
    why: Flags.string({
      summary: "Explain one node, pool by pool, as 'why' does.",
      helpValue: 'NODE',
      parse: nodeName,
      exclusive: ['unassigned', 'selector', 'sort-by', 'label-columns', 'no-headers', 'watch'],
    }),
    selector: Flags.string({ char: 'l', summary: 'Only nodes with these labels: a=b,c!=d,e.', helpValue: 'SELECTOR' }),
    output: formatFlag,
    'sort-by': Flags.string({ summary: 'Sort by a JSONPath such as .allocatable.cpu.', helpValue: 'PATH' }),
    'label-columns': labelColumnsFlag,
    'no-headers': noHeadersFlag,
    watch: Flags.boolean({ char: 'w', summary: 'After listing, watch for changes.' }),
  };

  protected async execute(flags: FlagsOf<typeof Nodes>, args: ArgsOf<typeof Nodes>, deps: Deps): Promise<number> {
    const { selector, unassigned, why, 'sort-by': path } = flags;
    const pools = args.pool ?? [];
    if (why !== undefined) return explain(why, flags, pools, deps);
    if (unassigned && pools.length > 0) {
      throw new NodepoolError('usage', '--unassigned cannot be used with names of pools', 'leave out the names');
    }
    const { io, connect } = deps;
    const output = await nodesOutput(flags, pools, io);
    const sort = path === undefined ? (nodes: PoolNode[]) => nodes : await nodeOrder(path, io.now());
    const { listNodes } = await import('../shared/pools/nodes.ts');
    const options = { pools, unassigned, selector };
    const connection = await connect();
    const { nodes: listed, ownedByOthers } = await listNodes(options, connection);
    if (flags.watch && typeof output === 'object') {
      const { showNodeChanges } = await import('./watch.ts');
      if (path !== undefined) showWarning(io, '--sort-by sorts only the first list, not the changes that follow');
      return showNodeChanges(
        { ...options, table: output, sort, verbosity: flags.verbosity, requestTimeoutMs: deps.requestTimeoutMs },
        io,
        connection,
      );
    }
    const isDue = listed.some(({ changes }) => changes.length > 0);
    const nodes = isDue && output !== 'name' ? await withSettersOf(listed, connection, io) : listed;
    const isAll = pools.length === 0 && !unassigned && selector === undefined;
    await printPoolNodes(sort(nodes), output, isAll ? 'No node belongs to a pool.' : 'No nodes found.', io);
    if (nodes.some(({ blocked }) => blocked !== undefined)) {
      const { blockedAmong, blockedNotes } = await import('../shared/changes/blocks.ts');
      for (const note of blockedNotes(blockedAmong(nodes))) showNote(io, note);
    }
    if (ownedByOthers.size > 0) showNote(io, ownedByOthersText(ownedByOthers));
    return 0;
  }
}

/** Explains why the table has fewer nodes than match the pools. */
function ownedByOthersText(ownedByOthers: ReadonlyMap<string, number>): string {
  const pools = [...ownedByOthers].toSorted().map(([pool, count]) => `${pool} (${plural(count, 'node')})`);
  return `Matching nodes that belong to other pools: ${pools.join(', ')}. To see why: \`kubectl nodepool why NODE\`.`;
}

async function nodeOrder(path: string, now: Date): Promise<(nodes: PoolNode[]) => PoolNode[]> {
  const { orderBy } = await import('../shared/pools/sort-pools.ts');
  const { nodeItem } = await import('./print.ts');
  return orderBy(path, '.allocatable.cpu', node => nodeItem(node, now));
}

/** Adds who set the values that differ, and reports for how many nodes that was not read. */
async function withSettersOf(nodes: PoolNode[], { cluster }: Connection, io: Io): Promise<PoolNode[]> {
  const { unreadText, withSetters } = await import('../shared/changes/drift-setters.ts');
  const { planned, unread } = await withSetters(nodes, cluster.nodes);
  if (unread > 0) showWarning(io, unreadText(unread));
  return planned;
}

async function explain(node: string, { output }: FlagsOf<typeof Nodes>, pools: string[], deps: Deps): Promise<number> {
  if (output !== undefined && output !== 'json' && output !== 'yaml')
    throw new NodepoolError('usage', '--why explains one node', 'use -o json or -o yaml, or leave out -o');
  const { showWhy } = await import('../shared/describe/why.ts');
  await showWhy(node, pools, output, deps);
  return 0;
}

// The output format, and printing nodes in it.

/** A table, a format, or a template of the document that `-o json` prints. */
type NodesOutput = NodesTableOptions | ObjectFormat | ObjectTemplate;

/** The format in the flags. Throws usage errors before the first request. */
async function nodesOutput(flags: FlagsOf<typeof Nodes>, pools: string[], { stdoutIsTTY }: Io): Promise<NodesOutput> {
  const { output = '', 'label-columns': labels = [] } = flags;
  const headers = !flags['no-headers'];
  if (output === '' || output === 'wide') {
    const pool = pools.length === 1 ? pools[0] : undefined;
    return { wide: output === 'wide', headers, labelColumns: labels.filter(Boolean), pool };
  }
  if (labels.length > 0) throw new NodepoolError('usage', `--label-columns cannot be combined with -o ${output}`);
  if (flags.watch) throw new NodepoolError('usage', `--watch cannot be combined with -o ${output}`, 'leave out -o');
  if (output === 'json' || output === 'yaml' || output === 'name') return output;
  const { readTemplate } = await import('../shared/template.ts');
  return readTemplate(output, { headers, isTerminal: stdoutIsTTY });
}

/** @param none printed instead of an empty table */
async function printPoolNodes(nodes: PoolNode[], output: NodesOutput, none: string, io: Io): Promise<void> {
  if (typeof output === 'object') {
    const { nodesPrinter, withTerminal } = await import('./print.ts');
    const { makeStyle } = await import('../../print/style.ts');
    if (nodes.length > 0) io.out(nodesPrinter(withTerminal(output, io), makeStyle(io.color))(nodes, io.serverNow()));
    else io.err(none);
    return;
  }
  const { nodesDocument, printNodeNames, printNodes } = await import('./print.ts');
  if (typeof output === 'function') io.write(output()([nodesDocument(nodes, io.now())]));
  else if (output !== 'name') io.out(printNodes(nodes, output, io.now()));
  else if (nodes.length > 0) io.out(printNodeNames(nodes));
}
