import * as Flags from '@oclif/core/flags';
import { type ArgsOf, BaseCommand, type FlagsOf } from '../cli/base-command.ts';
import { warningLine } from '../cli/error-line.ts';
import type { Connection, Deps } from '../cli/factory.ts';
import { namesArg, nodeName } from '../cli/flags.ts';
import type { Io } from '../cli/io.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { PoolNode } from '../operations/nodes.ts';

export default class Nodes extends BaseCommand<typeof Nodes> {
  static override summary = 'List the nodes of pools: state, taints, drift, what the pool set.';
  static override description =
    'APPLIED is what the pool put on the node, DRIFT what the next reconcile would change there: + sets, ~ changes, - takes away.';
  static override examples = [
    { description: 'Members of all pools', command: '<%= config.bin %> nodes' },
    { description: 'Of one pool, nothing shortened', command: '<%= config.bin %> nodes gpu -o wide' },
    { description: 'Nodes of no pool', command: '<%= config.bin %> nodes --unassigned' },
    { description: 'Why a node is, or is not, in each pool', command: '<%= config.bin %> nodes --why node-a' },
    { description: 'Names, for other commands', command: '<%= config.bin %> nodes gpu -o name' },
  ];
  static override args = { pool: namesArg('Names of the pools; none means all.') };
  static override flags = {
    unassigned: Flags.boolean({ summary: 'The nodes of no pool.' }),
    why: Flags.string({ summary: 'Explain one node, pool by pool.', helpValue: 'NODE', parse: nodeName }),
    selector: Flags.string({ char: 'l', summary: 'Only nodes with these labels: a=b,c!=d,e.', helpValue: 'SELECTOR' }),
    output: Flags.option({
      options: ['wide', 'json', 'yaml', 'name'] as const,
      char: 'o',
      summary: 'Output format.',
      helpValue: 'wide|json|yaml|name',
    })(),
    'no-headers': Flags.boolean({ summary: 'Leave out the header line.' }),
  };

  protected async execute(flags: FlagsOf<typeof Nodes>, args: ArgsOf<typeof Nodes>, deps: Deps): Promise<number> {
    const { output, selector, unassigned, why } = flags;
    const pools = args.pool ?? [];
    if (why !== undefined) return explain(why, flags, pools, deps);
    if (unassigned && pools.length > 0) {
      throw new NodepoolError('usage', '--unassigned lists nodes of no pool', 'leave out the names of pools');
    }
    const { io, connect } = deps;
    const { listNodes } = await import('../operations/nodes.ts');
    const connection = await connect();
    const listed = await listNodes({ pools, unassigned, selector }, connection);
    const nodes = output === undefined || output === 'name' ? listed : await withSettersOf(listed, connection, io);
    if (output === 'json' || output === 'yaml' || output === 'name') {
      const { printNodeNames, printNodes } = await import('../render/node-data.ts');
      if (output !== 'name') io.out(printNodes(nodes, output));
      else if (nodes.length > 0) io.out(printNodeNames(nodes));
      return 0;
    }
    if (nodes.length === 0) {
      io.err('No nodes found.');
      return 0;
    }
    const { renderNodes } = await import('../render/nodes.ts');
    const { makeStyle } = await import('../render/style.ts');
    const options = { wide: output === 'wide', headers: !flags['no-headers'], now: io.now() };
    io.out(renderNodes(nodes, options, makeStyle(io.color)));
    return 0;
  }
}

/** Says who set the values that differ, and of how many nodes that was not read. */
async function withSettersOf(nodes: PoolNode[], { cluster }: Connection, io: Io): Promise<PoolNode[]> {
  const { unreadText, withSetters } = await import('../operations/drift-setters.ts');
  const { planned, unread } = await withSetters(nodes, cluster.nodes);
  if (unread > 0) io.err(warningLine(unreadText(unread)));
  return planned;
}

async function explain(
  node: string,
  { output, selector, unassigned, 'no-headers': noHeaders }: FlagsOf<typeof Nodes>,
  pools: string[],
  { io, connect }: Deps,
): Promise<number> {
  if (pools.length > 0 || unassigned || selector !== undefined || noHeaders || output === 'wide' || output === 'name') {
    throw new NodepoolError('usage', '--why explains one node', 'leave out all but -o json or -o yaml');
  }
  const { whyNode } = await import('../operations/why-node.ts');
  const explanation = await whyNode(node, await connect());
  if (output !== undefined) {
    const { printDocument } = await import('../render/documents.ts');
    io.out(printDocument('NodeExplanation', explanation, output));
    return 0;
  }
  const { renderWhy } = await import('../render/why.ts');
  const { makeStyle } = await import('../render/style.ts');
  io.out(renderWhy(explanation, makeStyle(io.color)));
  return 0;
}
