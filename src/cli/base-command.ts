/**
 * The base class of all commands: parses flags, creates the dependencies, runs execute() and closes them. Errors
 * propagate to run-command.ts, which turns them into a line and an exit code (see errors.ts).
 */
import { Command } from '@oclif/core/command';
import type { Config } from '@oclif/core/config';
import type * as Interfaces from '@oclif/core/interfaces';
import { ForbiddenError, NodepoolError } from '../nodepool/errors.ts';
import { type ErrorIo, showNote } from './errors.ts';
import { type Connection, createFactory, type Deps } from './factory.ts';
import { globalFlags } from './flags.ts';
import type { Io } from './io.ts';

export type FlagsOf<T extends typeof Command> = Interfaces.InferredFlags<
  (typeof BaseCommand)['baseFlags'] & T['flags']
>;
export type ArgsOf<T extends typeof Command> = Interfaces.InferredArgs<T['args']>;

/** oclif keeps a Config's options when it reloads it, so the options carry the streams from main() to the command. */
export type RunOptions = { io: Io; root: string };

export abstract class BaseCommand<T extends typeof Command> extends Command {
  static override baseFlags = globalFlags;

  /** Uses the given configuration; oclif's own run() would load it again. */
  static override async run<C extends Command>(
    this: new (
      argv: string[],
      config: Config,
    ) => C,
    argv: string[],
    config: Config,
  ): Promise<Awaited<ReturnType<C['run']>>> {
    return new this(argv, config).run();
  }

  /** Returns the exit code (see EXIT in errors.ts). */
  protected abstract execute(flags: FlagsOf<T>, args: ArgsOf<T>, deps: Deps): Promise<number>;

  override run(): Promise<number> {
    return this.#run();
  }

  /**
   * Like run(), but over a connection that is already open and stays open. Refuses the flags that configure a
   * connection, and --watch, which needs a process of its own.
   */
  runOn(connection: Connection): Promise<number> {
    return this.#run(connection);
  }

  async #run(open?: Connection): Promise<number> {
    const known = { ...globalFlags, ...this.ctor.flags };
    const parsed = await this.parse(this.ctor, asKubectlReads(this.argv, known));
    if (open !== undefined) refuseOnOpen(parsed);
    const { args } = parsed;
    const flags = withCommaLists(parsed.flags);
    const { io } = this.config.options as unknown as RunOptions;
    refuseEmptySelector(flags, 'all' in known);
    checkNamespaceFlags(flags as FlagsOf<typeof BaseCommand>, this.id ?? '', io);
    const { version, root } = this.config;
    const factory = createFactory({ io, version, root }, flags as FlagsOf<typeof BaseCommand>, open);
    try {
      return await this.execute(flags as FlagsOf<T>, args as ArgsOf<T>, factory.deps);
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      const connection = await factory.opened();
      if (connection === undefined) throw error;
      const { withMissingReads } = await import('../commands/shared/permissions/needs.ts');
      throw await withMissingReads(error, this.id ?? '', connection);
    } finally {
      await factory.close();
    }
  }

  /** oclif's own catch() would set process.exitCode, which start() in main.ts sets. */
  protected override async catch(error: Error): Promise<never> {
    throw error;
  }
}

/** Flags that configure the connection. */
const CONNECTION_FLAGS = [...Object.keys(globalFlags), 'concurrency'];

function refuseOnOpen({ flags, metadata }: Pick<Interfaces.ParserOutput, 'flags' | 'metadata'>): void {
  const isSetByUser = (name: string) => flags[name] !== undefined && metadata.flags[name]?.setFromDefault !== true;
  const name = [...CONNECTION_FLAGS, 'watch'].find(isSetByUser);
  if (name === undefined) return;
  const reason = name === 'watch' ? 'this flag needs a new process' : 'the connection to the cluster is already open';
  const message = `--${name} cannot be given here: ${reason}`;
  throw new NodepoolError('usage', message, `leave it out, or run the command in a shell`);
}

/** The server treats an empty selector as "everything"; usually it comes from an unset variable in a script. */
function refuseEmptySelector({ selector }: Record<string, unknown>, hasAll: boolean): void {
  if (typeof selector !== 'string' || selector.trim() !== '') return;
  const all = hasAll ? '; to select all pools, use --all' : ', or leave out -l';
  throw new NodepoolError('usage', '-l: the selector is empty', `check for an unset shell variable${all}`);
}

/**
 * Flags without comma lists: those that are string arrays in kubectl, and those that are split where they are parsed,
 * such as selectors (values may be lists: `a in (b,c)`) and startup taints (their conditions follow the taint).
 */
const ARRAYS = ['annotation', 'as-group', 'as-user-extra', 'for', 'node-selector', 'startup-taint'];

/** Does not use oclif's delimiter, which trims and unquotes the values. */
function withCommaLists(values: Record<string, unknown>): Record<string, unknown> {
  const split = (name: string, value: unknown) =>
    Array.isArray(value) && !ARRAYS.includes(name) ? value.flatMap(each => String(each).split(',')) : value;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, split(name, value)]));
}

/**
 * Rewrites what kubectl accepts and oclif cannot parse: `--dry-run` becomes `--dry-run=client`, `--yes=false` drops
 * `--yes`, and the formats json, yaml and name are case-insensitive.
 */
function asKubectlReads(argv: string[], flags: Interfaces.FlagInput): string[] {
  const end = argv.indexOf('--');
  let words: string[] = [];
  for (const [i, arg] of (end < 0 ? argv : argv.slice(0, end)).entries()) {
    const [, name = '', value = ''] = /^(--[a-z-]+|-[a-zA-Z])=(.*)$/s.exec(arg) ?? [];
    const spellings = spellingsOf(name, flags);
    const [, flag, format] = /^(-o=?|--output=)?(json|yaml|name)$/i.exec(arg) ?? [];
    const isFormat = flag !== undefined || /^(-[a-zA-Z]*o|--output)$/.test(argv[i - 1] ?? '');
    if (arg === '--dry-run' && flags['dry-run']?.type === 'option') words.push('--dry-run=client');
    else if (spellings.length > 0 && isTrue(name, value)) words.push(name);
    // As for any flag, the last one wins.
    else if (spellings.length > 0) {
      words = words.filter(word => !spellings.includes(word));
      const [name = ''] = spellings;
      if (isOnByDefault(name, flags)) words.push(name.replace(/^--/, '--no-'));
    } else words.push(format !== undefined && isFormat ? `${flag ?? ''}${format.toLowerCase()}` : arg);
  }
  return end < 0 ? words : [...words, ...argv.slice(end)];
}

/** All spellings of the boolean flag that has this spelling; empty for other flags. */
function spellingsOf(spelling: string, flags: Interfaces.FlagInput): string[] {
  for (const [name, { type, char }] of Object.entries(flags)) {
    const spellings = [`--${name}`, `-${char}`];
    if (type === 'boolean' && spellings.includes(spelling)) return spellings;
  }
  return [];
}

function isOnByDefault(spelling: string, flags: Interfaces.FlagInput): boolean {
  const flag = flags[spelling.replace(/^--/, '')];
  return flag?.type === 'boolean' && flag.allowNo === true;
}

/** Parses like Go's strconv.ParseBool. */
function isTrue(flag: string, value: string): boolean {
  if (/^(1|t|T|true|True|TRUE)$/.test(value)) return true;
  if (/^(0|f|F|false|False|FALSE)$/.test(value)) return false;
  throw new NodepoolError('usage', `${flag}=${value}: the value must be true or false`, `write ${flag}`);
}

// Handles `-n` and `-A`, which kubectl users type out of habit: pools and nodes have no namespace.

/** Commands for which a user could expect a namespace to narrow the result or to say where objects are created. */
const NAMESPACED: Record<string, string> = {
  top: 'top counts the pods of all namespaces',
  drain: 'drain evicts pods of all namespaces',
  view: 'view shows pods of all namespaces',
  install: 'the controller is installed in the namespace nodepool-system',
  uninstall: 'the controller is removed from the namespace nodepool-system',
};

/** Read-only commands, for which "all namespaces" cannot be mistaken for "all pools". */
const READS = [
  'get',
  'describe',
  'nodes',
  'why',
  'events',
  'history',
  'report',
  'diff',
  'top',
  'fit',
  'view',
  'wait',
  'doctor',
  'adopt',
  'version',
];

/** Commands for a namespaced object. */
const OF_NAMESPACE = ['fit'];

/** Prints a note where the flags are harmless. Throws NodepoolError (usage) where a user could expect an effect. */
export function checkNamespaceFlags(
  flags: { namespace?: string | undefined; 'all-namespaces'?: boolean | undefined; 'log-format'?: unknown },
  command: string,
  io: ErrorIo,
): void {
  const { namespace, 'all-namespaces': all, 'log-format': logFormat } = flags;
  if (namespace !== undefined && Object.hasOwn(NAMESPACED, command)) {
    throw new NodepoolError('usage', `${command} has no --namespace: ${NAMESPACED[command]}`, 'leave it out');
  }
  if (all && !READS.includes(command)) {
    throw new NodepoolError('usage', `${command} has no --all-namespaces: pools are cluster-scoped`, 'leave it out');
  }
  if (namespace !== undefined && OF_NAMESPACE.includes(command)) return;
  const isIgnored = namespace !== undefined || (all === true && !Object.hasOwn(NAMESPACED, command));
  const flag = namespace === undefined ? '--all-namespaces' : '--namespace';
  // A JSON log must not contain other lines.
  if (isIgnored && logFormat !== 'json') {
    showNote(io, `note: pools and nodes are cluster-scoped; ${flag} is ignored`);
  }
}
