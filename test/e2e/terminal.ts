/** A terminal: a pty around the product, and an emulator of its screen. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import pty from '@lydell/node-pty';
import xterm, { type IBuffer } from '@xterm/headless';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { productCommand } from '../cluster/product.ts';
import { eventually } from './watching.ts';

export interface Terminal {
  /** The lines on the screen, without trailing spaces. */
  screen(): string;
  /** The cells of the screen. */
  buffer(): IBuffer;
  /** All output of the program, with escape sequences. */
  written(): string;
  /** Whether the alternate screen is active. */
  isAlternate(): boolean;
  /** Types; a name in braces is a key: `{enter}`. */
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Waits until the screen matches; returns it. */
  shows(what: RegExp): Promise<string>;
  /** Types, and waits until what the program writes from then on matches: the screen may still show an earlier question. */
  asks(keys: string, what: RegExp): Promise<void>;
  /** The screen once it has been stable for a while. */
  settled(): Promise<string>;
  pid: number;
  /** The exit code, and the signal that ended it, if any. */
  exit: Promise<{ exitCode: number; signal?: number }>;
}

const KEYS: Readonly<Record<string, string>> = {
  '{enter}': '\r',
  '{esc}': '\u001b',
  '{up}': '\u001b[A',
  '{down}': '\u001b[B',
  '{right}': '\u001b[C',
  '{left}': '\u001b[D',
  '{pgdn}': '\u001b[6~',
  '{end}': '\u001b[F',
  '{home}': '\u001b[H',
  '{backspace}': '\u007f',
  '{ctrl-c}': '\u0003',
  '{ctrl-d}': '\u0004',
  '{ctrl-l}': '\u000c',
};

/** Longer than the dashboard waits before it draws changes. */
const STILL_MS = 600;

interface Options {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

/** Runs the product with these arguments. It ends with the test. */
export function openTerminal(
  t: { after(fn: () => unknown): void },
  cluster: ControlPlane,
  args: readonly string[],
  options: Options = {},
): Terminal {
  return openCommand(t, cluster, [...productCommand(), ...args], options);
}

/** Runs any command line. */
export function openCommand(
  t: { after(fn: () => unknown): void },
  { kubeconfig, dir }: ControlPlane,
  [program = '', ...args]: readonly string[],
  { columns = 80, rows = 24, env = {} }: Options = {},
): Terminal {
  const emulator = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  const { PATH = '' } = process.env;
  const child = pty.spawn(program, args, {
    cols: columns,
    rows,
    // node-pty sets TERM to this name, whatever env says.
    name: env.TERM ?? 'xterm-256color',
    env: { PATH, HOME: dir, KUBECONFIG: kubeconfig, LANG: 'C.UTF-8', ...env },
  });
  let written = '';
  child.onData(data => {
    written += data;
    emulator.write(data);
  });
  // The emulator parses later than it is given text: a test that has waited for the end reads the last screen.
  const exit = new Promise<{ exitCode: number; signal?: number }>(resolve =>
    child.onExit(ended => emulator.write('', () => resolve(ended))),
  );
  t.after(async () => {
    try {
      child.kill('SIGKILL');
    } catch {
      // The process has ended.
    }
    await exit;
  });
  const screen = () => {
    const { active } = emulator.buffer;
    return Array.from({ length: emulator.rows }, (_, row) =>
      // A line keeps its text from when the terminal was wider.
      active.getLine(active.baseY + row)?.translateToString(true, 0, emulator.cols),
    )
      .map(line => (line ?? '').trimEnd())
      .join('\n');
  };
  const type = (keys: string) => child.write(keys.replaceAll(/\{[a-z-]+\}/g, key => KEYS[key] ?? key));
  const shown = (what: string, check: () => boolean) =>
    eventually(what, check).catch((error: Error) => {
      throw new Error(`${error.message}\n${screen()}`, { cause: error });
    });
  const settled = async () => {
    let last = '';
    let since = performance.now();
    await eventually('the screen stands still', () => {
      if (screen() !== last) {
        last = screen();
        since = performance.now();
      }
      return performance.now() - since > STILL_MS;
    });
    return last;
  };
  return {
    screen,
    buffer: () => emulator.buffer.active,
    written: () => written,
    isAlternate: () => emulator.buffer.active.type === 'alternate',
    type,
    resize(newColumns, newRows) {
      emulator.resize(newColumns, newRows);
      child.resize(newColumns, newRows);
    },
    async shows(what) {
      await shown(`the screen shows ${what}`, () => what.test(screen()));
      return screen();
    },
    async asks(keys, what) {
      // The dashboard takes keys a moment after it has drawn.
      await settled();
      const { length } = written;
      type(keys);
      await shown(`${keys} asks ${what}`, () => what.test(written.slice(length)));
    },
    settled,
    pid: child.pid,
    exit,
  };
}

/** Compares a screen, without ages and times, with test/e2e/screens/NAME.txt. UPDATE_SCREENS=1 writes it. */
export function assertScreen(name: string, screen: string): void {
  const file = new URL(`./screens/${name}.txt`, import.meta.url);
  const actual = `${screen.split('\n').map(still).join('\n').trimEnd()}\n`;
  if (process.env.UPDATE_SCREENS) writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, 'utf8'), name);
}

/** The replacement of an age has its width, aligned right or left. */
function still(line: string): string {
  return line
    .replace(/\d{4}-\d\d-\d\dT[\d:]+Z \(\d+s ago\)/, 'TIME')
    .replace(
      /^([> ])(\d+s) ( +(?:Normal|Warning))/,
      (_, mark, age, rest) => `${mark}9s${' '.repeat(age.length - 1)}${rest}`,
    )
    .replace(/ +\d+s$/, found => '9s'.padStart(found.length));
}
