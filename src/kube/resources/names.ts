/** Names for completion. The client is loaded only if they are not cached. */

import { type Access, type AccessOptions, accessNames, loadAccess } from '../auth/kubeconfig.ts';
import type { NamesPort } from '../ports/names.ts';

/**
 * Plugins that do not prompt without stdin, whatever their interactiveMode. Not `aws`, which asks for the code of a
 * second factor on the terminal.
 */
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
  let loaded: Access | undefined;
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
function isQuiet({ exec, authProvider }: Access['user']): boolean {
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
