/** Names for completion. The client is loaded only if they are not cached. */

import {
  type AccessNames,
  type AccessOptions,
  accessNames,
  type ClusterAccess,
  loadAccess,
} from '../auth/kubeconfig.ts';

/** They do not prompt without stdin, whatever their interactiveMode; `aws` asks for a second factor on the terminal. */
const QUIET_PLUGINS = ['aws-iam-authenticator', 'doctl', 'gke-gcloud-auth-plugin'];
/**
 * Plugins that open a browser, even with interactiveMode Never, which kubelogin's guide sets: it is about stdin alone.
 */
const BROWSER_LOGIN = /login|oidc|pinniped|teleport|\b(sso|tsh)\b/i;

export interface NamesOptions extends AccessOptions {
  /** This program's version, for the User-Agent. */
  version: string;
}

/** Reads the kubeconfig at first use. Each list() opens a connection and closes it. */
export function namesPort(options: NamesOptions): NamesPort {
  let loaded: ClusterAccess | undefined;
  const access = () => {
    loaded ??= loadAccess(options);
    return loaded;
  };
  return {
    access: () => accessNames(options),
    // Everything: the same server or user name with other fields may be another cluster or user.
    identity: () => JSON.stringify(access()),
    isQuiet: () => isQuiet(access().user),
    namespace: () => access().namespace ?? 'default',
    async list(kind, timeoutMs, namespace) {
      const { listNames } = await import('./list-names.ts');
      return listNames(kind, access(), { ...options, deadlineMs: timeoutMs, namespace });
    },
  };
}

/** Whether a login neither opens a browser nor prompts: completion must not. */
function isQuiet({ exec, authProvider }: ClusterAccess['user']): boolean {
  if (authProvider !== undefined) return false;
  if (exec === undefined) return true;
  const { command, args, interactiveMode } = exec;
  const name = String(command)
    .replace(/^.*[/\\]/, '')
    .replace(/\.exe$/, '');
  // `kubectl oidc-login get-token`, `pinniped login oidc`.
  if (BROWSER_LOGIN.test(Array.isArray(args) ? `${name} ${args[0]}` : name)) return false;
  return interactiveMode === 'Never' || (interactiveMode !== 'Always' && QUIET_PLUGINS.includes(name));
}

export type NamesKind = 'pools' | 'nodes' | 'revisions' | 'namespaces' | 'pods';

export interface CompletionNames {
  names: string[];
  /** Keys of the labels that any of them has. */
  labelKeys: string[];
  /** Their values, by key; not of a key with many, as a node's hostname. */
  labelValues?: Record<string, string[]>;
  /** Of pools: what their nodes have any of. */
  resources?: string[];
  /** Of pools: the taints that any of them sets, as flags take them. */
  taints?: string[];
  startupTaints?: string[];
  /** Of pools: keys of the annotations that any of them sets. */
  annotations?: string[];
  /** Of revisions: their numbers, by the pool that they are labelled with. */
  revisions?: Record<string, string[]>;
  /** Of nodes: those that carry a pool's record, by pool. */
  recorded?: Record<string, string[]>;
  /** Of nodes: those without a record, by each role that they have. By default a pool's members have the role of its name. */
  roles?: Record<string, string[]>;
}

export interface NamesPort {
  /** Throws NodepoolError when the kubeconfig cannot be read. */
  access(): AccessNames;
  /** Which server, as which user. It has secrets in it, and is only to be hashed. Throws NodepoolError without any. */
  identity(): string;
  /** That of the context, or `default`. Throws as identity() does. */
  namespace(): string;
  /** Whether the login can be done without a person; only then list() may be called. */
  isQuiet(): boolean;
  /** All of a kind, of pods the first ones; none where the user may not list them. Rejects after the time. */
  list(kind: NamesKind, timeoutMs: number, namespace?: string): Promise<CompletionNames>;
}
