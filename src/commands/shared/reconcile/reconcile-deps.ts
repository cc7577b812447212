import { showWarning } from '../../../cli/error-line.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import { sleep, systemClock } from '../../../controller/clock.ts';
import { plural } from '../../../nodepool/plural.ts';
import type { ApplyDeps } from './apply.ts';
import { evictionLine } from './eviction-line.ts';

interface Spinner {
  stop(): void;
  /** Hides it while the work uses the terminal. */
  aside<T>(work: () => Promise<T>): Promise<T>;
}

/** The dependencies of an operation that writes nodes, with a spinner that counts them. */
export async function reconcileDeps(
  { io, progress }: Deps,
  { cluster, events }: Connection,
  text: string,
  { quiet = false } = {},
): Promise<ApplyDeps & Spinner> {
  let spinner = await progress(text);
  const started = io.now().getTime();
  let [done, total, evicted, asked] = [0, 0, 0, 0];
  const show = () => {
    const seconds = (io.now().getTime() - started) / 1000;
    const rate = done > 0 && seconds > 0.5 ? `, ${Math.round(done / seconds)}/s` : '';
    const pods = asked === 0 ? '' : `; ${evicted}/${plural(asked, 'pod')} evicted`;
    spinner.update(`${text}: ${done}/${plural(total, 'node')}${rate}${pods}`);
  };
  return {
    cluster,
    events,
    now: io.now,
    clock: systemClock,
    sleep: ms => sleep(systemClock, ms),
    progress: {
      planned(nodes) {
        total += nodes;
        show();
      },
      done() {
        done++;
        show();
      },
    },
    onEviction(event) {
      if (event.kind === 'asking') asked++;
      if (event.kind === 'gone') evicted++;
      show();
      // On a terminal the spinner counts pods; what one of them waits for is worth a line.
      if (!quiet && (event.kind === 'held' || !io.stderrIsTTY)) io.err(evictionLine(event));
    },
    warn: warnings => {
      for (const warning of warnings) showWarning(io, warning);
    },
    stop: () => spinner.stop(),
    async aside(work) {
      spinner.stop();
      try {
        return await work();
      } finally {
        spinner = await progress(text);
      }
    },
  };
}
