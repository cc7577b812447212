/** Whether an exec plugin may run, by client-go's rules for credentialPluginPolicy. */
import path from 'node:path';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { LoginSurroundings } from './auth-info.ts';
import { type Found, lookPath } from './exec-path.ts';
import type { PluginPolicy } from './kuberc.ts';

/**
 * Throws NodepoolError (input) if not.
 * @param command normalized, as the allowlist's entries
 * @param found the result of its lookup
 */
export function checkPolicy(
  policy: PluginPolicy | undefined,
  command: string,
  found: Found,
  env: LoginSurroundings['env'],
): void {
  if (policy === undefined || policy.type === 'AllowAll') return;
  const { type, file, allowed } = policy;
  if (type === 'DenyAll') {
    const problem = `the plugin ${command} may not run: credentialPluginPolicy is DenyAll in ${file}`;
    throw new NodepoolError('input', problem, 'change that policy, or log in another way');
  }
  if (allowed.includes(command)) return;
  if ('path' in found && isAllowed(found.path, allowed, env)) return;
  const where = 'path' in found && found.path !== command ? ` (${found.path})` : '';
  const problem = `the plugin ${command}${where} may not run: it is not in credentialPluginAllowlist of ${file}`;
  throw new NodepoolError('input', problem, 'add it there if you trust it');
}

/** By its path, or by an entry that is looked up to the same path. */
function isAllowed(file: string, allowed: string[], env: LoginSurroundings['env']): boolean {
  if (allowed.includes(file)) return true;
  const ofThatName = allowed.filter(entry => path.basename(entry) === path.basename(file));
  return ofThatName.some(entry => {
    const found = lookPath(entry, env);
    return 'path' in found && found.path === file;
  });
}
