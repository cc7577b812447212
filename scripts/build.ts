/** `npm run build` bundles the program into dist/npm, which the npm package runs, and writes oclif.manifest.json and the chart's copies of manifests/. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { MANIFEST, manifestText } from './manifest.ts';
import { bundle } from './package/bundle.ts';
import { ROOT } from './root.ts';

const FOLDER = 'dist/npm';
/** Helm reads no file outside of its chart, so the chart has copies of these manifests. */
const CHART_FILES = 'charts/kubectl-nodepool/files';
export const CHART_COPIES = [
  'born-in-pool.yaml',
  'nodepools.nodes.lailin.xyz.yaml',
  'protect-membership.yaml',
  'protect-records.yaml',
];
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
  for (const file of CHART_COPIES) copyFileSync(join(ROOT, 'manifests', file), join(ROOT, CHART_FILES, file));
  const { outputs } = await buildPackage();
  const bytes = Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
  const answer = execFileSync(process.execPath, ['bin/kubectl-nodepool.js', 'version', '--client'], { cwd: ROOT });
  if (!answer.toString().startsWith('Client Version: ')) throw new Error(`the bundle does not start: ${answer}`);
  console.log(`dist/npm ${(bytes / 1024).toFixed(0)} KiB, ${answer.toString().trim()}`);
}
