/** The table of `kubectl nodepool get`. No cell has a space in it: `awk '{print $2}'` is the status. */
import { membershipSelector } from '../nodepool/selector.ts';
import { soundPool } from '../nodepool/sound.ts';
import type { NodePool, NodePoolStatus, ResourceList } from '../nodepool/types.ts';
import { labelsText, NONE, poolResource, statusCell, taintsText, troubleOf } from './cells.ts';
import { displayQuantity, isPositive } from './quantity.ts';
import type { Style } from './style.ts';
import { type Cell, growingTable } from './table.ts';
import { formatAge } from './time.ts';

export interface PoolsTableOptions {
  wide: boolean;
  headers: boolean;
  now: Date;
}

type Shape = Omit<PoolsTableOptions, 'now'>;

const COLUMNS = ['NAME', 'STATUS', 'NODES', 'READY', 'CPU', 'MEMORY', 'PODS', 'TAINTS', 'AGE'];
const WIDE_COLUMNS = ['HANDLER', 'UNSCHEDULABLE', 'STORAGE', 'DEVICES', 'SELECTOR', 'REASON'];

/** Taints beyond this many characters are counted, not listed; wide lists all. */
const TAINTS_WIDTH = 32;

/** What a pool has not been given yet by a reconcile shows as `<none>`. */
export function renderPools(pools: NodePool[], options: PoolsTableOptions, style: Style): string {
  return growingPools(options, style)(pools, options.now);
}

/** The first call gives the table, later ones more rows of it: as pools change, they are shown again. */
export function growingPools({ wide, headers }: Shape, style: Style): (pools: NodePool[], now: Date) => string {
  const render = growingTable(wide ? [...COLUMNS, ...WIDE_COLUMNS] : COLUMNS, { headers });
  return (pools, now) =>
    render(
      pools
        .map(soundPool)
        .map(pool =>
          wide ? [...row(pool, Infinity, now, style), ...wideRow(pool)] : row(pool, TAINTS_WIDTH, now, style),
        ),
    );
}

function row(pool: NodePool, taintsWidth: number, now: Date, style: Style): Cell[] {
  const { metadata, spec, status } = pool;
  return [
    metadata.name,
    statusCell(pool, style),
    count(status?.nodeCount),
    count(status?.readyNodeCount),
    poolResource(status, 'cpu'),
    poolResource(status, 'memory'),
    podsCell(status),
    taintsText(spec.taints, taintsWidth),
    formatAge(metadata.creationTimestamp, now),
  ];
}

/** Places for pods, and how many are taken where that is counted: `42/1100`. */
function podsCell(status: NodePoolStatus | undefined): string {
  const places = poolResource(status, 'pods');
  return status?.podCount === undefined ? places : `${status.podCount}/${places}`;
}

function wideRow(pool: NodePool): Cell[] {
  const { spec, status } = pool;
  return [
    spec.handler || NONE,
    count(status?.unschedulableNodeCount),
    poolResource(status, 'ephemeral-storage'),
    devices(status?.allocatable),
    labelsText(membershipSelector(pool)),
    troubleOf(status)?.reason ?? NONE,
  ];
}

function count(value: number | undefined): string {
  return value === undefined ? NONE : String(value);
}

/** Extended resources and huge pages, those there are any of: `nvidia.com/gpu=8`. */
function devices(list: ResourceList = {}): string {
  const found = Object.entries(list)
    .filter(([name, quantity]) => (name.includes('/') || name.startsWith('hugepages')) && isPositive(quantity))
    .map(([name, quantity]) => `${name}=${displayQuantity(name, quantity)}`);
  return found.toSorted().join(',') || NONE;
}
