/** The events of the chosen pools, and their table. The server can select by only one name. */
import { type Io, terminalWidth } from '../../cli/io.ts';
import type { WatchedResource } from '../../controller/source.ts';
import type { NodePoolsClient } from '../../kube/cluster.ts';
import type { EventsPort, PoolEventObject, PoolEventRecord } from '../../kube/resources/events.ts';
import { noun } from '../../nodepool/text.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import { makeStyle } from '../../print/style.ts';
import { eventEntry, oldestFirst, timelinePrinter } from '../shared/describe/print-timeline.ts';
import { chosenPools } from '../shared/pools/choose-pools.ts';
import { type NamesDeps, namesToSuggest, poolNotFound } from '../shared/pools/not-found.ts';

export interface ChosenEvents {
  /** Oldest first. Throws if a pool neither has events nor exists: events outlive a deleted pool for a while. */
  list(): Promise<PoolEventRecord[]>;
  /** Like list(), with the full objects. */
  listObjects(): Promise<PoolEventObject[]>;
  watch(): WatchedResource<PoolEventRecord | undefined>;
  watchObjects(): WatchedResource<PoolEventObject | undefined>;
}

/** @param names of pools; undefined: all */
export function chosenEvents(
  names: readonly string[] | undefined,
  {
    events,
    pools,
    nodes,
  }: NamesDeps & { events: EventsPort; pools: Pick<NodePoolsClient, 'get' | 'list' | 'assertServed'> },
): ChosenEvents {
  const only = names?.length === 1 ? names[0] : undefined;
  const isChosen = ({ pool }: PoolEventRecord) => names?.includes(pool) ?? true;
  const read = async <T extends PoolEventRecord>(list: (pool?: string) => Promise<T[]>) => {
    if (names?.length === 0) return [];
    const found = (await list(only)).filter(isChosen).toSorted(oldestFirst);
    const silent = names?.filter(name => !found.some(({ pool }) => pool === name)) ?? [];
    const { missing } = await chosenPools({ names: silent }, pools);
    if (missing.length > 0)
      throw poolNotFound('events', missing, await namesToSuggest('events', missing, { pools, nodes }));
    if (found.length === 0 && names === undefined) await pools.assertServed();
    return found;
  };
  const chosen = <T extends PoolEventRecord>({
    source,
    transform,
  }: WatchedResource<T | undefined>): WatchedResource<T | undefined> => ({
    source,
    transform: raw => {
      const event = transform(raw);
      return event !== undefined && isChosen(event) ? event : undefined;
    },
  });
  return {
    list: () => read(events.list),
    listObjects: () => read(events.listObjects),
    watch: () => chosen(events.watch(only)),
    watchObjects: () => chosen(events.watchObjects(only)),
  };
}

/** The first call returns the table, later calls return further rows. */
export function eventsPrinter(headers: boolean, io: Io): (events: PoolEventRecord[], now: Date) => string {
  const table = { wide: false, headers, terminalWidth: terminalWidth(io) };
  const render = timelinePrinter('Events', table, makeStyle(io.color));
  return (events, now) =>
    render(
      events.map(event => eventEntry(event, { pool: event.pool })),
      now,
    );
}

/** ` for pool a`, for the message that there are no events; undefined: all pools. */
export function ofPools(names: readonly string[] | undefined): string {
  return names === undefined ? '' : ` for ${noun(names.length, 'pool')} ${names.map(sanitizeLine).join(', ')}`;
}
