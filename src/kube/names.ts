/** Names for completion. What asks the server is loaded only when the cache has no answer. */
import type { NamesPort } from '../operations/names-port.ts';
import { type Access, type AccessOptions, accessNames, loadAccess } from './kubeconfig.ts';
import type { UserEntry } from './kubeconfig-file.ts';

/** Their tools answer or fail by themselves; they never ask a person, whatever interactiveMode says. */
const QUIET_PLUGINS = ['aws', 'aws-iam-authenticator', 'doctl', 'gke-gcloud-auth-plugin'];

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
    identity() {
      const { cluster, user, source } = access();
      return JSON.stringify([cluster.server, user.name, user.as ?? '', source]);
    },
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
  if (exec === undefined || exec.interactiveMode === 'Never') return true;
  const command = String(exec.command)
    .replace(/^.*[/\\]/, '')
    .replace(/\.exe$/, '');
  return exec.interactiveMode !== 'Always' && QUIET_PLUGINS.includes(command);
}
