/** `D` in the dashboard: runs `kubectl nodepool drain` on the restored terminal. */
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import type { Io } from '../../cli/io.ts';
import { reportError } from '../../cli/report-error.ts';
import { sanitizeLine } from '../../render/sanitize.ts';

export interface DrainShell {
  io: Io;
  /** This program's version. */
  version: string;
  /** Runs the command with these words. */
  run: (words: string[]) => Promise<unknown>;
}

/**
 * Asks for the flags, runs the command, which shows its plan and asks, and waits for a key. Errors are printed.
 * @param flags those that chose the cluster
 */
export async function drainOnTerminal(pool: string, flags: readonly string[], shell: DrainShell): Promise<void> {
  const { io, version, run } = shell;
  const command = 'kubectl nodepool drain';
  io.stderr.write(
    'Add flags such as --ignore-daemonsets or --dry-run=server, and press enter; q returns to the view.\n',
  );
  const typed = await question(io, `$ ${command} ${sanitizeLine(pool)} `);
  if (typed === undefined || typed.trim() === 'q') return;
  const words = [pool, ...typed.split(/\s+/).filter(Boolean), ...flags];
  try {
    await run(words);
  } catch (error) {
    const line = { words: ['drain', ...words], verbosity: 0, jsonLog: false };
    reportError(error, { io, line, version, command, flags: [] });
  }
  await question(io, 'Press enter to return to the view. ');
}

/** The line that is typed; undefined after Ctrl-D. */
async function question(io: Io, text: string): Promise<string | undefined> {
  // In its terminal mode readline would handle Ctrl-C.
  const lines = createInterface({ input: io.stdin, terminal: false });
  io.stderr.write(text);
  try {
    for await (const line of lines) return line;
    io.err('');
    return undefined;
  } finally {
    lines.close();
    // Its pause stops stdin a tick later; a reader that begins before that would get nothing.
    await setImmediate();
  }
}
