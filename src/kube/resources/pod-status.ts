/** READY, STATUS and RESTARTS of a pod that has a node, as the server prints them for `kubectl get pods`. */
import type { V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import type { Wire } from '../wire.ts';

export interface PodStatus {
  /** `1/2`: ready containers. */
  ready: string;
  status: string;
  restarts: number;
}

type Container = Wire<V1ContainerStatus>;

export function podStatusOf({ metadata, spec, status }: Wire<V1Pod>): PodStatus {
  const { phase = 'Unknown', conditions = [], containerStatuses = [] } = status ?? {};
  const initContainers = spec?.initContainers ?? [];
  const sidecars = new Set(
    initContainers.flatMap(({ name, restartPolicy }) => (restartPolicy === 'Always' ? name : [])),
  );
  const is = (condition: string) => conditions.find(({ type }) => type === condition)?.status === 'True';
  const start = startOf(status?.initContainerStatuses ?? [], sidecars, initContainers.length);
  let { ready, restarts } = start;
  let shown = start.reason ?? (status?.reason || phase);
  if (start.reason === undefined || is('Initialized')) {
    const running = containerStatuses.filter(({ ready, state }) => ready && isRunning(state)).length;
    ready += running;
    restarts = start.sidecarRestarts + sum(containerStatuses);
    // The first container with a reason is shown.
    shown = containerStatuses.map(({ state }) => reasonOf(state)).find(reason => reason !== undefined) ?? shown;
    if (shown === 'Completed' && running > 0) shown = is('Ready') ? 'Running' : 'NotReady';
  }
  if (metadata?.deletionTimestamp !== undefined) {
    if (status?.reason === 'NodeLost') shown = 'Unknown';
    else if (phase !== 'Succeeded' && phase !== 'Failed') shown = 'Terminating';
  }
  return { ready: `${ready}/${(spec?.containers?.length ?? 0) + sidecars.size}`, status: shown, restarts };
}

interface Start {
  /** Why the first unfinished init container waits; undefined if all are finished. */
  reason: string | undefined;
  /** Number of ready sidecars. */
  ready: number;
  /** Restarts of all init containers up to that one. */
  restarts: number;
  sidecarRestarts: number;
}

function startOf(statuses: readonly Container[], sidecars: ReadonlySet<string>, total: number): Start {
  const isSidecar = ({ name }: Container) => sidecars.has(name);
  const isDone = (each: Container) =>
    each.state?.terminated?.exitCode === 0 || (isSidecar(each) && each.started === true);
  const open = statuses.findIndex(each => !isDone(each));
  const seen = open === -1 ? statuses : statuses.slice(0, open + 1);
  const up = seen.filter(
    each => isSidecar(each) && each.started && each.ready && each.state?.terminated?.exitCode !== 0,
  );
  const counts = { ready: up.length, restarts: sum(seen), sidecarRestarts: sum(seen.filter(isSidecar)) };
  const { terminated, waiting } = statuses[open]?.state ?? {};
  const why = terminated === undefined ? waiting?.reason : reasonOf({ terminated });
  const isNamed = why !== undefined && why !== '' && (terminated !== undefined || why !== 'PodInitializing');
  return { reason: open === -1 ? undefined : `Init:${isNamed ? why : `${open}/${total}`}`, ...counts };
}

function reasonOf({ waiting, terminated }: Wire<V1ContainerState> = {}): string | undefined {
  if (waiting?.reason) return waiting.reason;
  if (terminated === undefined) return undefined;
  const { reason, signal = 0, exitCode } = terminated;
  return reason || (signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`);
}

function isRunning(state: Wire<V1ContainerState> | undefined): boolean {
  return state?.running !== undefined && reasonOf(state) === undefined;
}

function sum(containers: readonly Container[]): number {
  return containers.reduce((total, { restartCount = 0 }) => total + restartCount, 0);
}
