/** Dependencies of an operation that writes nodes, with a spinner, and lines about failures and evictions. */
import { type ErrorIo, errorLine, errorWidth, showNote, showWarning } from '../../../cli/errors.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import { sleep, systemClock } from '../../../controller/clock.ts';
import { plural } from '../../../nodepool/text.ts';
import { shorten } from '../../../print/cells.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { EvictionEvent } from '../../../reconciler/evict/evictor.ts';
import { summarized, type WriteFailure } from '../../../reconciler/outcome.ts';
import type { ApplyOptions } from './apply.ts';

interface Spinner {
  stop(): void;
  /** Hides the spinner while the work uses the terminal. */
  aside<T>(work: () => Promise<T>): Promise<T>;
}

/** The dependencies of an operation that writes nodes, with a spinner that counts them. */
export async function reconcileDeps(
  { io, progress }: Deps,
  { cluster, events }: Connection,
  text: string,
  { concurrency, quiet = false }: { concurrency: number; quiet?: boolean },
): Promise<ApplyOptions & Spinner> {
  let spinner = await progress(text);
  let isStopped = false;
  const started = io.now().getTime();
  let [done, total, evicted, requested] = [0, 0, 0, 0];
  const show = () => {
    const seconds = (io.now().getTime() - started) / 1000;
    const rate = done > 0 && seconds > 0.5 ? `, ${Math.round(done / seconds)}/s` : '';
    const pods = requested === 0 ? '' : `; ${evicted}/${plural(requested, 'pod')} evicted`;
    spinner.update(`${text}: ${done}/${plural(total, 'node')}${rate}${pods}`);
  };
  return {
    cluster,
    events,
    concurrency,
    now: () => io.serverNow(),
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
      if (event.kind === 'asking') requested++;
      if (event.kind === 'gone') evicted++;
      show();
      // On a terminal the spinner counts pods; a line is only printed for a blocked pod.
      if (!quiet && (event.kind === 'blocked' || !io.stderrIsTTY)) showNote(io, evictionLine(event));
    },
    warn: warnings => {
      for (const warning of warnings) showWarning(io, warning);
    },
    stop() {
      isStopped = true;
      spinner.stop();
    },
    async aside(work) {
      spinner.stop();
      try {
        return await work();
      } finally {
        // A question that Ctrl-C cancelled may end after the run.
        if (!isStopped) spinner = await progress(text);
        if (isStopped) spinner.stop();
      }
    },
  };
}

// Failed writes as lines for stderr.

/** Nodes with the same failure share a line. @param about precedes each message @param said next steps so far */
export function failureLines(
  failures: readonly WriteFailure[],
  about?: string,
  said = new Set<string>(),
  width?: number,
): string[] {
  return summarized(failures).map(({ message, next }) => {
    if (next === undefined || said.has(next)) return errorLine({ message }, about, width);
    said.add(next);
    return errorLine({ message, next }, about, width);
  });
}

export function showFailures(io: ErrorIo, failures: readonly WriteFailure[], about?: string, said?: Set<string>): void {
  for (const line of failureLines(failures, about, said, errorWidth(io))) io.err(line);
}

// A line about an evicted pod, in the wording of kubectl drain.

/** Maximum characters of why a pod waits. */
export const WAIT_WIDTH = 1000;

export function evictionLine(event: EvictionEvent): string {
  switch (event.kind) {
    case 'asking':
      return sanitizeLine(`evicting pod ${event.pod}`);
    case 'gone':
      return sanitizeLine(`pod ${event.pod} evicted`);
    case 'blocked':
      // The reason may come from a webhook, with any length and with newlines.
      return sanitizeLine(`pod ${event.pod} on node ${event.node} waits for ${shorten(event.why, WAIT_WIDTH)}`);
  }
}
