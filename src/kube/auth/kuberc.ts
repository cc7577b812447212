/** `credentialPluginPolicy` and its allowlist in kubectl's kuberc file. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import type { LoginSurroundings } from './auth-info.ts';
import { documentsIn, isText, type KubeconfigSection, readProblem } from './kubeconfig-file.ts';

export interface PluginPolicy {
  type: 'AllowAll' | 'DenyAll' | 'Allowlist';
  /** Names and paths, for `Allowlist`. */
  allowed: string[];
  /** For errors. */
  file: string;
}

const ALPHA = 'kubectl.config.k8s.io/v1alpha1';
const BETA = 'kubectl.config.k8s.io/v1beta1';
const TYPES = ['AllowAll', 'DenyAll', 'Allowlist'] as const;
const FIELDS = ['credentialPluginPolicy', 'credentialPluginAllowlist'];

/** As kubectl 1.36: KUBERC, unless `off`, else ~/.kube/kuberc. Throws NodepoolError (input) for an invalid policy. */
export function readPluginPolicy({ env, log }: Pick<LoginSurroundings, 'env' | 'log'>): PluginPolicy | undefined {
  if (env.KUBERC === 'off' || env.KUBECTL_KUBERC === 'false') return undefined;
  const home = env.HOME || env.USERPROFILE;
  const file = env.KUBERC || (home ? path.join(home, '.kube', 'kuberc') : undefined);
  if (file === undefined) return undefined;
  let preference: KubeconfigSection | undefined;
  try {
    preference = preferenceIn(readFileSync(file, 'utf8'));
  } catch (error) {
    const isExplicit = Boolean(env.KUBERC);
    if (!isExplicit && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const problem = `cannot read the kubectl preferences ${file}: ${readProblem(error)}`;
    if (isExplicit) throw new NodepoolError('input', problem, 'correct the file, or set KUBERC=off', { cause: error });
    log(0, () => problem);
  }
  if (preference === undefined) return undefined;
  const { apiVersion } = preference;
  const known = apiVersion === BETA ? FIELDS : [];
  for (const key of Object.keys(preference).filter(one => /^credential/i.test(one) && !known.includes(one))) {
    log(0, () => `${file}: "${key}" has no effect in ${apiVersion}; ${BETA} has ${FIELDS.join(' and ')}`);
  }
  return policyOf(preference, file);
}

/** The first Preference. As kubectl, parses documents one by one: an invalid one does not hide another's policy. */
function preferenceIn(text: string): KubeconfigSection | undefined {
  const parts = text.split(/^---[ \t]*(?:#.*)?$/m).filter(hasContent);
  let problem: unknown;
  for (const part of parts) {
    try {
      const [document] = documentsIn(part);
      if (isPreference(document)) return document;
    } catch (error) {
      problem ??= error;
    }
  }
  if (parts.length === 0) return undefined;
  throw problem ?? new Error(`it has no Preference of ${BETA} or ${ALPHA}`);
}

/** Whether the document has a line that is neither empty nor a comment. */
function hasContent(document: string): boolean {
  return document.split('\n').some(line => /^\s*[^\s#]/.test(line));
}

function isPreference(document: unknown): document is KubeconfigSection {
  if (!isObject(document) || document.kind !== 'Preference') return false;
  return document.apiVersion === BETA || document.apiVersion === ALPHA;
}

/** v1alpha1 has no policy. */
function policyOf(preference: KubeconfigSection, file: string): PluginPolicy | undefined {
  const { apiVersion, credentialPluginPolicy: policy, credentialPluginAllowlist: list } = preference;
  if (apiVersion !== BETA) return undefined;
  const type =
    policy === undefined || policy === null || policy === '' ? 'AllowAll' : TYPES.find(one => one === policy);
  if (type === undefined) throw wrong(file, `credentialPluginPolicy "${policy}" is not one of ${TYPES.join(', ')}`);
  if (type !== 'Allowlist') {
    if (list === undefined || list === null) return { type, allowed: [], file };
    throw wrong(file, `credentialPluginAllowlist is set, but credentialPluginPolicy is ${type}`);
  }
  if (!Array.isArray(list) || list.length === 0) {
    throw wrong(file, 'credentialPluginPolicy is Allowlist, but credentialPluginAllowlist has no entry');
  }
  return { type, allowed: list.map((entry: unknown, index) => commandOf(entry, index, file)), file };
}

/** Before kubectl 1.36, the field was called `name` instead of `command`. */
function commandOf(entry: unknown, index: number, file: string): string {
  const where = `credentialPluginAllowlist[${index}]`;
  const { command, name } = isObject(entry) ? entry : {};
  if (isText(command) && isText(name) && command !== name) {
    throw wrong(file, `${where} has a command and a different name`);
  }
  const allowed = isText(command) ? command : name;
  if (!isText(allowed)) throw wrong(file, `${where} has no command`);
  if (path.normalize(allowed) !== allowed) {
    throw wrong(file, `${where} "${allowed}" is not the shortest form of that path, "${path.normalize(allowed)}"`);
  }
  return allowed;
}

function wrong(file: string, problem: string): NodepoolError {
  return new NodepoolError('input', `${file}: ${problem}`, 'correct the file; until then, no plugin is run');
}
