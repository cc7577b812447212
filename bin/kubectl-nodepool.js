#!/usr/bin/env node
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
// These versions have an http.Agent with proxy support; older ones silently ignore HTTPS_PROXY and proxy-url.
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

/** Only in a clone: the package contains dist/npm. */
function notBuilt(error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write(
    'error: kubectl-nodepool is not built, or not wholly; next: run `npm run build` in its folder\n',
  );
  process.exit(1);
}
