/** `npm run build` bundles the program into dist/npm, which the npm package runs, and writes oclif.manifest.json. */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { MANIFEST, manifestText } from './manifest.ts';
import { bundle } from './package/bundle.ts';
import { ROOT } from './root.ts';

const FOLDER = 'dist/npm';
/** The modules that bin/kubectl-nodepool.js loads, in this order. */
export const ENTRIES = ['src/cli/compile-cache.ts', 'src/main.ts'];

/** Rewrites dist/npm while programs may be running from it: unchanged files are never missing. */
export async function buildPackage(): Promise<Metafile> {
  const metafile = await bundle(ENTRIES, FOLDER);
  for (const file of readdirSync(join(ROOT, FOLDER))) {
    if (metafile.outputs[`${FOLDER}/${file}`] === undefined)
      rmSync(join(ROOT, FOLDER, file), { recursive: true, force: true });
  }
  return metafile;
}

if (import.meta.main) {
  writeFileSync(MANIFEST, await manifestText());
  const { outputs } = await buildPackage();
  const bytes = Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
  const answer = execFileSync(process.execPath, ['bin/kubectl-nodepool.js', 'version', '--client'], { cwd: ROOT });
  if (!answer.toString().startsWith('Client Version: ')) throw new Error(`the bundle does not start: ${answer}`);
  console.log(`dist/npm ${(bytes / 1024).toFixed(0)} KiB, ${answer.toString().trim()}`);
}
