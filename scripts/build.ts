/** `npm run build`: bundles the program into dist/npm, which the npm package runs. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { MANIFEST, manifestText } from './manifest.ts';
import { bundle } from './package/bundle.ts';
import { ROOT } from './root.ts';

/** Writes dist/npm anew. */
export async function buildPackage(): Promise<Metafile> {
  rmSync(join(ROOT, 'dist', 'npm'), { recursive: true, force: true });
  return bundle('src/main.ts', 'dist/npm');
}

if (import.meta.main) {
  writeFileSync(MANIFEST, await manifestText());
  const { outputs } = await buildPackage();
  const bytes = Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
  const answer = execFileSync(process.execPath, ['bin/kubectl-nodepool.js', 'version', '--client'], { cwd: ROOT });
  if (!answer.toString().startsWith('Client Version: ')) throw new Error(`the bundle does not start: ${answer}`);
  console.log(`dist/npm ${(bytes / 1024).toFixed(0)} KiB, ${answer.toString().trim()}`);
}
