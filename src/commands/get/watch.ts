/** `get --watch`: prints the current pools, then each that changes. */
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import type { RawPool } from '../../kube/cluster.ts';
import type { ChangeType } from '../../print/printers.ts';
import { objectStream } from '../../print/printers.ts';
import { makeStyle } from '../../print/style.ts';
import { type FollowFlags, showChanges } from '../shared/follow.ts';
import type { LivePool } from './live-counts.ts';
import { type PoolOutput, poolsPrinter, widthFor, withLive } from './print.ts';

export interface PoolChanges extends FollowFlags {
  names: string[];
  selector: string | undefined;
  fieldSelector: string | undefined;
  output: PoolOutput;
  /** --output-watch-events */
  asEvents: boolean;
  /** --watch-only */
  changesOnly: boolean;
  /** Sorts the current pools. */
  sort: (pools: RawPool[]) => RawPool[];
  /** Pools by their nodes when the list was read: each until its status or spec changes. */
  live: Map<string, LivePool>;
}

/** Returns the exit code. */
export function showPoolChanges(changes: PoolChanges, io: Io, connection: Connection): Promise<number> {
  const { names, selector: labelSelector, fieldSelector, output, changesOnly, sort, live } = changes;
  const byNames = (a: RawPool, b: RawPool) =>
    names.indexOf(a.metadata.name) - names.indexOf(b.metadata.name) || (a.metadata.name < b.metadata.name ? -1 : 1);
  const render = poolRenderer(changes, io);
  const print = (pools: RawPool[], type: ChangeType) => io.write(render(pools, type));
  const seen = new Map<string, string>();
  return showChanges<RawPool>(
    {
      resource: 'nodepools.nodes.lailin.xyz',
      watched: connection.cluster.pools.watchRaw({ names, labelSelector, fieldSelector }),
      onStart(pools) {
        if (changesOnly) return;
        for (const pool of pools) seen.set(pool.metadata.name, countedBy(pool));
        const counted = pools.map(pool => withLive(pool, live.get(pool.metadata.name)));
        if (pools.length > 0) print(sort(counted.toSorted(byNames)), 'ADDED');
        else if (typeof output === 'object') io.err('No pools found; waiting for one.');
      },
      onChanged(pool, type) {
        const { name } = pool.metadata;
        // From now on its status says what it is; the nodes of another spec were not counted.
        if (seen.get(name) !== countedBy(pool)) live.delete(name);
        print([pool], type);
      },
      onDeleted: pool => print([pool], 'DELETED'),
    },
    changes,
    io,
  );
}

/** What a new count of its nodes comes with: another pool, spec or status, not a label of the pool. */
function countedBy({ metadata: { uid, generation }, status }: RawPool): string {
  return JSON.stringify([uid, generation, status]);
}

function poolRenderer({ output, asEvents, live }: PoolChanges, io: Io): (pools: RawPool[], type: ChangeType) => string {
  if (typeof output === 'object') {
    const options = { ...output, terminalWidth: widthFor(output, io), isWatch: true, live };
    const render = poolsPrinter(options, makeStyle(io.color));
    const shown = (pools: RawPool[]) => pools.map(pool => withLive(pool, live.get(pool.metadata.name)));
    return (pools, type) => `${render(shown(pools), io.serverNow(), asEvents ? type : undefined)}\n`;
  }
  if (typeof output === 'string') {
    const render = objectStream(output, asEvents);
    return (pools, type) => pools.map(pool => `${render(pool, type)}\n`).join('');
  }
  const print = output();
  return (pools, type) => print(asEvents ? pools.map(object => ({ type, object })) : pools);
}
