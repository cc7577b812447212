/**
 * Enables Node's compile cache, which shortens the start-up, in a folder that only this user can write to, because its
 * files are executed. Node's default is in the folder for temporary files, where another user can create it first.
 * bin/kubectl-nodepool.js loads this module before all others.
 */
import { enableCompileCache } from 'node:module';
import { cachePath, makePrivateFolder } from './private-folder.ts';

/** Does nothing if there is no such folder. Node itself applies NODE_COMPILE_CACHE if the user sets it. */
export function useCompileCache(env: Record<string, string | undefined>): void {
  const path = cachePath('compiled', env);
  const folder = path === undefined ? undefined : makePrivateFolder(path);
  if (folder !== undefined) enableCompileCache(folder);
}
