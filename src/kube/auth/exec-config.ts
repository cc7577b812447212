/** The `exec` section of a kubeconfig user, validated as kubectl does. */
import path from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import type { Access } from './kubeconfig.ts';
import { Fields, malformed } from './kubeconfig-file.ts';

const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'] as const;
type InteractiveMode = (typeof INTERACTIVE_MODES)[number];

export interface ExecConfig {
  /** `client.authentication.k8s.io/v1` or `/v1beta1`. */
  apiVersion: string;
  /** A normalized path, as in allowlists, or a name to look up in PATH. */
  command: string;
  args: string[];
  /** Added to the environment of this process. */
  env: Record<string, string>;
  /** How to install the plugin. */
  installHint: string | undefined;
  provideClusterInfo: boolean;
  interactiveMode: InteractiveMode;
}

const GROUP = 'client.authentication.k8s.io';
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

/** Throws NodepoolError (input) that names the user and the field. */
export function execConfigOf({ user, source }: Pick<Access, 'user' | 'source'>): ExecConfig {
  const where = `users["${user.name}"].user.exec`;
  const file = user.file ?? source;
  const fields = new Fields(user.exec ?? {}, `${where}.`, file);
  const apiVersion = fields.text('apiVersion');
  const command = fields.text('command');
  if (command === undefined) throw malformed(file, `${where}.command is missing`);
  if (apiVersion === undefined) throw malformed(file, `${where}.apiVersion is missing`);
  if (!VERSIONS.includes(apiVersion)) {
    throw new NodepoolError(
      'input',
      `the plugin ${command} of user "${user.name}" is called with apiVersion "${apiVersion}", which is not known`,
      `get a plugin that speaks ${VERSIONS.join(' or ')}, and set that in ${file}`,
    );
  }
  return {
    apiVersion,
    command: path.normalize(command),
    args: fields.texts('args') ?? [],
    env: environmentOf(fields.body.env ?? [], where, file),
    installHint: fields.text('installHint'),
    provideClusterInfo: fields.flag('provideClusterInfo'),
    interactiveMode: interactiveModeOf(fields.text('interactiveMode'), apiVersion, where, file),
  };
}

function environmentOf(list: unknown, where: string, file: string): Record<string, string> {
  if (!Array.isArray(list)) throw malformed(file, `${where}.env is not a list`);
  const pairs = list.map((item: unknown, index): [string, string] => {
    const at = `${where}.env[${index}]`;
    if (!isObject(item)) throw malformed(file, `${at} is not a mapping`);
    const fields = new Fields(item, `${at}.`, file);
    const name = fields.text('name');
    if (name === undefined) throw malformed(file, `${at}.name is missing`);
    return [name, fields.text('value') ?? ''];
  });
  return Object.fromEntries(pairs);
}

/** Optional in v1beta1, which had no such field at first. */
function interactiveModeOf(mode: string | undefined, apiVersion: string, where: string, file: string): InteractiveMode {
  if (mode === undefined && apiVersion === `${GROUP}/v1beta1`) return 'IfAvailable';
  const known = INTERACTIVE_MODES.find(one => one === mode);
  if (known !== undefined) return known;
  const problem = mode === undefined ? 'is missing' : `"${mode}" is not known`;
  throw malformed(file, `${where}.interactiveMode ${problem}; it is one of ${INTERACTIVE_MODES.join(', ')}`);
}
