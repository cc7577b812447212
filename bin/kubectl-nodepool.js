#!/usr/bin/env node
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
// Where http.Agent knows proxies: an older one would leave HTTPS_PROXY and proxy-url aside without a word.
const isNewEnough = (major === 22 && minor >= 21) || (major === 24 && minor >= 5) || major > 24;
if (!isNewEnough) {
  const { node } = process.versions;
  process.stderr.write(`error: kubectl-nodepool needs Node 22.21, 24.5 or newer, and this is ${node}\n`);
  process.exitCode = 1;
} else {
  const { useCompileCache } = await import('../dist/npm/compile-cache.js').catch(notBuilt);
  useCompileCache(process.env);
  const { start } = await import('../dist/npm/main.js').catch(notBuilt);
  await start(fileURLToPath(new URL('..', import.meta.url)));
}

/** In a clone, where the package has it all. */
function notBuilt(error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write(
    'error: kubectl-nodepool is not built, or not wholly; next: run `npm run build` in its folder\n',
  );
  process.exit(1);
}
