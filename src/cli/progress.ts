import { sanitizeLine } from '../render/sanitize.ts';
import type { Io } from './io.ts';

export interface Progress {
  /** Replaces the text. May be called as often as one likes: it is drawn twelve times a second at most. */
  update(text: string): void;
  /** Takes the spinner away; the final text, if any, stays on its line. */
  stop(finalText?: string): void;
}

/** A Progress that its maker may take away while somebody else writes to the terminal. */
export interface Spinner extends Progress {
  hide(hidden: boolean): void;
}

/** Where nothing is drawn: who has more to say may say it in lines. */
export const SILENT: Spinner = { update() {}, stop() {}, hide() {} };

/** A spinner on stderr while something lasts. Silent, both calls included, unless stderr is a terminal. */
export async function progress(io: Io, text: string): Promise<Spinner> {
  if (!io.stderrIsTTY || io.env.TERM === 'dumb' || io.env.CI || hasNoWidth(io.stderr)) return SILENT;
  const { default: ora } = await import('ora');
  const spinner = ora({
    text: sanitizeLine(text),
    stream: io.stderr as NodeJS.WriteStream,
    color: io.errorColor ? 'cyan' : false,
    isEnabled: true,
    // ora's raw mode on stdin would swallow Ctrl-C.
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
    stop(finalText) {
      stopped = true;
      spinner.stop();
      if (finalText !== undefined) io.err(finalText);
    },
  };
}

/** A terminal that nobody gave a size, as `script` and `docker exec -t` make them: ora would clear lines for ever. */
function hasNoWidth(stream: Io['stderr']): boolean {
  return (stream as Partial<NodeJS.WriteStream>).columns === 0;
}
