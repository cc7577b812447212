/**
 * The program as oclif sees it: the manifest lists the commands, and the module of a command is imported when it runs.
 * oclif searches no directories, so sources, bundle and single-file executable behave alike.
 */
import type { Command } from '@oclif/core/command';
import { Config } from '@oclif/core/config';
import type * as Interfaces from '@oclif/core/interfaces';
import { ownValue } from '../nodepool/json.ts';
import type { RunOptions } from './base-command.ts';
import type { Io } from './io.ts';

export interface CommandEntry {
  /** Heading of the command in the help. */
  group: string;
  /** Exit code for errors, for commands where 1 means something else. */
  errorExit?: number;
  load(): Promise<{ default: Command.Class }>;
}

export type CommandTable = Record<string, CommandEntry>;

export interface Program {
  commands: CommandTable;
  manifest: Interfaces.Manifest;
  pjson: { name: string; version: string; description: string };
  /** The package's directory. */
  root: string;
}

/** The name in help and messages: users run the program through kubectl. */
const BIN = 'kubectl nodepool';

/**
 * oclif's configuration for one run; it carries the streams to the command (see base-command.ts). Everything is set
 * here without oclif's load(), which looks for plugins, themes, the shell and folders.
 */
export class ProgramConfig extends Config {
  readonly #table: CommandTable;
  readonly #cached: Interfaces.Manifest['commands'];

  constructor({ commands, manifest, pjson, root }: Program, io: Io) {
    const options: Interfaces.LoadOptions & RunOptions = { root, io };
    super(options);
    this.#table = commands;
    this.#cached = manifest.commands;
    // No command name contains ":", so oclif takes only the first word as the command.
    this.pjson = { ...pjson, oclif: { bin: BIN, dirname: pjson.name, topicSeparator: ':' } };
    this.root = root;
    this.name = pjson.name;
    this.version = pjson.version;
    this.bin = BIN;
    this.dirname = pjson.name;
  }

  override get commandIDs(): string[] {
    return Object.keys(this.#cached);
  }

  override get commands(): Command.Loadable[] {
    return this.commandIDs.flatMap(id => this.findCommand(id) ?? []);
  }

  override findCommand(id: string, options: { must: true }): Command.Loadable;
  override findCommand(id: string, options?: { must: boolean }): Command.Loadable | undefined;
  override findCommand(id: string): Command.Loadable | undefined {
    const cached = ownValue(this.#cached, id);
    return cached === undefined ? undefined : { ...cached, load: () => loadCommand(this.#table, id) };
  }

  /** This program has no hooks. */
  override async runHook(): Promise<Interfaces.Hook.Result<never>> {
    return { successes: [], failures: [] };
  }
}

async function loadCommand(table: CommandTable, id: string): Promise<Command.Class> {
  const entry = table[id];
  if (entry === undefined) throw new Error(`command ${id} is in the manifest and not in commands/index.ts`);
  const { default: loaded } = await entry.load();
  loaded.id = id;
  return loaded;
}
