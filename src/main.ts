/** The composition root: joins the verbs, the manifest and the process. */
import { run } from '@oclif/core/run';
import manifest from '../oclif.manifest.json' with { type: 'json' };
import pjson from '../package.json' with { type: 'json' };
import { helpSubject } from './cli/help-subject.ts';
import { type Io, processIo } from './cli/io.ts';
import { createConfig, type Program } from './cli/plugin.ts';
import { EXIT, reportError } from './cli/report-error.ts';
import { verbs } from './commands/index.ts';
import { NodepoolError } from './nodepool/errors.ts';
import { suggest } from './nodepool/suggest.ts';

const program: Omit<Program, 'root'> = { verbs, manifest: manifest as unknown as Program['manifest'], pjson };

/**
 * Runs one command line (without node and script) and returns the exit code. Never throws; only a watch that was cut off
 * exits by itself.
 * @param root the directory in which manifests/ stands
 */
export async function main(argv: string[], io: Io, root: string): Promise<number> {
  const config = await createConfig({ ...program, root }, io);
  const words = argv[0] === '--version' ? ['version', '--client', ...argv.slice(1)] : argv;
  const subject = helpSubject(words);
  const verb = subject ?? words[0] ?? '';
  const command = config.findCommand(verb);
  try {
    if (subject !== '' && command === undefined) throw unknownVerb(verb, config.bin);
    if (subject !== undefined) {
      const { ProgramHelp } = await import('./cli/help.ts');
      const help = new ProgramHelp(config, verbs, io);
      await (command === undefined ? help.showRootHelp() : help.showVerbHelp(command));
      return EXIT.done;
    }
    return Number(await run(words, config));
  } catch (error) {
    return reportError(error, {
      io,
      argv: words,
      version: config.version,
      command: command === undefined ? config.bin : `${config.bin} ${command.id}`,
      flags: Object.keys(command?.flags ?? {}),
      errorExit: verbs[verb]?.errorExit,
    });
  }
}

/** The whole program: the exit code is set, and the process ends once stdout is drained and nothing is left to do. */
export async function start(root: string): Promise<void> {
  const io = processIo(process);
  // What nobody awaited has failed all the same.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      const argv = process.argv.slice(2);
      process.exit(reportError(error, { io, argv, version: pjson.version, command: 'kubectl nodepool', flags: [] }));
    });
  }
  process.exitCode = await main(process.argv.slice(2), io, root);
}

function unknownVerb(verb: string, bin: string): NodepoolError {
  if (verb.startsWith('-')) {
    return new NodepoolError(
      'usage',
      `the verb comes before its flags, and ${verb} came first`,
      `write ${bin} VERB ${verb}`,
    );
  }
  const known = [...Object.keys(verbs), 'help'];
  const begun = verb.length > 1 ? known.find(name => name.startsWith(verb)) : undefined;
  const meant = begun ?? suggest(verb, known);
  return new NodepoolError('usage', `unknown verb "${verb}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`);
}
