/**
 * The frame of a verb: parses, makes the dependencies, runs, closes. A verb states its flags and args, and implements
 * execute(). Errors pass through: src/main.ts turns them into a line and an exit code (see report-error.ts).
 */
import { Command } from '@oclif/core/command';
import type * as Interfaces from '@oclif/core/interfaces';
import { NodepoolError } from '../nodepool/errors.ts';
import { createFactory, type Deps } from './factory.ts';
import { globalFlags } from './flags.ts';
import type { Io } from './io.ts';

export type FlagsOf<T extends typeof Command> = Interfaces.InferredFlags<
  (typeof BaseCommand)['baseFlags'] & T['flags']
>;
export type ArgsOf<T extends typeof Command> = Interfaces.InferredArgs<T['args']>;

/** oclif keeps a Config's options when it reloads it, so they carry the streams from main() to the verb. */
export type RunOptions = { io: Io; root: string };

export abstract class BaseCommand<T extends typeof Command> extends Command {
  static override baseFlags = globalFlags;

  /** Does the work and returns the exit code (DESIGN: 0 done, 1 error, 2 usage, 3 some pool is not 200). */
  protected abstract execute(flags: FlagsOf<T>, args: ArgsOf<T>, deps: Deps): Promise<number>;

  override async run(): Promise<number> {
    const known = { ...globalFlags, ...this.ctor.flags };
    const { flags, args } = await this.parse(this.ctor, asKubectlReads(this.argv, known));
    const { io } = this.config.options as unknown as RunOptions;
    const { version, root } = this.config;
    const factory = createFactory({ io, version, root }, flags as FlagsOf<typeof BaseCommand>);
    try {
      return await this.execute(flags as FlagsOf<T>, args as ArgsOf<T>, factory.deps);
    } finally {
      await factory.close();
    }
  }

  /** oclif's own would set process.exitCode; main() decides alone. */
  protected override async catch(error: Error): Promise<never> {
    throw error;
  }
}

/**
 * `--dry-run` alone is `--dry-run=client`, `--yes=false` is no `--yes`, and json, yaml and name are formats in any case, as for
 * kubectl: oclif has neither flags with an optional value, nor options that are read before they are compared, and of the
 * value of a boolean flag it makes an argument.
 */
function asKubectlReads(argv: string[], flags: Interfaces.FlagInput): string[] {
  const end = argv.indexOf('--');
  let words: string[] = [];
  for (const [i, arg] of (end < 0 ? argv : argv.slice(0, end)).entries()) {
    const [, given = '', value = ''] = /^(--[a-z-]+|-[a-zA-Z])=(.*)$/s.exec(arg) ?? [];
    const spellings = spellingsOf(given, flags);
    const [, flag, format] = /^(-o=?|--output=)?(json|yaml|name)$/i.exec(arg) ?? [];
    const isFormat = flag !== undefined || /^(-[a-zA-Z]*o|--output)$/.test(argv[i - 1] ?? '');
    if (arg === '--dry-run' && flags['dry-run']?.type === 'option') words.push('--dry-run=client');
    else if (spellings.length > 0 && isTrue(given, value)) words.push(given);
    // The last one counts.
    else if (spellings.length > 0) words = words.filter(word => !spellings.includes(word));
    else words.push(format !== undefined && isFormat ? `${flag ?? ''}${format.toLowerCase()}` : arg);
  }
  return end < 0 ? words : [...words, ...argv.slice(end)];
}

/** All of a boolean flag, by one of them; else none. */
function spellingsOf(given: string, flags: Interfaces.FlagInput): string[] {
  for (const [name, { type, char }] of Object.entries(flags)) {
    const spellings = [`--${name}`, `-${char}`];
    if (type === 'boolean' && spellings.includes(given)) return spellings;
  }
  return [];
}

/** As Go's strconv.ParseBool. */
function isTrue(flag: string, value: string): boolean {
  if (/^(1|t|T|true|True|TRUE)$/.test(value)) return true;
  if (/^(0|f|F|false|False|FALSE)$/.test(value)) return false;
  throw new NodepoolError('usage', `${flag}=${value}: it is there, or true or false`, `write ${flag}`);
}
