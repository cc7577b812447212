/** The composition root: joins the commands, the manifest and the process. */
import manifest from '../oclif.manifest.json' with { type: 'json' };
import pjson from '../package.json' with { type: 'json' };
import type { Grammar } from './cli/completion/grammar.ts';
import { type Io, processIo } from './cli/io.ts';
import type { Program } from './cli/plugin.ts';
import { commands } from './commands/index.ts';

const program: Omit<Program, 'root'> = { commands, manifest: manifest as unknown as Program['manifest'], pjson };

/** The hidden command of cobra's completion protocol. */
const COMPLETE = '__complete';

/**
 * Runs one command line (without node and script) and returns the exit code. Never throws; only an aborted
 * `reconcile --watch` exits by itself.
 * @param root the directory that contains manifests/
 */
export async function main(argv: string[], io: Io, root: string): Promise<number> {
  if (argv[0] === COMPLETE) return complete(argv.slice(1), io);
  const { runCommand } = await import('./cli/run-command.ts');
  return runCommand(argv, io, { ...program, root });
}

/** The whole program: sets the exit code; the process ends once stdout is drained and nothing is left to do. */
export async function start(root: string): Promise<void> {
  const io = processIo(process);
  const argv = process.argv.slice(2);
  if (argv[0] === COMPLETE) {
    // Prints no error, and waits for nothing that still runs.
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, () => process.exit(0));
    await main(argv, io, root);
    process.stdout.write('', () => process.exit(0));
    return;
  }
  const { reportError } = await import('./cli/report-error.ts');
  const { readCommandLine } = await import('./cli/command-line.ts');
  // Errors that no caller awaits.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const context = {
        io,
        line: readCommandLine(argv),
        version: pjson.version,
        command: 'kubectl nodepool',
        flags: [],
      };
      process.exit(reportError(error, context));
    });
  }
  process.exitCode = await main(argv, io, root);
}

/** Without oclif and the commands: the user waits at the key. */
async function complete(words: string[], io: Io): Promise<number> {
  const { complete } = await import('./cli/completion/complete.ts');
  const { openNames } = await import('./cli/factory.ts');
  const answer = await complete({
    words,
    commands: manifest.commands as Grammar,
    io,
    openNames: flags => openNames(flags, { io, version: pjson.version }),
  });
  io.stdout.write(answer);
  return 0;
}
