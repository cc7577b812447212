/** Turns whatever ended a run into lines on stderr and an exit code. */
import { stripVTControlCharacters } from 'node:util';
import { Errors } from '@oclif/core';
import { NodepoolError } from '../nodepool/errors.ts';
import { suggest } from '../nodepool/suggest.ts';
import { formatError } from '../render/error.ts';
import type { Io } from './io.ts';

export const EXIT = { done: 0, error: 1, usage: 2, unhealthy: 3 } as const;

export interface Context {
  io: Io;
  argv: string[];
  /** This program's version. */
  version: string;
  /** What precedes --help in the hint: `kubectl nodepool create`. */
  command: string;
  /** Names of the verb's flags, for did-you-mean. */
  flags: string[];
  /** Exit code of an error that is not one of usage; 1 if unset. */
  errorExit?: number | undefined;
}

/** Prints the error, one line where it can be one, and returns the exit code: 2 usage, 1 (or errorExit) anything else. */
export function reportError(error: unknown, context: Context): number {
  const { io, command, errorExit = EXIT.error } = context;
  if (error instanceof NodepoolError) {
    io.err(formatError(error));
    if (error.kind === 'usage') io.err(`See '${command} --help'.`);
    printStack(error, context);
    return error.kind === 'usage' ? EXIT.usage : errorExit;
  }
  if (error instanceof Errors.CLIError) {
    io.err(formatError({ message: parseErrorText(error, context.flags) }));
    io.err(`See '${command} --help'.`);
    printStack(error, context);
    return EXIT.usage;
  }
  const message = error instanceof Error ? error.message : String(error);
  io.err(
    formatError({
      message: `this is a bug in kubectl-nodepool ${context.version}: ${message.split('\n', 1)[0]}`,
      next: 'please report it with the command you ran and its output with -v 9',
    }),
  );
  printStack(error, context);
  return errorExit;
}

/** oclif's messages of a bad command line run over several lines; ours are one. */
function parseErrorText(error: Error & { flags?: unknown; args?: unknown }, known: string[]): string {
  const text = stripVTControlCharacters(error.message).replace(/\nSee more help with --help$/, '');
  if (Array.isArray(error.flags)) {
    const [first] = error.flags.map(String);
    const meant = first === undefined ? undefined : suggest(first.replace(/^-+/, '').split('=', 1)[0] ?? '', known);
    return `unknown flag ${error.flags.join(', ')}${meant === undefined ? '' : `; did you mean --${meant}?`}`;
  }
  if (Array.isArray(error.args)) {
    const names = error.args.map(arg => (typeof arg === 'string' ? arg : String(arg.name).toUpperCase()));
    if (text.startsWith('Missing')) return `missing argument ${names.join(' ')}`;
    if (text.startsWith('Unexpected')) return `unexpected argument ${names.join(' ')}`;
  }
  const [head = '', ...rest] = text.split('\n').map(line => line.trim());
  const line = head.startsWith('The following error') ? rest.join('; ') : [head, ...rest].filter(Boolean).join(' ');
  return lowerFirst(line.replace(/^Parsing (--\S+) (.)/, (_, flag, letter) => `${flag}: ${letter.toLowerCase()}`));
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function printStack(error: unknown, { io, argv }: Context): void {
  if (verbosityOf(argv) >= 9 && error instanceof Error && error.stack !== undefined) io.err(error.stack);
}

/** Read from the words themselves: the error may be that they do not parse. */
export function verbosityOf(argv: string[]): number {
  const words = argv.join(' ');
  const found = /(?:^| )(?:-v|--v|--verbosity)[ =]?(\d+)(?= |$)/.exec(words);
  return Number(found?.[1] ?? 0);
}
