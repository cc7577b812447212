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
 * Plugins that open a browser, even with interactiveMode Never (set by kubelogin's guide), which is only about stdin.
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
    // All fields: the same server or user name with other fields may be another cluster or user.
    identity: () => JSON.stringify(access()),
    isQuiet: () => isQuiet(access().user),
    namespace: () => access().namespace ?? 'default',
    async list(kind, timeoutMs, namespace) {
      const { listNames } = await import('./list-names.ts');
      return listNames(kind, access(), { ...options, deadlineMs: timeoutMs, namespace });
    },
  };
}

/** Whether a login neither opens a browser nor prompts, as completion requires. */
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
  /** Label keys that any of the objects has. */
  labelKeys: string[];
  /** Label values, by key; without keys of many values, such as the hostname of nodes. */
  labelValues?: Record<string, string[]>;
  /** For pools: the resources of their nodes. */
  resources?: string[];
  /** For pools: the taints that any pool sets, in the form of flags. */
  taints?: string[];
  startupTaints?: string[];
  /** For pools: the annotation keys that any pool sets. */
  annotations?: string[];
  /** For revisions: the numbers, by the pool in their label. */
  revisions?: Record<string, string[]>;
  /** For nodes: those with the record of a pool, by pool. */
  recorded?: Record<string, string[]>;
  /** For nodes: those without a record, by role. By default, a pool selects the role of its own name. */
  roles?: Record<string, string[]>;
}

export interface NamesPort {
  /** Throws NodepoolError if the kubeconfig cannot be read. */
  access(): AccessNames;
  /** Identifies the server and the user. Contains secrets: only hash it. Throws NodepoolError without a cluster. */
  identity(): string;
  /** The namespace of the context, or `default`. Throws as identity() does. */
  namespace(): string;
  /** Whether the login needs no person; call list() only then. */
  isQuiet(): boolean;
  /** All objects of a kind (the first pods); none if the user may not list them. Rejects after the time. */
  list(kind: NamesKind, timeoutMs: number, namespace?: string): Promise<CompletionNames>;
}
