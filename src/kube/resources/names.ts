/** Names for completion. What asks the server is loaded only when the cache has no answer. */
import type { NamesPort } from '../../operations/names-port.ts';
import { type Access, type AccessOptions, accessNames, loadAccess } from '../auth/kubeconfig.ts';
import type { UserEntry } from '../auth/kubeconfig-file.ts';

/**
 * Without a stdin these tools answer or fail by themselves, whatever interactiveMode says. `aws` is not one of them: it
 * asks for the code of a second factor on the terminal, past stdin.
 */
const QUIET_PLUGINS = ['aws-iam-authenticator', 'doctl', 'gke-gcloud-auth-plugin'];
/** What opens a browser. With interactiveMode Never, too, as kubelogin's own guide sets it: that speaks of stdin alone. */
const BROWSER_LOGIN = /login|oidc|pinniped|teleport|\b(sso|tsh)\b/i;

export interface NamesOptions extends AccessOptions {
  /** This program's version, for the User-Agent. */
  version: string;
}

/** Reads files only when it is asked; each list() opens a connection and ends it. */
export function namesPort(options: NamesOptions): NamesPort {
  let loaded: Access | undefined;
  const access = () => {
    loaded ??= loadAccess(options);
    return loaded;
  };
  return {
    access: () => accessNames(options),
    // All of it: behind one address stands another cluster, or by one name another user, where anything else differs.
    identity: () => JSON.stringify(access()),
    isQuiet: () => isQuiet(access().user),
    async list(kind, timeoutMs) {
      const { listNames } = await import('./list-names.ts');
      return listNames(kind, access(), { ...options, deadlineMs: timeoutMs });
    },
  };
}

/** A browser that opens, or a question, at the press of a key is worse than no names. */
function isQuiet({ exec, authProvider }: UserEntry): boolean {
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
