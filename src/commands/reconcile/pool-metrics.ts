/** Metrics of each pool. Only the reconciling process has them, not one that waits for the lease: sums stay right. */
import type { Labels, MetricInfo, Registry } from '../../controller/metrics.ts';
import { olderFirst } from '../../nodepool/membership/membership.ts';
import { parseQuantity, quantityToNumber } from '../../nodepool/quantity/quantity.ts';
import { contestIn, stuckStartupIn } from '../../nodepool/status/status.ts';
import type { NodePool, NodePoolStatus } from '../../nodepool/types.ts';
import type { NodeMove } from '../../reconciler/outcome.ts';
import type { ClusterState } from '../../reconciler/state/cluster-state.ts';

/** Maximum pools with series. The oldest win: new pools can neither fill Prometheus' memory nor displace others. */
const MAX_POOLS = 1_000;
/** Maximum series of allocatable resources: a node can report 128 resources with arbitrary names. */
const MAX_RESOURCE_SERIES = 10_000;

type Series = (readonly [Labels, number])[];
type PoolState = Pick<ClusterState, 'pools' | 'lost' | 'pool'>;

interface Reconciled {
  /** Milliseconds since 1970. */
  succeededAt?: number;
  invalidRecords: number;
}

export class PoolMetrics {
  readonly #registry: Registry;
  readonly #now: () => Date;
  /** By pool, since the start of this process. */
  readonly #reconciled = new Map<string, Reconciled>();
  #state: PoolState | undefined;
  #isLeader = () => false;
  /** When this process became leader, in milliseconds since 1970. */
  #leaderSince = 0;

  /** @param version this program's version */
  constructor(registry: Registry, { now, version }: { now: () => Date; version: string }) {
    this.#registry = registry;
    this.#now = now;
    registry.gauge('nodepool_build_info', 'Always 1; the version is in the label.', ['version']).set(1, { version });
    this.#define();
  }

  /** @param isLeader whether this process reconciles */
  observe(state: PoolState, isLeader: () => boolean): void {
    this.#state = state;
    this.#isLeader = isLeader;
  }

  started(): void {
    this.#leaderSince = this.#now().getTime();
  }

  /** Call when a reconcile of the pool ended without a failure. */
  reconcileSucceeded(pool: string): void {
    // A reconcile also releases nodes of deleted pools, whose names in the records are not trustworthy.
    if (this.#state?.pool(pool) === undefined) this.#reconciled.delete(pool);
    else this.#of(pool).succeededAt = this.#now().getTime();
  }

  /** Counts invalid records among the writes, which no pool can have written. */
  nodesWritten(moves: readonly NodeMove[]): void {
    for (const { from, to, invalidRecord } of moves) {
      const pool = to ?? from;
      const isKnown = pool !== undefined && this.#state?.pool(pool) !== undefined;
      if (invalidRecord !== undefined && isKnown) this.#of(pool).invalidRecords++;
    }
  }

  #of(pool: string): Reconciled {
    const found = this.#reconciled.get(pool) ?? { invalidRecords: 0 };
    this.#reconciled.set(pool, found);
    return found;
  }

  #define(): void {
    const gauge = (name: string, help: string, value: (pool: NodePool) => number | undefined) =>
      this.#each({ name, type: 'gauge', help, labels: ['pool'] }, value);
    const ofStatus = (name: string, help: string, value: (status: NodePoolStatus) => number | undefined) =>
      gauge(name, help, ({ status }) => (status?.status === undefined ? undefined : value(status)));

    ofStatus('nodepool_nodes', 'Members of the pool.', status => status.nodeCount);
    ofStatus('nodepool_nodes_ready', 'Members that are Ready.', status => status.readyNodeCount);
    ofStatus('nodepool_nodes_unschedulable', 'Members that are cordoned.', status => status.unschedulableNodeCount);
    ofStatus(
      'nodepool_nodes_updated',
      'Members that have the labels and taints of the pool.',
      status => status.updatedNodeCount,
    );
    ofStatus('nodepool_nodes_drifted', 'Members that do not have the labels and taints of the pool.', drifted);
    gauge(
      'nodepool_nodes_conflicting',
      'Nodes that match the pool but belong to another pool.',
      ({ metadata }) => this.#state?.lost(metadata.name).length,
    );
    ofStatus('nodepool_pods', 'Pods on the members. Only with --pod-counts.', status => status.podCount);
    ofStatus(
      'nodepool_status_code',
      'status.status: 200 normal, 409 conflict, 422 invalid spec, 500 failing writes or invalid quantities, 503 no node is Ready.',
      status => status.status,
    );
    ofStatus(
      'nodepool_contested',
      '1 while others keep changing what the pool sets (condition Contested), otherwise 0.',
      status => (contestIn(status) === undefined ? 0 : 1),
    );
    ofStatus(
      'nodepool_startup_taints_stuck',
      '1 while a startup taint has been on a node for more than 15 minutes (condition StartupTaintsStuck), otherwise 0.',
      status => (stuckStartupIn(status) === undefined ? 0 : 1),
    );
    gauge('nodepool_generation', 'metadata.generation: changes with the spec.', pool => pool.metadata.generation);
    gauge(
      'nodepool_observed_generation',
      'The generation that the status describes; 0 before the first reconcile.',
      ({ status }) => status?.observedGeneration ?? 0,
    );
    gauge(
      'nodepool_last_success_timestamp_seconds',
      'Unix time of the last successful reconcile of the pool; before the first, when this process became leader.',
      ({ metadata }) => (this.#reconciled.get(metadata.name)?.succeededAt ?? this.#leaderSince) / 1000,
    );
    this.#each(
      {
        name: 'nodepool_invalid_records_total',
        type: 'counter',
        help: 'Invalid records on members that were replaced.',
        labels: ['pool'],
      },
      ({ metadata }) => this.#reconciled.get(metadata.name)?.invalidRecords ?? 0,
    );
    this.#registry.collect(
      {
        name: 'nodepool_allocatable',
        type: 'gauge',
        help: "Sum of the members' allocatable resources, in the base unit: cores, bytes, pieces.",
        labels: ['pool', 'resource'],
      },
      () => this.#shown().flatMap(resourcesOf).slice(0, MAX_RESOURCE_SERIES),
    );
    this.#registry.collect(
      {
        name: 'nodepool_pools',
        type: 'gauge',
        help: 'All pools, including those without their own series.',
        labels: [],
      },
      () => (this.#isShown() ? [[{}, this.#all().length]] : []),
    );
    this.#registry.collect(
      {
        name: 'nodepool_omitted_series',
        type: 'gauge',
        help: `Omitted series: nodepool_allocatable beyond ${MAX_RESOURCE_SERIES}, and pools beyond ${MAX_POOLS}.`,
        labels: [],
      },
      () => (this.#isShown() ? [[{}, this.#omitted()]] : []),
    );
  }

  #each(info: MetricInfo, value: (pool: NodePool) => number | undefined): void {
    this.#registry.collect(info, () =>
      this.#shown().flatMap((pool): Series => {
        const found = value(pool);
        return found === undefined ? [] : [[{ pool: pool.metadata.name }, found]];
      }),
    );
  }

  #isShown(): boolean {
    return this.#state !== undefined && this.#isLeader();
  }

  #all(): NodePool[] {
    return [...(this.#state?.pools() ?? [])];
  }

  #shown(): NodePool[] {
    if (!this.#isShown()) return [];
    const pools = this.#all();
    return pools.length <= MAX_POOLS ? pools : pools.sort(olderFirst).slice(0, MAX_POOLS);
  }

  #omitted(): number {
    const shown = this.#shown();
    const resources = shown.reduce((sum, { status }) => sum + Object.keys(status?.allocatable ?? {}).length, 0);
    return this.#all().length - shown.length + Math.max(0, resources - MAX_RESOURCE_SERIES);
  }
}

function resourcesOf({ metadata, status }: NodePool): Series {
  const entries = Object.entries(status?.allocatable ?? {});
  return entries.map(([resource, quantity]) => [{ pool: metadata.name, resource }, numberOf(quantity)]);
}

function drifted({ nodeCount, updatedNodeCount }: NodePoolStatus): number | undefined {
  return updatedNodeCount === undefined ? undefined : nodeCount - updatedNodeCount;
}

/** NaN, which Prometheus accepts, for an invalid quantity: anyone who may write the status can put one there. */
function numberOf(quantity: string): number {
  try {
    return quantityToNumber(parseQuantity(quantity));
  } catch {
    return Number.NaN;
  }
}
