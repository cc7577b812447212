/** The metrics of a controller process, with the names of controller-runtime and client-go. */
import type { ControllerMetrics } from './controller.ts';
import type { Registry } from './metrics.ts';
import type { QueueMetrics } from './work-queue.ts';

/** In seconds; fewer buckets than in controller-runtime and client-go. */
const RECONCILE_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const QUEUE_BOUNDS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];

/** controller-runtime's names of the results. */
const RESULTS = {
  done: 'success',
  requeueAfter: 'requeue_after',
  requeue: 'requeue_after',
  error: 'error',
} as const;

export interface StandardMetrics {
  queue(name: string): QueueMetrics;
  controller(name: string): ControllerMetrics;
  leader(lease: string, isLeader: boolean): void;
  /** A cache detected that etcd was restored from a backup. */
  restored(): void;
  /** @param code HTTP status, or `<error>` if there was no response */
  request(code: string, method: string, host: string): void;
}

export function standardMetrics(registry: Registry): StandardMetrics {
  const total = registry.counter('controller_runtime_reconcile_total', 'Reconciles per controller and result.', [
    'controller',
    'result',
  ]);
  const time = registry.histogram(
    'controller_runtime_reconcile_time_seconds',
    'Length of time per reconcile.',
    RECONCILE_BOUNDS,
    ['controller'],
  );
  const errors = registry.counter('controller_runtime_reconcile_errors_total', 'Failed reconciles per controller.', [
    'controller',
  ]);
  const active = registry.gauge('controller_runtime_active_workers', 'Active workers.', ['controller']);
  const most = registry.gauge('controller_runtime_max_concurrent_reconciles', 'Workers.', ['controller']);
  const depth = registry.gauge('workqueue_depth', 'Keys waiting in the queue, including retries.', ['name']);
  const adds = registry.counter('workqueue_adds_total', 'Keys added.', ['name']);
  const retries = registry.counter('workqueue_retries_total', 'Keys added again after a failure.', ['name']);
  const waited = registry.histogram('workqueue_queue_duration_seconds', 'Time in the queue.', QUEUE_BOUNDS, ['name']);
  const worked = registry.histogram('workqueue_work_duration_seconds', 'Processing time.', QUEUE_BOUNDS, ['name']);
  const unfinished = registry.gauge(
    'workqueue_unfinished_work_seconds',
    'Total seconds of unfinished work; a value that keeps growing means that a worker is stuck.',
    ['name'],
  );
  const longest = registry.gauge(
    'workqueue_longest_running_processor_seconds',
    'Seconds that the longest running worker has been working on its key.',
    ['name'],
  );
  const master = registry.gauge('leader_election_master_status', '1 when this process is leader, else 0.', ['name']);
  const restores = registry.counter(
    'controller_etcd_restores_total',
    'Full relists because etcd was restored from a backup.',
  );
  const requests = registry.counter('rest_client_requests_total', 'HTTP requests by status code, method and host.', [
    'code',
    'method',
    'host',
  ]);
  restores.inc({}, 0);
  return {
    queue: name => {
      depth.set(0, { name });
      for (const counter of [adds, retries]) counter.inc({ name }, 0);
      return {
        depth: keys => depth.set(keys, { name }),
        added: () => adds.inc({ name }),
        retried: () => retries.inc({ name }),
        waited: seconds => waited.observe(seconds, { name }),
        worked: seconds => worked.observe(seconds, { name }),
        running: seconds => {
          unfinished.follow(() => seconds().reduce((sum, each) => sum + each, 0), { name });
          longest.follow(() => Math.max(0, ...seconds()), { name });
        },
      };
    },
    controller: controller => {
      active.set(0, { controller });
      for (const result of Object.values(RESULTS)) total.inc({ controller, result }, 0);
      errors.inc({ controller }, 0);
      return {
        workers: count => most.set(count, { controller }),
        active: count => active.set(count, { controller }),
        reconciled: (result, seconds) => {
          total.inc({ controller, result: RESULTS[result] });
          if (result === 'error') errors.inc({ controller });
          time.observe(seconds, { controller });
        },
      };
    },
    restored: () => restores.inc({}),
    leader: (name, isLeader) => master.set(isLeader ? 1 : 0, { name }),
    request: (code, method, host) => requests.inc({ code, method, host }),
  };
}
