/**
 * The program as an oclif plugin: its commands are known from the manifest, and the module of a command is imported when
 * it runs. oclif searches no directories, so sources, bundle and single-file executable behave alike.
 */
import type { Command } from '@oclif/core/command';
import { Config } from '@oclif/core/config';
import type * as Interfaces from '@oclif/core/interfaces';
import type { RunOptions } from './base-command.ts';
import type { Io } from './io.ts';

export interface CommandEntry {
  /** Its heading in the help. */
  group: string;
  /** Exit code of an error, where 1 means something else. */
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

/** The name in help and messages: users call it through kubectl. */
const BIN = 'kubectl nodepool';

/** oclif's configuration of one run; it carries the streams to the command (see base-command.ts). */
export async function createConfig(program: Program, io: Io): Promise<Config> {
  const plugin = createPlugin(program);
  const options: Interfaces.LoadOptions & RunOptions = {
    root: program.root,
    pjson: plugin.pjson,
    plugins: new Map([[plugin.name, plugin]]),
    userPlugins: false,
    devPlugins: false,
    io,
  };
  const config = new Config(options);
  await config.load();
  return config;
}

function createPlugin({ commands: table, manifest, pjson, root }: Program): Interfaces.Plugin {
  // No command has a ":" in its name: oclif takes the first word alone as the command.
  const oclif = { bin: BIN, dirname: pjson.name, topicSeparator: ':' as const };
  const commands = Object.entries(manifest.commands).map(([id, cached]) => ({
    ...cached,
    load: async () => loadCommand(table, id),
  }));
  const options = { root, isRoot: true };
  return {
    _base: '',
    alias: pjson.name,
    name: pjson.name,
    version: pjson.version,
    pjson: { ...pjson, oclif },
    root,
    options,
    commands,
    commandIDs: commands.map(command => command.id),
    commandsDir: undefined,
    findCommand: (id: string) => loadCommand(table, id),
    hasManifest: true,
    hooks: {},
    isRoot: true,
    load: async () => {},
    moduleType: 'module',
    topics: [],
    type: 'core',
    valid: true,
  };
}

async function loadCommand(table: CommandTable, id: string): Promise<Command.Class> {
  const entry = table[id];
  if (entry === undefined) throw new Error(`command ${id} is in the manifest and not in commands/index.ts`);
  const { default: loaded } = await entry.load();
  loaded.id = id;
  return loaded;
}
