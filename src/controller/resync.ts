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

export interface Resync {
  /** Calls onPause() where the process did not run until just now: before what must not rest on the time before that. */
  look(): void;
  /** Ends the calls. */
  stop(): void;
}

export function startResync({ everyMs, clock, wall }: ResyncOptions, { onInterval, onPause }: ResyncCalls): Resync {
  let due = clock.now() + everyMs;
  let [seen, seenAt] = [clock.now(), wall().getTime()];
  let cancel = () => {};
  const look = () => {
    const passed = Math.max(clock.now() - seen, wall().getTime() - seenAt);
    [seen, seenAt] = [clock.now(), wall().getTime()];
    if (passed <= TICK_MS + PAUSE_MS) return;
    due = clock.now() + everyMs;
    onPause();
  };
  const tick = () => {
    cancel = clock.after(TICK_MS, () => {
      look();
      if (clock.now() >= due) {
        due = clock.now() + everyMs;
        onInterval();
      }
      tick();
    });
  };
  tick();
  return { look, stop: () => cancel() };
}
