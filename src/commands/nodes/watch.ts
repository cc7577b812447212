/** `nodes --watch`: prints the current nodes, then each whose row changes. */
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { makeStyle } from '../../print/style.ts';
import type { NodesOptions, PoolNode } from '../shared/pools/nodes.ts';
import { untilStopped, type WatchOptions } from '../shared/show-changes.ts';
import { followNodes } from './follow-nodes.ts';
import { withTerminal } from './output.ts';
import { type NodesTableOptions, nodesPrinter } from './print.ts';

export interface NodeChanges extends NodesOptions, WatchOptions {
  table: NodesTableOptions;
  /** Sorts the current nodes. */
  sort: (nodes: PoolNode[]) => PoolNode[];
}

/** Returns the exit code. */
export function showNodeChanges(
  { table, sort, verbosity, requestTimeoutMs, ...options }: NodeChanges,
  io: Io,
  { cluster }: Connection,
): Promise<number> {
  const render = nodesPrinter({ ...withTerminal(table, io), isWatch: true }, makeStyle(io.color));
  const print = (nodes: PoolNode[]) => io.out(render(nodes, io.now()));
  return untilStopped(
    (signal, guarded, deps) =>
      followNodes(
        {
          ...options,
          onStart: guarded(nodes => {
            if (nodes.length > 0) print(sort(nodes));
            else io.err('No nodes found; waiting for one.');
          }),
          onChanged: guarded(node => print([node])),
          signal,
        },
        { cluster, ...deps },
      ),
    { verbosity, requestTimeoutMs },
    io,
  );
}
