/** The process's streams and surroundings as one parameter. Nothing else in src touches `process` or `console`. */

import { PassThrough, type Readable, type Writable } from 'node:stream';
import { sanitizeText } from '../render/sanitize.ts';

export interface Io {
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  stdinIsTTY: boolean;
  stdoutIsTTY: boolean;
  stderrIsTTY: boolean;
  /** Width of the terminal in columns; 80 when stdout is none. */
  columns: number;
  /** Whether stdout, and whether stderr, takes colours. */
  color: boolean;
  errorColor: boolean;
  env: Record<string, string | undefined>;
  now(): Date;
  /** Writes one line, or several, to stdout; the newline is added. */
  out(text: string): void;
  /** The same to stderr: warnings, prompts, progress. Text of the cluster in it is made safe here. */
  err(text: string): void;
}

type Facts = Omit<Io, 'out' | 'err'>;

/** FORCE_COLOR and NO_COLOR (no-color.org: any value that is not empty) decide before the terminal does. */
export function wantsColor(env: Io['env'], isTTY: boolean): boolean {
  const force = env.FORCE_COLOR;
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  if (env.NO_COLOR) return false;
  return isTTY && env.TERM !== 'dumb';
}

/** The real process. A reader that went away (`| head -1`) ends the output, not the program. */
export function processIo(process: NodeJS.Process): Io {
  const { stdin, stdout, stderr, env } = process;
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  return withWriters({
    stdin,
    stdout,
    stderr,
    stdinIsTTY: stdin.isTTY === true,
    stdoutIsTTY: stdout.isTTY === true,
    stderrIsTTY: stderr.isTTY === true,
    columns: stdout.columns || 80,
    color: wantsColor(env, stdout.isTTY === true),
    errorColor: wantsColor(env, stderr.isTTY === true),
    env,
    now: () => new Date(),
  });
}

export interface TestIo extends Io {
  stdoutText(): string;
  stderrText(): string;
}

/** Streams in memory for tests: no terminal, no colour, an empty environment, unless said otherwise. */
export function testIo(facts: Partial<Omit<Facts, 'stdin'>> & { stdin?: string } = {}): TestIo {
  const { stdin: input, ...others } = facts;
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  if (input !== undefined) stdin.end(input);
  const collected = { stdout: '', stderr: '' };
  stdout.on('data', (chunk: Buffer) => {
    collected.stdout += chunk.toString();
  });
  stderr.on('data', (chunk: Buffer) => {
    collected.stderr += chunk.toString();
  });
  const io = withWriters({
    stdin,
    stdout,
    stderr,
    stdinIsTTY: false,
    stdoutIsTTY: false,
    stderrIsTTY: false,
    columns: 80,
    color: false,
    errorColor: false,
    env: {},
    now: () => new Date('2026-01-01T00:00:00Z'),
    ...others,
  });
  return { ...io, stdoutText: () => collected.stdout, stderrText: () => collected.stderr };
}

function withWriters(facts: Facts): Io {
  return {
    ...facts,
    out: text => void facts.stdout.write(`${text}\n`),
    err: text => void facts.stderr.write(`${sanitizeText(text)}\n`),
  };
}
