/** Triggers a resync: everything is compared with the server, independently of the watches. */
import type { Clock } from './clock.ts';

const TICK_MS = 1_000;
/** A tick that is later than this means that the process was suspended or the machine slept. */
const PAUSE_MS = 5_000;

interface ResyncOptions {
  /** Milliseconds between two calls of onInterval. */
  everyMs: number;
  clock: Clock;
  /** The time of day: a monotonic clock may stop while the machine sleeps. */
  wall: () => Date;
}

interface ResyncCalls {
  onInterval: () => void;
  /** Called as soon as the process continues after a suspension: etcd may have been restored. Restarts the interval. */
  onPause: () => void;
}

export interface Resync {
  /** Calls onPause() if the process was just suspended. Call it before work that must not rely on older state. */
  detectPause(): void;
  stop(): void;
}

export function startResync({ everyMs, clock, wall }: ResyncOptions, { onInterval, onPause }: ResyncCalls): Resync {
  let resyncAt = clock.now() + everyMs;
  let [seen, seenAt] = [clock.now(), wall().getTime()];
  let cancel = () => {};
  const detectPause = () => {
    const passed = Math.max(clock.now() - seen, wall().getTime() - seenAt);
    [seen, seenAt] = [clock.now(), wall().getTime()];
    if (passed <= TICK_MS + PAUSE_MS) return;
    resyncAt = clock.now() + everyMs;
    onPause();
  };
  const tick = () => {
    cancel = clock.after(TICK_MS, () => {
      detectPause();
      if (clock.now() >= resyncAt) {
        resyncAt = clock.now() + everyMs;
        onInterval();
      }
      tick();
    });
  };
  tick();
  return { detectPause, stop: () => cancel() };
}
