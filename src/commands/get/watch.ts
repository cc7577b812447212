/** `get --watch`: prints the current pools, then each pool that changes. */
import { showWarning } from '../../cli/errors.ts';
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import type { RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { ChangeType } from '../../print/printers.ts';
import { objectStream } from '../../print/printers.ts';
import { makeStyle } from '../../print/style.ts';
import { clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { type FollowFlags, follow, untilStopped } from '../shared/follow.ts';
import { followCluster } from '../shared/follow-cluster.ts';
import type { LivePool } from './live-counts.ts';
import { LiveRows } from './live-rows.ts';
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
  /** Sorts the initial list. */
  sort: (pools: RawPool[]) => RawPool[];
  /** Pools computed from their nodes, which are then watched; undefined: rows show the status. */
  live: Map<string, LivePool> | undefined;
}

/** Returns the exit code. */
export function showPoolChanges(changes: PoolChanges, io: Io, { cluster }: Connection): Promise<number> {
  const { names, selector: labelSelector, fieldSelector, output, changesOnly, sort, live } = changes;
  const byNames = (a: RawPool, b: RawPool) =>
    names.indexOf(a.metadata.name) - names.indexOf(b.metadata.name) || (a.metadata.name < b.metadata.name ? -1 : 1);
  const render = poolRenderer(changes, io);
  const counted = (pools: RawPool[]) => pools.map(pool => withLive(pool, live?.get(pool.metadata.name)));
  const print = (pools: RawPool[], type: ChangeType) => io.write(render(pools, type));
  /** Pools as last printed. */
  const shown = new Map<string, RawPool>();
  let isFollowed = live !== undefined;
  return untilStopped(
    async (signal, guarded, deps) => {
      const ofPools = follow<RawPool>(
        {
          resource: 'nodepools.nodes.lailin.xyz',
          watched: cluster.pools.watchRaw({ names, labelSelector, fieldSelector }),
          onStart: guarded(pools => {
            for (const pool of pools) shown.set(pool.metadata.name, pool);
            if (changesOnly) return;
            if (pools.length > 0) print(sort(counted(pools).toSorted(byNames)), 'ADDED');
            else if (typeof output === 'object') io.err('No pools found; watching for new pools.');
          }),
          onChanged: guarded((pool, type) => {
            const { name } = pool.metadata;
            const before = shown.get(name);
            // Counts of another spec are no longer valid; without a watch of nodes, the status has the current ones.
            const isCounted =
              before !== undefined &&
              countedBy(before, isFollowed ? undefined : before.status) ===
                countedBy(pool, isFollowed ? undefined : pool.status);
            if (!isCounted) live?.delete(name);
            shown.set(name, pool);
            print(counted([pool]), type);
          }),
          onDeleted: guarded(pool => {
            shown.delete(pool.metadata.name);
            print(counted([pool]), 'DELETED');
          }),
          signal,
        },
        deps,
      );
      if (live === undefined) return ofPools;
      const onChanged = guarded((name: string) => {
        const pool = shown.get(name);
        if (pool !== undefined) print(counted([pool]), 'MODIFIED');
      });
      const { serverTime } = cluster.nodes;
      const rows = new LiveRows({
        state: clusterStateOf(cluster, [], []),
        live,
        onChanged,
        clock: deps.clock,
        serverTime,
      });
      const over = new AbortController();
      const ofNodes = followCluster(rows, AbortSignal.any([signal, over.signal]), { cluster, ...deps }).catch(
        (error: unknown) => {
          if (!(error instanceof NodepoolError)) throw error;
          isFollowed = false;
          showWarning(io, {
            message: `the node counts are from the start of the watch: ${error.oneLine}`,
            next: error.next,
          });
        },
      );
      try {
        await ofPools;
      } finally {
        over.abort();
        rows.stop();
        await ofNodes;
      }
    },
    changes,
    io,
  );
}

/** Changes with each new count of the nodes: another pool, spec or status, but not a label of the pool. */
function countedBy({ metadata: { uid, generation } }: RawPool, status: RawPool['status']): string {
  return JSON.stringify([uid, generation, status]);
}

function poolRenderer({ output, asEvents, live }: PoolChanges, io: Io): (pools: RawPool[], type: ChangeType) => string {
  if (typeof output === 'object') {
    const options = { ...output, terminalWidth: widthFor(output, io), isWatch: true, live };
    const render = poolsPrinter(options, makeStyle(io.color));
    return (pools, type) => `${render(pools, io.serverNow(), asEvents ? type : undefined)}\n`;
  }
  if (typeof output === 'string') {
    const render = objectStream(output, asEvents);
    return (pools, type) => pools.map(pool => `${render(pool, type)}\n`).join('');
  }
  const print = output();
  return (pools, type) => print(asEvents ? pools.map(object => ({ type, object })) : pools);
}
