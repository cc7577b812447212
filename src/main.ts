/** The composition root, which connects the commands, the oclif manifest and the process. */
import manifest from '../oclif.manifest.json' with { type: 'json' };
import pjson from '../package.json' with { type: 'json' };
import type { CommandLine } from './cli/command-line.ts';
import { type Grammar, globalFlags } from './cli/completion/grammar.ts';
import { type Io, processIo } from './cli/io.ts';
import type { Program } from './cli/plugin.ts';
import { commands } from './commands/index.ts';

const grammar = manifest.commands as Grammar;
const program: Omit<Program, 'root'> = { commands, manifest: manifest as unknown as Program['manifest'], pjson };

/** The first argument of a completion request: kubectl's scripts expect cobra's format, our scripts whole words. */
const COMPLETE = '__complete';
const COMPLETE_WORDS = '__completeWords';
const isCompletion = ([first]: string[]) => first === COMPLETE || first === COMPLETE_WORDS;

/**
 * Runs one command line (without node and script) and returns the exit code. Never throws; only an aborted watch exits
 * the process itself.
 * @param root the directory that contains manifests/
 */
export async function main(argv: string[], io: Io, root: string): Promise<number> {
  if (isCompletion(argv)) return complete(argv, io);
  const { readCommandLine } = await import('./cli/command-line.ts');
  return run(readCommandLine(argv, globalFlags(grammar)), io, root);
}

async function run(line: CommandLine, io: Io, root: string): Promise<number> {
  const { runCommand } = await import('./cli/run-command.ts');
  return runCommand(line, io, { ...program, root });
}

/** Runs the process's command line and sets the exit code; the process ends once stdout is flushed. */
export async function start(root: string): Promise<void> {
  const io = processIo(process);
  const argv = process.argv.slice(2);
  if (isCompletion(argv)) {
    // Completion must neither print errors nor wait for unfinished work.
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, () => process.exit(0));
    await complete(argv, io);
    process.stdout.write('', () => process.exit(0));
    return;
  }
  const { EXIT, reportError } = await import('./cli/errors.ts');
  const { readCommandLine } = await import('./cli/command-line.ts');
  const line = readCommandLine(argv, globalFlags(grammar));
  const [name = ''] = line.words;
  // An error outside of the awaited calls is reported like any other.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const errorExit = program.commands[name]?.errorExit;
      const context = { io, line, version: pjson.version, command: 'kubectl nodepool', flags: [], errorExit };
      process.exit(reportError(error, context));
    });
  }
  process.exitCode = await run(line, io, root);
  if (process.exitCode !== EXIT.interrupted) return;
  const { endBySignal } = await import('./cli/signals.ts');
  await Promise.all([process.stdout, process.stderr].map(stream => new Promise(flushed => stream.write('', flushed))));
  endBySignal('SIGINT');
}

/** Loads neither oclif nor the commands, because completion must be fast. */
async function complete([command, ...words]: string[], io: Io): Promise<number> {
  const { complete } = await import('./cli/completion/complete.ts');
  const { openNames } = await import('./cli/factory.ts');
  const answer = await complete({
    words,
    wholeWords: command === COMPLETE_WORDS,
    commands: grammar,
    io,
    openNames: flags => openNames(flags, { io, version: pjson.version }),
  });
  io.stdout.write(answer);
  return 0;
}
