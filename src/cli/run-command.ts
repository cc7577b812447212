/** Runs one command line through oclif and returns the exit code. */
import type { Command } from '@oclif/core/command';
import { ownValue } from '../nodepool/json.ts';
import { type CommandLine, OPTIONS } from './command-line.ts';
import { EXIT, reportError } from './errors.ts';
import { type Io, withColorFlag } from './io.ts';
import { type Program, ProgramConfig } from './plugin.ts';

/** Returns the exit code. Never throws; only an aborted `reconcile --watch` exits the process itself. */
export async function runCommand(line: CommandLine, baseIo: Io, program: Program): Promise<number> {
  const { words, help: subject } = line;
  const io = withColorFlag(baseIo, line.color);
  const { commands } = program;
  const config = new ProgramConfig(program, io);
  const name = subject ?? words[0] ?? '';
  const command = config.findCommand(name);
  try {
    const isProgram = subject === '' || subject === OPTIONS;
    if (!isProgram && command === undefined) {
      const { unknownCommand } = await import('./unknown/unknown-command.ts');
      throw unknownCommand(name, config.bin, Object.keys(commands));
    }
    if (subject !== undefined) {
      const { ProgramHelp } = await import('./help.ts');
      const help = new ProgramHelp(config, commands, io);
      const [any] = config.commands;
      if (subject === OPTIONS && any !== undefined) {
        await help.showOptions(any);
        return EXIT.done;
      }
      await (command === undefined ? help.showRootHelp() : help.showHelpOf(command));
      return EXIT.done;
    }
    const loaded = await command?.load();
    return Number(await loaded?.run(words.slice(1), config));
  } catch (error) {
    const { insteadOf, typedInstead } = await import('./unknown/unknown-flag.ts');
    return reportError(error, {
      io,
      line,
      typed: typedInstead(words),
      instead: insteadOf(error, command?.id ?? '', config.bin),
      version: config.version,
      command: command === undefined ? config.bin : `${config.bin} ${command.id}`,
      flags: Object.keys(command?.flags ?? {}),
      args: Object.values(command?.args ?? {}),
      example: exampleOf(command?.examples, config.bin),
      errorExit: ownValue(commands, name)?.errorExit,
    });
  }
}

/** The first example in the command's help. */
function exampleOf([first]: Command.Example[] = [], bin: string): string | undefined {
  const line = typeof first === 'object' ? first.command : first;
  return line?.replace('<%= config.bin %>', bin);
}
