/** One command line with a verb, through oclif: from the words to the exit code. */

import { run } from '@oclif/core/run';
import { NodepoolError } from '../nodepool/errors.ts';
import { own } from '../nodepool/json.ts';
import { suggest } from '../nodepool/suggest.ts';
import { readCommandLine } from './command-line.ts';
import { type Io, withColorFlag } from './io.ts';
import { createConfig, type Program } from './plugin.ts';
import { EXIT, reportError } from './report-error.ts';

/** Returns the exit code. Never throws; only a watch that was cut off exits by itself. */
export async function runCommand(argv: string[], given: Io, program: Program): Promise<number> {
  const line = readCommandLine(argv);
  const { words, help: subject } = line;
  const io = withColorFlag(given, line.color);
  const { verbs } = program;
  const config = await createConfig(program, io);
  const verb = subject ?? words[0] ?? '';
  const command = config.findCommand(verb);
  try {
    if (subject !== '' && command === undefined) throw unknownCommand(verb, config.bin, Object.keys(verbs));
    if (subject !== undefined) {
      const { ProgramHelp } = await import('./help.ts');
      const help = new ProgramHelp(config, verbs, io);
      await (command === undefined ? help.showRootHelp() : help.showVerbHelp(command));
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
      errorExit: own(verbs, verb)?.errorExit,
    });
  }
}

function unknownCommand(verb: string, bin: string, verbs: string[]): NodepoolError {
  if (verb.startsWith('-')) {
    return new NodepoolError(
      'usage',
      `the verb comes before its flags, and ${verb} came first`,
      `write ${bin} VERB ${verb}`,
    );
  }
  const known = [...verbs, 'help'];
  const meant = suggest(verb, known);
  return new NodepoolError('usage', `unknown verb "${verb}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`);
}
