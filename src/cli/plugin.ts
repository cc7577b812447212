/**
 * The program as one ready oclif plugin: its verbs are known from the manifest and each one's module is imported when it
 * runs. oclif searches no directories, so sources, bundle and single-file executable behave alike.
 */
import type { Command } from '@oclif/core/command';
import { Config } from '@oclif/core/config';
import type * as Interfaces from '@oclif/core/interfaces';
import type { RunOptions } from './base-command.ts';
import type { Io } from './io.ts';

export interface CommandEntry {
  /** The heading it stands under in the help. */
  group: string;
  /** Exit code of an error, where 1 says something else. */
  errorExit?: number;
  load(): Promise<{ default: Command.Class }>;
}

export type CommandTable = Record<string, CommandEntry>;

export interface Program {
  verbs: CommandTable;
  manifest: Interfaces.Manifest;
  pjson: { name: string; version: string; description: string };
  /** The package's directory. */
  root: string;
}

/** How people call it: through kubectl's plugin mechanism. */
const BIN = 'kubectl nodepool';

/** oclif's configuration of one run; it carries the streams to the verb (see base-command.ts). */
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

function createPlugin({ verbs, manifest, pjson, root }: Program): Interfaces.Plugin {
  // With ":" between topics, which no verb has, oclif takes the first word as the verb and nothing else.
  const oclif = { bin: BIN, dirname: pjson.name, topicSeparator: ':' as const };
  const commands = Object.entries(manifest.commands).map(([id, cached]) => ({
    ...cached,
    load: async () => loadCommand(verbs, id),
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
    findCommand: (id: string) => loadCommand(verbs, id),
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

async function loadCommand(verbs: CommandTable, id: string): Promise<Command.Class> {
  const verb = verbs[id];
  if (verb === undefined) throw new Error(`verb ${id} is in the manifest and not in the table of verbs`);
  const { default: loaded } = await verb.load();
  loaded.id = id;
  return loaded;
}
