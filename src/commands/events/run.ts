/** The events of the chosen pools. The server can select by only one name. */
import type { WatchedResource } from '../../controller/source.ts';
import type { NodePoolsClient } from '../../kube/cluster.ts';
import type { EventsPort, PoolEventObject, PoolEventRecord } from '../../kube/resources/events.ts';
import { oldestFirst } from '../shared/describe/print-timeline.ts';
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
