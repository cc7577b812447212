/** Errors and warnings on stderr, and the exit code of an error that ended a run. */
import { stripVTControlCharacters } from 'node:util';
import { DeclinedError, InvalidNameError, NodepoolError, type Warning, warningText } from '../nodepool/errors.ts';
import { suggest } from '../nodepool/text.ts';
import { formatError, formatProblem, oneLine, wrapProse } from '../print/error.ts';
import type { CommandLine } from './command-line.ts';
import { createLog, type Io } from './io.ts';
import { refusedValue, unknownFormat } from './unknown/unknown-flag.ts';

/** The parts of an error that are printed; `lines` if its message has several lines. */
export type ErrorText = { message: string } & Partial<Pick<NodepoolError, 'lines' | 'next'>>;

/**
 * The text of an error on stderr: one line, unless it lists problems.
 * @param about precedes the message: the name of the pool
 * @param width longer lines are wrapped, and the next step goes on a line of its own
 */
export function errorLine({ message, lines = [message], next }: ErrorText, about?: string, width?: number): string {
  const [head = '', ...items] = lines;
  return formatError([about === undefined ? head : `${about}: ${head}`, ...items], next, width);
}

/** Prints an error, wrapped at words: a terminal would break the line inside a word. */
export function showError(io: ErrorIo, error: ErrorText, about?: string): void {
  io.err(errorLine(error, about, errorWidth(io)));
}

export type ErrorIo = Pick<Io, 'err' | 'stderr' | 'stderrIsTTY'>;

/** The width of the terminal on stderr; Infinity for a pipe, where an error is one line. */
export function errorWidth({ stderr, stderrIsTTY }: ErrorIo): number {
  return stderrIsTTY ? (stderr as NodeJS.WriteStream).columns || 80 : Infinity;
}

export function showNote(io: ErrorIo, text: string): void {
  io.err(noteLine(text, errorWidth(io)));
}

/** Wraps an already escaped text, as errorLine() does. */
export function noteLine(text: string, width: number): string {
  return width === Infinity ? text : wrapProse(text, width).join('\n');
}

/** Returns a function that prints each warning only once: after a question, a command repeats its checks. */
export function warnOnce(io: ErrorIo): (warnings: readonly Warning[]) => void {
  const said = new Set<string>();
  return warnings => {
    for (const warning of warnings) {
      const text = warningText(warning);
      if (!said.has(text)) showWarning(io, warning);
      said.add(text);
    }
  };
}

/** Prints a warning as showError() prints an error. */
export function showWarning(io: ErrorIo, warning: Warning): void {
  io.err(warningLine(warning, errorWidth(io)));
}

/** Like errorLine(), for a warning. */
export function warningLine(warning: Warning, width?: number): string {
  if (typeof warning === 'string') return formatProblem('warning', [warning], undefined, width);
  return formatProblem('warning', [warning.message], warning.next, width);
}

export const EXIT = { done: 0, error: 1, usage: 2, unhealthy: 3, interrupted: 130 } as const;

/** Exit codes for the help of commands that reconcile, and of `diff`. docs/commands/options.md repeats them. */
export const EXIT_STATUS = 'Exit codes: 0 done, 1 error, 2 usage, 3 unhealthy pools, 130 interrupted.';
export const DIFF_EXIT_STATUS = 'Exit codes, as for kubectl diff: 0 no difference, 1 difference, 2 error.';

interface ArgChoice {
  name: string;
  options?: readonly string[] | undefined;
}

interface ErrorContext {
  io: Io;
  line: Pick<CommandLine, 'verbosity' | 'jsonLog'>;
  version: string;
  /** For the hint at --help: `kubectl nodepool create`. */
  command: string;
  /** Names of the command's flags, for did-you-mean. */
  flags: string[];
  /** The command's arguments, to name one whose value is unknown. */
  args?: readonly ArgChoice[];
  /** What to type instead of an unknown flag or argument. */
  instead?: string | undefined;
  /** What to type instead of a type before the names, as in `node web-1` and `node/web-1`. */
  typed?: string | undefined;
  /** A correct command line, shown when a flag or an argument is missing. */
  example?: string | undefined;
  /** Exit code of errors other than usage; 1 if unset. */
  errorExit?: number | undefined;
}

interface RunError extends ErrorText {
  /** The command line is wrong. */
  usage: boolean;
}

/**
 * Prints the error, on one line where possible, and returns the exit code: 2 for usage errors, else errorExit. With
 * `--log-format json` the error is printed as a log entry.
 */
export function reportError(error: unknown, context: ErrorContext): number {
  const { io, line, command, errorExit = EXIT.error } = context;
  const { usage, ...shown } = runErrorOf(error, context);
  const { message, next } = shown;
  const isInterrupted = error instanceof NodepoolError && error.kind === 'interrupted';
  const exit = usage ? EXIT.usage : isInterrupted ? EXIT.interrupted : errorExit;
  const stack = line.verbosity >= 9 && error instanceof Error ? stackOf(error, message) : undefined;
  if (line.jsonLog) {
    const help = usage ? `see '${command} --help'` : undefined;
    createLog(io, 'json', 0)('error', message, { next: next ?? help, stack });
    return exit;
  }
  if (error instanceof DeclinedError) showNote(io, next === undefined ? message : `${message}; next: ${next}`);
  else showError(io, shown);
  if (usage) io.err(`See '${command} --help'.`);
  if (stack !== undefined) io.err(stack);
  return exit;
}

/**
 * The message may contain text from the cluster with lines that imitate output of this program, or values of the
 * command line. @param shown the printed message
 */
function stackOf(error: Error, shown: string): string | undefined {
  return error.stack?.replace(error.message, () => (isParseError(error) ? shown : oneLine(error.message)));
}

function runErrorOf(error: unknown, { version, flags, args, instead, typed, example }: ErrorContext): RunError {
  if (error instanceof NodepoolError) {
    const next = error instanceof InvalidNameError ? (typed ?? error.next) : error.next;
    return { message: error.message, lines: error.lines, next, usage: error.kind === 'usage' };
  }
  if (isParseError(error)) {
    const message = parseErrorText(error, instead === undefined ? flags : [], args, typed);
    const lacks = example !== undefined && message.startsWith('missing ');
    return { message, next: instead ?? (lacks ? `for example, run \`${example}\`` : undefined), usage: true };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    message: `this is a bug in kubectl-nodepool ${version}: ${message.split('\n', 1)[0]}`,
    next: 'please report it with the command you ran and its output with -v 9',
    usage: false,
  };
}

type ParseError = Error & { flags?: unknown; args?: unknown };

/** Matches every error of oclif. Its class is not imported, because the parser is loaded only when a command runs. */
function isParseError(error: unknown): error is ParseError {
  return error instanceof Error && 'oclif' in error;
}

/** oclif's message for an invalid command line, on one line. */
function parseErrorText(error: ParseError, known: string[], args: readonly ArgChoice[] = [], typed?: string): string {
  const text = stripVTControlCharacters(error.message).replace(/\nSee more help with --help$/, '');
  if (Array.isArray(error.flags)) {
    // Flags without their values, which may be secrets.
    const [first = '', ...others] = error.flags.map(flag => String(flag).replace(/=.*/s, ''));
    const meant = suggest(first.replace(/^-+/, ''), known);
    const names = [first, ...others].map(name => (name.startsWith('--') ? name : name.slice(0, 2)));
    return `unknown flag ${names.join(', ')}${meant === undefined ? '' : `; did you mean --${meant}?`}`;
  }
  if (Array.isArray(error.args)) {
    const names = error.args.map(arg => (typeof arg === 'string' ? arg : String(arg.name).toUpperCase()));
    if (text.startsWith('Missing')) return `missing argument ${names.join(' ')}`;
    if (text.startsWith('Unexpected')) {
      return `unexpected argument ${names.join(' ')}${typed === undefined ? '' : `; ${typed}`}`;
    }
  }
  const refused = refusedValue(text);
  if (refused?.flag === '--output') return unknownFormat(refused.value);
  if (refused !== undefined) {
    const { flag, value, options } = refused;
    const what = args.find(arg => arg.options?.join() === options.join())?.name ?? 'value';
    const unknown = `unknown ${what} "${value.replaceAll('\n', ' ')}"`;
    return `${flag === undefined ? '' : `${flag}: `}${unknown}${didYouMean(value, options)}`;
  }
  const [head = '', ...rest] = text.split('\n').map(line => line.trim());
  const line = head.startsWith('The following error') ? rest.join('; ') : [head, ...rest].filter(Boolean).join(' ');
  const named = line.replace(/Missing required flag (\S+)/g, 'missing flag --$1');
  return lowerFirst(named.replace(/^Parsing (--\S+) (.)/, (_, flag, letter) => `${flag}: ${letter.toLowerCase()}`));
}

function didYouMean(word: string, known: string[]): string {
  const meant = suggest(word, known);
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

// Prints the errors about some of several objects, after the objects that were shown or written.

/** Returns the exit code. */
export function showErrors(errors: readonly NodepoolError[], io: Io): number {
  for (const error of errors) showError(io, error);
  if (errors.some(({ kind }) => kind === 'interrupted')) return EXIT.interrupted;
  return errors.length > 0 ? EXIT.error : EXIT.done;
}
