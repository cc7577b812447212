/** Runs one command line through oclif: from its words to the exit code. */

import { run } from '@oclif/core/run';
import { NodepoolError } from '../nodepool/errors.ts';
import { own } from '../nodepool/json.ts';
import { suggest } from '../nodepool/suggest.ts';
import type { CommandLine } from './command-line.ts';
import { type Io, withColorFlag } from './io.ts';
import { createConfig, type Program } from './plugin.ts';
import { EXIT, reportError } from './report-error.ts';

/** Returns the exit code. Never throws; only an aborted `reconcile --watch` exits by itself. */
export async function runCommand(line: CommandLine, given: Io, program: Program): Promise<number> {
  const { words, help: subject } = line;
  const io = withColorFlag(given, line.color);
  const { commands } = program;
  const config = await createConfig(program, io);
  const name = subject ?? words[0] ?? '';
  const command = config.findCommand(name);
  try {
    if (subject !== '' && command === undefined) throw unknownCommand(name, config.bin, Object.keys(commands));
    if (subject !== undefined) {
      const { ProgramHelp } = await import('./help.ts');
      const help = new ProgramHelp(config, commands, io);
      await (command === undefined ? help.showRootHelp() : help.showHelpOf(command));
      return EXIT.done;
    }
    return Number(await run(words, config));
  } catch (error) {
    return reportError(error, {
      io,
      line,
      version: config.version,
      command: command === undefined ? config.bin : `${config.bin} ${command.id}`,
      flags: Object.keys(command?.flags ?? {}),
      errorExit: own(commands, name)?.errorExit,
    });
  }
}

function unknownCommand(name: string, bin: string, commands: string[]): NodepoolError {
  if (name.startsWith('-')) {
    return new NodepoolError(
      'usage',
      `the verb comes before its flags, and ${name} came first`,
      `write ${bin} VERB ${name}`,
    );
  }
  const meant = suggest(name, [...commands, 'help']);
  return new NodepoolError('usage', `unknown verb "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`);
}
