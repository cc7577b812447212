/** The clock of the resync: when everything is to be compared with the server again, whatever the watches told. */
import type { Clock } from './clock.ts';

const TICK_MS = 1_000;
/** A tick that comes this late was not held up by work: the process was stopped, or the machine slept. */
const PAUSE_MS = 5_000;

export interface ResyncOptions {
  /** Milliseconds between two calls. */
  everyMs: number;
  clock: Clock;
  /** The time of day: a clock that only grows may stand still while the machine sleeps. */
  wall: () => Date;
}

export interface ResyncCalls {
  /** Every so often. */
  onInterval: () => void;
  /**
   * As soon as the process goes on after a time in which it did not run: its connections may be those of a server whose
   * etcd was restored meanwhile, and has caught up since. The interval begins anew.
   */
  onPause: () => void;
}

/** Returns what ends the calls. */
export function startResync({ everyMs, clock, wall }: ResyncOptions, { onInterval, onPause }: ResyncCalls): () => void {
  let due = clock.now() + everyMs;
  let cancel = () => {};
  const tick = () => {
    const [slept, woke] = [clock.now(), wall().getTime()];
    cancel = clock.after(TICK_MS, () => {
      const passed = Math.max(clock.now() - slept, wall().getTime() - woke);
      const isPause = passed > TICK_MS + PAUSE_MS;
      if (isPause || clock.now() >= due) {
        due = clock.now() + everyMs;
        if (isPause) onPause();
        else onInterval();
      }
      tick();
    });
  };
  tick();
  return () => cancel();
}
