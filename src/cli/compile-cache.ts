/**
 * Node's compile cache, which shortens the start-up, in a folder that only this user can write to, because its files are
 * executed. Node's default is below the folder of temporary files, where another user can create it first. Loaded by
 * bin/kubectl-nodepool.js before all else.
 */
import { enableCompileCache } from 'node:module';
import { cachePath, makePrivateFolder } from './private-folder.ts';

/** Does nothing without such a folder. Node itself follows the user's NODE_COMPILE_CACHE. */
export function useCompileCache(env: Record<string, string | undefined>): void {
  const path = cachePath('compiled', env);
  const folder = path === undefined ? undefined : makePrivateFolder(path);
  if (folder !== undefined) enableCompileCache(folder);
}
