/** The streams and the environment of the process as one parameter, so that tests can pass others. */
import { writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import type { Log } from '../controller/log.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { cutText, oneLine } from '../print/error.ts';
import { sanitizeJson, sanitizeScreen, sanitizeText } from '../print/sanitize.ts';

export interface Io {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  stdinIsTTY: boolean;
  stdoutIsTTY: boolean;
  stderrIsTTY: boolean;
  /** Questions are also asked without a terminal: a script answers on stdin. */
  alwaysAsks?: boolean;
  /** Width of the terminal; 80 if stdout is no terminal. */
  columns: number;
  /** Whether stdout and stderr (errorColor) take colours. */
  color: boolean;
  errorColor: boolean;
  env: Record<string, string | undefined>;
  now(): Date;
  /** The server's clock once it has answered, so that ages are right even if the local clock is wrong. */
  serverNow(): Date;
  /**
   * Writes lines to stdout and adds the last newline. Renderers already escape text from the cluster; on a terminal
   * this escapes it again in case one missed some.
   */
  out(text: string): void;
  /** Like out(), without the newline; a pipe gets the bytes unchanged. */
  write(text: string): void;
  /** Like out(), to stderr; escapes text from the cluster. */
  err(text: string): void;
}

/** Everything except what withWriters() adds. */
export type IoFacts = Omit<Io, 'out' | 'write' | 'err' | 'serverNow'>;

/** FORCE_COLOR and NO_COLOR (no-color.org: any non-empty value) take precedence over the terminal. */
export function wantsColor(env: Io['env'], isTTY: boolean): boolean {
  const force = env.FORCE_COLOR;
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  if (env.NO_COLOR) return false;
  return isTTY && env.TERM !== 'dumb';
}

/** Removes the variable that wantsColor() ignores: if both are set, Node prints a warning on stderr. */
export function dropUnusedColors(env: Io['env']): void {
  if (env.FORCE_COLOR === '') delete env.FORCE_COLOR;
  if (env.FORCE_COLOR === undefined) return;
  delete env.NO_COLOR;
  delete env.NODE_DISABLE_COLORS;
}

/** The width of stdout; undefined for a pipe, where lines are not cut. */
export function terminalWidth({ stdoutIsTTY, columns }: Io): number | undefined {
  return stdoutIsTTY ? columns : undefined;
}

/** The streams of the real process. EPIPE (`| head -1`) ends the output, not the program. */
export function processIo(process: NodeJS.Process): Io {
  const { env } = process;
  dropUnusedColors(env);
  // Certificates are verified regardless of this variable, also for downloads; Node would warn of the opposite.
  delete env.NODE_TLS_REJECT_UNAUTHORIZED;
  const stdout = guarded(process.stdout);
  let stderr: Writable | undefined;
  const [stdoutIsTTY, stderrIsTTY] = [process.stdout.isTTY === true, isatty(2)];
  return withWriters({
    // Opened lazily, because few commands read stdin and opening it takes a twelfth of the start-up time.
    get stdin() {
      return process.stdin;
    },
    stdout,
    // Opened lazily: most runs write nothing to stderr.
    get stderr() {
      stderr ??= guarded(process.stderr);
      return stderr;
    },
    stdinIsTTY: isatty(0),
    stdoutIsTTY,
    stderrIsTTY,
    columns: process.stdout.columns || 80,
    color: wantsColor(env, stdoutIsTTY),
    errorColor: wantsColor(env, stderrIsTTY),
    env,
    now: () => new Date(),
  });
}

function guarded(stream: Writable & { fd?: number }): Writable {
  const { fd } = stream;
  // When the disk fills up, Node's stream for a file loses the rest of a partial write; writeFileSync() writes it.
  if (fd !== undefined && stream.constructor.name === 'SyncWriteStream') {
    stream._write = (chunk: Uint8Array, _encoding, done) => {
      try {
        writeFileSync(fd, chunk);
      } catch (error) {
        done(error as Error);
        return;
      }
      done();
    };
  }
  return stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    throw new NodepoolError(
      'cluster',
      `cannot write the output: ${error.message}`,
      'check where the output goes, then run the command again',
    );
  });
}

/** `--color` takes precedence over the environment and the terminal. */
export function withColorFlag(io: Io, chosen: string | undefined): Io {
  if (chosen !== 'always' && chosen !== 'never') return io;
  const color = chosen === 'always';
  return withWriters({ ...io, color, errorColor: color });
}

export function withWriters(facts: IoFacts): Io {
  const write = (text: string) => void facts.stdout.write(facts.stdoutIsTTY ? safe(text, facts.color) : text);
  // Extends the object: a copy would open stdin.
  return Object.assign(facts, {
    write,
    serverNow: () => facts.now(),
    out: (text: string) => write(`${text}\n`),
    err: (text: string) => void facts.stderr.write(`${sanitizeText(text)}\n`),
  });
}

function safe(text: string, color: boolean): string {
  return color ? sanitizeScreen(text) : sanitizeText(text);
}

const LEVELS = { error: 0, warning: 0, info: 0, debug: 4 } as const;

/** Logs to stderr, one line per entry: text, or JSON with the fields. Debug entries need verbosity 4. */
export function createLog(io: Io, format: 'text' | 'json', verbosity: number): Log {
  return (level, message, fields) => {
    if (LEVELS[level] > verbosity) return;
    const time = io.now().toISOString();
    // JSON escapes, because err()'s own escapes would break the JSON.
    if (format === 'json') io.err(sanitizeJson(JSON.stringify({ time, level, message, ...fields }, withinLimit)));
    else io.err(`${time} ${level.padEnd(7)} ${oneLine(message.replaceAll('\n', ' '))}`);
  };
}

/** A replacer for JSON.stringify. */
function withinLimit(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? cutText(value) : value;
}
