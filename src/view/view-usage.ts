/** Requests and usage for the dashboard: read only while shown, and slowly, because every pod is read. */
import { USAGE_WAIT_MS } from '../commands/shared/top/top.ts';
import type { Clock } from '../controller/clock.ts';
import type { Connection } from '../kube/connect.ts';
import type { NodeUsage, PodDemand, PodsPort } from '../kube/resources/pods.ts';
import { NodepoolError } from '../nodepool/errors.ts';

export type LiveUsage =
  | { kind: 'reading' }
  /** Until the next read. */
  | { kind: 'failed'; message: string }
  | { kind: 'read'; demand: PodDemand; used: NodeUsage };

export interface UsagePoll {
  /** Starts or stops reading; keeps the last values. When shown again, reads once the next read is due. */
  setShown(isShown: boolean): void;
  current(): LiveUsage;
  /** Increases with every read. */
  version(): number;
}

export interface UsageDeps {
  pods: Pick<PodsPort, 'demand'>;
  nodeUsage: Connection['nodeUsage'];
  clock: Clock;
  /** Called after every read. */
  onChange: () => void;
}

const INTERVAL_MS = 30_000;
/** After a read, waits this many times as long as the read took: many pods cost the server at most 1/20 of the time. */
const REST_FACTOR = 20;

export function createUsagePoll({ pods, nodeUsage, clock, onChange }: UsageDeps): UsagePoll {
  let current: LiveUsage = { kind: 'reading' };
  let version = 0;
  let shown = false;
  let isReading = false;
  /** In the clock's time; also limits reads when usage is hidden and shown again. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let cancelNext: (() => void) | undefined;

  async function readOnce(): Promise<void> {
    isReading = true;
    const start = clock.now();
    current = await readUsage();
    isReading = false;
    version += 1;
    nextAt = clock.now() + Math.max(INTERVAL_MS, (clock.now() - start) * REST_FACTOR);
    onChange();
    if (shown && cancelNext === undefined) schedule();
  }

  function schedule(): void {
    const delay = nextAt - clock.now();
    if (delay > 0) cancelNext = clock.after(delay, next);
    else next();
  }

  function unschedule(): void {
    cancelNext?.();
    cancelNext = undefined;
  }

  function next(): void {
    cancelNext = undefined;
    // A rejection is a bug and ends the program as an unhandled one.
    void readOnce();
  }

  async function readUsage(): Promise<LiveUsage> {
    const late = new AbortController();
    let cancel: (() => void) | undefined;
    const demanded = async () => {
      const demand = await pods.demand();
      cancel = clock.after(USAGE_WAIT_MS, () => late.abort());
      return demand;
    };
    try {
      const [demand, used] = await Promise.all([demanded(), nodeUsage(late.signal)]);
      return { kind: 'read', demand, used };
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      return { kind: 'failed', message: error.oneLine };
    } finally {
      cancel?.();
    }
  }

  return {
    current: () => current,
    version: () => version,
    setShown(isShown) {
      if (isShown === shown) return;
      shown = isShown;
      if (!shown) unschedule();
      else if (!isReading) schedule();
    },
  };
}
