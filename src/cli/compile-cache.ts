/**
 * Node's compile cache, which shortens the start-up, in a folder of this user's alone: what lies there is run. Node's own
 * place is one below the folder of temporary files, which any user of the machine can make first. Loaded by
 * bin/kubectl-nodepool.js before all else.
 */
import { enableCompileCache } from 'node:module';
import { cachePath, makePrivateFolder } from './private-folder.ts';

/** Does nothing where there is no such folder; the user's own NODE_COMPILE_CACHE is heeded by Node itself. */
export function useCompileCache(env: Record<string, string | undefined>): void {
  const path = cachePath('compiled', env);
  const folder = path === undefined ? undefined : makePrivateFolder(path);
  if (folder !== undefined) enableCompileCache(folder);
}
