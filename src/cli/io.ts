/** The process's streams and surroundings as one parameter, so that a verb runs on any others as well. */
import type { Readable, Writable } from 'node:stream';
import { NodepoolError } from '../nodepool/errors.ts';
import { sanitizeScreen, sanitizeText } from '../render/sanitize.ts';

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
  /**
   * Writes one line, or several, to stdout; the newline is added. Renderers have made text of the cluster safe; what they
   * let slip is caught here before a terminal gets it.
   */
  out(text: string): void;
  /** The same without a newline of its own, for text that is to be the very bytes: a pipe gets them as they are. */
  write(text: string): void;
  /** The same to stderr: warnings, prompts, progress. Text of the cluster in it is made safe here. */
  err(text: string): void;
}

/** What the writers are made of. */
export type IoFacts = Omit<Io, 'out' | 'write' | 'err'>;

/** FORCE_COLOR and NO_COLOR (no-color.org: any value that is not empty) decide before the terminal does. */
export function wantsColor(env: Io['env'], isTTY: boolean): boolean {
  const force = env.FORCE_COLOR;
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  if (env.NO_COLOR) return false;
  return isTTY && env.TERM !== 'dumb';
}

/**
 * Where both are set Node would warn about it on stderr as soon as anything asks for colours: what wantsColor() does not
 * look at goes.
 */
export function dropUnusedColors(env: Io['env']): void {
  if (env.FORCE_COLOR === '') delete env.FORCE_COLOR;
  if (env.FORCE_COLOR === undefined) return;
  delete env.NO_COLOR;
  delete env.NODE_DISABLE_COLORS;
}

/** The real process. A reader that went away (`| head -1`) ends the output, not the program. */
export function processIo(process: NodeJS.Process): Io {
  const { stdin, stdout, stderr, env } = process;
  dropUnusedColors(env);
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      throw new NodepoolError(
        'cluster',
        `cannot write the output: ${error.message}`,
        'see where it goes, and run it again',
      );
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

/** `--color` goes before environment and terminal. */
export function withColorFlag(io: Io, chosen: string | undefined): Io {
  if (chosen !== 'always' && chosen !== 'never') return io;
  const color = chosen === 'always';
  return withWriters({ ...io, color, errorColor: color });
}

/** Adds the writers to streams and facts. */
export function withWriters(facts: IoFacts): Io {
  const write = (text: string) => void facts.stdout.write(facts.stdoutIsTTY ? safe(text, facts.color) : text);
  return {
    ...facts,
    write,
    out: text => write(`${text}\n`),
    err: text => void facts.stderr.write(`${sanitizeText(text)}\n`),
  };
}

function safe(text: string, color: boolean): string {
  return color ? sanitizeScreen(text) : sanitizeText(text);
}
