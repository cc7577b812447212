import { sanitizeLine } from '../print/sanitize.ts';
import type { Io } from './io.ts';

export interface Progress {
  /** Replaces the text; ora draws at most 12 times per second. */
  update(text: string): void;
  stop(): void;
}

/** A Progress that its owner can hide while something else writes to the terminal. */
export interface Spinner extends Progress {
  hide(hidden: boolean): void;
}

/** Draws nothing, for callers that print lines instead. */
export const SILENT: Spinner = { update() {}, stop() {}, hide() {} };

/** A spinner on stderr; SILENT unless stderr is a terminal. */
export async function progress(io: Io, text: string): Promise<Spinner> {
  if (!io.stderrIsTTY || io.env.TERM === 'dumb' || io.env.CI || hasNoWidth(io.stderr)) return SILENT;
  const { default: ora } = await import('ora');
  const spinner = ora({
    text: sanitizeLine(text),
    stream: io.stderr as NodeJS.WriteStream,
    color: io.errorColor ? 'cyan' : false,
    isEnabled: true,
    // ora's raw mode for stdin would swallow Ctrl-C.
    discardStdin: false,
  }).start();
  let stopped = false;
  return {
    update(next) {
      spinner.text = sanitizeLine(next);
    },
    hide(hidden) {
      if (hidden) spinner.stop();
      else if (!stopped) spinner.start();
    },
    stop() {
      stopped = true;
      spinner.stop();
    },
  };
}

/** A terminal without a size, as `script` and `docker exec -t` create it: ora would clear lines forever. */
function hasNoWidth(stream: Io['stderr']): boolean {
  return (stream as Partial<NodeJS.WriteStream>).columns === 0;
}
