/** Writes oclif.manifest.json: the names and flags of all commands, so that help and start-up load no command. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command, Interfaces } from '@oclif/core';
import pjson from '../package.json' with { type: 'json' };
import { globalFlags } from '../src/cli/flags.ts';
import { commands as table } from '../src/commands/index.ts';

export const MANIFEST = fileURLToPath(new URL('../oclif.manifest.json', import.meta.url));

/** The properties of a flag or an argument that are data; the others are functions of the command's module. */
const FLAG = [
  'name',
  'char',
  'aliases',
  'summary',
  'description',
  'helpGroup',
  'helpValue',
  'hidden',
  'type',
  'default',
];
const FLAG_RULES = ['options', 'multiple', 'required', 'allowNo', 'dependsOn', 'exclusive', 'relationships'];
const ARG = ['name', 'description', 'required', 'multiple', 'options', 'default', 'hidden'];

/** The manifest's text, made from the command classes. */
export async function manifestText(): Promise<string> {
  const commands: Record<string, unknown> = {};
  for (const [id, { load }] of Object.entries(table)) commands[id] = describe(id, (await load()).default);
  return `${JSON.stringify({ version: pjson.version, commands }, null, 2)}\n`;
}

function describe(id: string, command: Command.Class): Record<string, unknown> {
  const flags = { ...command.flags, ...globalFlags } as Interfaces.FlagInput;
  return {
    id,
    aliases: [],
    hiddenAliases: [],
    ...pick(command, ['summary', 'description', 'usage', 'examples', 'strict', 'hidden']),
    args: mapValues(command.args, (arg, name) => pick({ ...arg, name }, ARG)),
    flags: mapValues(flags, (flag, name) => pick({ ...flag, name }, [...FLAG, ...FLAG_RULES])),
  };
}

function pick(from: object, names: string[]): Record<string, unknown> {
  const values = new Map<string, unknown>(Object.entries(from));
  return Object.fromEntries(names.filter(name => values.get(name) !== undefined).map(name => [name, values.get(name)]));
}

function mapValues<T>(from: Record<string, T>, change: (value: T, name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value, name)]));
}

if (import.meta.main) writeFileSync(MANIFEST, await manifestText());
