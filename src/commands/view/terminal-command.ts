/** `D`, `r`, and `c` and `u` on a pool, in the dashboard: run the kubectl nodepool command on the restored terminal. */
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import type { Flags } from '../../cli/completion/grammar.ts';
import { readWords } from '../../cli/completion/words.ts';
import { EXIT, noteLine, reportError, showError } from '../../cli/errors.ts';
import type { Io } from '../../cli/io.ts';
import { endBySignal, onEndingSignal } from '../../cli/signals.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import type { TerminalCommand } from '../../view/places.ts';

export interface CommandShell {
  io: Io;
  version: string;
  flags: Flags;
  clusterName: string;
  run: (words: string[]) => Promise<unknown>;
}

/** The longest time that a terminal takes to send the rest of a key sequence after esc. */
const ESCAPE_MS = 50;

/** Moves the cursor to the first line and clears the screen. */
const HOME = '\x1b[H\x1b[J';

/** Asks for flags, runs the command, which shows its plan and asks, and waits for a key. Prints errors. */
export async function runOnTerminal(
  { command: name, pool, node }: TerminalCommand,
  { io, version, flags, clusterName, run }: CommandShell,
): Promise<void> {
  const command = `kubectl nodepool ${name}`;
  const target = [pool, ...(node === undefined ? [] : ['--node', node])];
  const nodes = name === 'reconcile' ? `pool ${pool}` : `all nodes of pool ${pool}`;
  const what = node === undefined ? nodes : `node ${node} of pool ${pool}`;
  const example = name === 'drain' ? '--ignore-daemonsets' : '--dry-run';
  // Only stdout has the new width after a resize.
  const { columns = io.columns, rows = 24 } = io.stdout as NodeJS.WriteStream;
  // Scrolls the output of earlier commands out of sight; it stays in the scrollback.
  io.stdout.write(`${'\n'.repeat(rows)}${HOME}`);
  io.err(noteLine(sanitizeLine(`This ${name}s ${what} on cluster ${clusterName}.`), columns));
  io.err(noteLine(`Add flags such as ${example} and press enter; esc returns to the view.`, columns));
  const typed = await askForFlags(name, `$ ${command} ${sanitizeLine(target.join(' '))} `, io, flags);
  if (typed === undefined) return;
  const words = [...target, ...typed];
  try {
    await run(words);
  } catch (error) {
    const line = { words: [name, ...words], verbosity: 0, jsonLog: false };
    reportError(error, { io, line, version, command, flags: [] });
  }
  await question(io, 'Press enter to return to the view. ');
}

/** Asks until the line has only flags: a stray word such as `y` would be the name of another pool to drain. */
async function askForFlags(command: string, prompt: string, io: Io, flags: Flags): Promise<string[] | undefined> {
  for (;;) {
    const typed = await question(io, prompt);
    if (typed === undefined || typed.trim() === 'q') return undefined;
    const words = shellWords(typed);
    const [stray] = readWords([command, ...(words ?? []), ''], { [command]: { args: {}, flags } }).earlierArgs;
    if (words !== undefined && stray === undefined && !words.includes('--')) return words;
    const message = words === undefined ? 'a quote is not closed' : `"${stray ?? '--'}" is not a flag`;
    showError(io, { message, next: 'type only flags with their values, or nothing, then press enter' });
  }
}

/** The typed line; undefined after esc, Ctrl-C and Ctrl-D. Uses stdout, which is the terminal. */
async function question({ stdin: input, stdout: output }: Io, text: string): Promise<string | undefined> {
  // After Ctrl-D at a question of the command, readline would wait forever.
  if (input.readableEnded) return undefined;
  // In terminal mode esc and Ctrl-C are keys.
  const lines = createInterface({ input, output, terminal: true, historySize: 0, escapeCodeTimeout: ESCAPE_MS });
  const onKey = (_: unknown, { name }: { name?: string }) => {
    if (name === 'escape') lines.close();
  };
  input.on('keypress', onKey);
  // Leaves the terminal's raw mode before the signal ends the process.
  const unsubscribe = onEndingSignal(signal => {
    lines.close();
    endBySignal(signal);
    process.exit(EXIT.interrupted);
  });
  const typed = await new Promise<string | undefined>(resolve => {
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => resolve(undefined));
    lines.question(text, resolve);
  });
  unsubscribe();
  input.off('keypress', onKey);
  lines.close();
  // The cursor is still on the line of the question.
  if (typed === undefined) output.write('\n');
  // close() pauses stdin one tick later; a reader that starts before that would get nothing.
  await setImmediate();
  return typed;
}

/** A word in a POSIX shell: plain characters, '…', "…" and \x in any order; an unclosed quote is no word. */
const WORD = /(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gsu;
const PIECE = /\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"/gsu;

/** The words of the line without quotes; nothing is expanded. Undefined if a quote or an escape is unfinished. */
export function shellWords(line: string): string[] | undefined {
  if (line.replace(WORD, '').trim() !== '') return undefined;
  return (line.match(WORD) ?? []).map(word =>
    word.replace(
      PIECE,
      (_, escaped?: string, single?: string, double?: string) =>
        escaped ?? single ?? (double ?? '').replace(/\\(["\\$`])/g, '$1'),
    ),
  );
}
