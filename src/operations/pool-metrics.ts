/** Metrics of each pool, of the process that reconciles: a candidate that waits for the lease has none, or sums would count twice. */
import type { Labels, MetricInfo, Registry } from '../controller/metrics.ts';
import { parseQuantity, quantityToNumber } from '../nodepool/quantity.ts';
import type { NodePool, NodePoolStatus } from '../nodepool/types.ts';
import type { ClusterState } from '../reconciler/cluster-state.ts';
import type { NodeMove } from '../reconciler/node-move.ts';

/** Pools with series, the first by name: whoever may create pools must not be able to fill the memory of Prometheus. */
const MAX_POOLS = 1_000;
/** Series of allocatable resources: a node may report 128 resources of any name. */
const MAX_RESOURCE_SERIES = 10_000;

type Series = Iterable<readonly [Labels, number]>;
type PoolState = Pick<ClusterState, 'pools' | 'lost' | 'pool'>;

interface Reconciled {
  /** Milliseconds since 1970. */
  succeededAt?: number;
  invalidRecords: number;
}

export class PoolMetrics {
  readonly #registry: Registry;
  readonly #now: () => Date;
  /** Since this process started. Pools that are gone are left out when the metrics are read. */
  readonly #reconciled = new Map<string, Reconciled>();
  #state: PoolState | undefined;
  #leads = () => false;

  /** @param version of this program */
  constructor(registry: Registry, { now, version }: { now: () => Date; version: string }) {
    this.#registry = registry;
    this.#now = now;
    registry.gauge('nodepool_build_info', 'Always 1; the label has the version.', ['version']).set(1, { version });
    this.#define();
  }

  /** @param leads whether this process reconciles */
  follow(state: PoolState, leads: () => boolean): void {
    this.#state = state;
    this.#leads = leads;
  }

  /** A reconcile of the pool ended without a failure. */
  succeeded(pool: string): void {
    this.#of(pool).succeededAt = this.#now().getTime();
  }

  /** What was written on nodes: counts the records that no pool can have written. */
  moved(moves: readonly NodeMove[]): void {
    for (const { from, to, invalidRecord } of moves) {
      const pool = to ?? from;
      if (invalidRecord !== undefined && pool !== undefined) this.#of(pool).invalidRecords++;
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
      'Members that carry the labels and taints of the pool.',
      status => status.updatedNodeCount,
    );
    ofStatus('nodepool_nodes_drifted', 'Members that do not carry the labels and taints of the pool.', drifted);
    gauge(
      'nodepool_nodes_conflicting',
      'Nodes that match the pool and belong to another one.',
      ({ metadata }) => this.#state?.lost(metadata.name).length,
    );
    ofStatus('nodepool_pods', 'Pods on the members. Only with --pod-counts.', status => status.podCount);
    ofStatus(
      'nodepool_status_code',
      'status.status: 200 normal, 409 conflict, 422 invalid spec, 500 failing writes or invalid quantities, 503 no node is Ready.',
      status => status.status,
    );
    gauge('nodepool_generation', 'metadata.generation: changes with the spec.', pool => pool.metadata.generation);
    gauge(
      'nodepool_observed_generation',
      'The generation that the status describes; 0 before the first reconcile.',
      ({ status }) => (status?.status === undefined ? 0 : status.observedGeneration),
    );
    gauge(
      'nodepool_last_success_timestamp_seconds',
      'When a reconcile of the pool last ended without a failure, in seconds since 1970. Missing until the first one in this process.',
      ({ metadata }) => seconds(this.#reconciled.get(metadata.name)?.succeededAt),
    );
    this.#each(
      {
        name: 'nodepool_invalid_records_total',
        type: 'counter',
        help: 'Records on members that no pool can have written, and that were replaced.',
        labels: ['pool'],
      },
      ({ metadata }) => this.#reconciled.get(metadata.name)?.invalidRecords ?? 0,
    );
    this.#registry.collect(
      {
        name: 'nodepool_allocatable',
        type: 'gauge',
        help: 'Sum of what the members can allocate, in the unit of the resource: cores, bytes, pieces.',
        labels: ['pool', 'resource'],
      },
      () => this.#allocatable().slice(0, MAX_RESOURCE_SERIES),
    );
    this.#registry.collect(
      { name: 'nodepool_pools', type: 'gauge', help: 'All pools, also those without series of their own.', labels: [] },
      () => (this.#isShown() ? [[{}, [...(this.#state?.pools() ?? [])].length]] : []),
    );
    this.#registry.collect(
      {
        name: 'nodepool_omitted_series',
        type: 'gauge',
        help: `Series of nodepool_allocatable beyond ${MAX_RESOURCE_SERIES}, and pools beyond ${MAX_POOLS}, which are left out.`,
        labels: [],
      },
      () => (this.#isShown() ? [[{}, this.#omitted()]] : []),
    );
  }

  #each(info: MetricInfo, value: (pool: NodePool) => number | undefined): void {
    const read = (): Series =>
      this.#pools().flatMap(pool => {
        const found = value(pool);
        return found === undefined ? [] : [[{ pool: pool.metadata.name }, found] as const];
      });
    this.#registry.collect(info, read);
  }

  #isShown(): boolean {
    return this.#state !== undefined && this.#leads();
  }

  /** Those with series. */
  #pools(): NodePool[] {
    if (this.#state === undefined || !this.#leads()) return [];
    for (const name of this.#reconciled.keys()) {
      if (this.#state.pool(name) === undefined) this.#reconciled.delete(name);
    }
    const pools = [...this.#state.pools()];
    return pools.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).slice(0, MAX_POOLS);
  }

  #allocatable(): (readonly [Labels, number])[] {
    return this.#pools().flatMap(({ metadata, status }) =>
      Object.entries(status?.allocatable ?? {}).map(
        ([resource, text]) => [{ pool: metadata.name, resource }, numberOf(text)] as const,
      ),
    );
  }

  #omitted(): number {
    const pools = [...(this.#state?.pools() ?? [])].length;
    return Math.max(0, pools - MAX_POOLS) + Math.max(0, this.#allocatable().length - MAX_RESOURCE_SERIES);
  }
}

function drifted({ nodeCount, updatedNodeCount }: NodePoolStatus): number | undefined {
  return updatedNodeCount === undefined ? undefined : nodeCount - updatedNodeCount;
}

function seconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1000;
}

/** NaN, which Prometheus knows, for what is no quantity: anyone who may write the status can put it there. */
function numberOf(quantity: string): number {
  try {
    return quantityToNumber(parseQuantity(quantity));
  } catch {
    return Number.NaN;
  }
}
