/** Bundles src/main.ts into dist/: one start-up file and one chunk for each verb and for the Kubernetes client. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { MANIFEST, manifestText } from './manifest.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Packages written for CommonJS expect these three, which an ES module does not have. */
const COMMONJS = [
  "import { createRequire as $createRequire } from 'node:module';",
  "import { fileURLToPath as $fileURLToPath } from 'node:url';",
  'const require = $createRequire(import.meta.url);',
  'const __filename = $fileURLToPath(import.meta.url);',
  "const __dirname = $fileURLToPath(new URL('.', import.meta.url));",
].join('\n');

/** Writes dist/ and proves that the program starts from it. Returns the bytes of all its files. */
export async function bundle(): Promise<number> {
  rmSync(`${ROOT}dist`, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts'],
    outdir: 'dist',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    banner: { js: COMMONJS },
    legalComments: 'eof',
    metafile: true,
    logLevel: 'warning',
  });
  return Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
}

if (import.meta.main) {
  writeFileSync(MANIFEST, await manifestText());
  const bytes = await bundle();
  const answer = execFileSync(process.execPath, ['bin/kubectl-nodepool.js', 'version', '--client'], { cwd: ROOT });
  if (!answer.toString().startsWith('Client Version: ')) throw new Error(`the bundle does not start: ${answer}`);
  console.log(`dist/ ${(bytes / 1024).toFixed(0)} KiB, ${answer.toString().trim()}`);
}
