/** Bundles the program with esbuild: its start-up files and one chunk for each verb and for what several of them use. */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { ROOT } from '../root.ts';

/** Packages written for CommonJS expect these three, which an ES module does not have. */
const COMMONJS = [
  "import { createRequire as $createRequire } from 'node:module';",
  "import { fileURLToPath as $fileURLToPath } from 'node:url';",
  'const require = $createRequire(import.meta.url);',
  'const __filename = $fileURLToPath(import.meta.url);',
  "const __dirname = $fileURLToPath(new URL('.', import.meta.url));",
].join('\n');

/** Ink asks for React's developer tools, which are not installed, where DEV=true is set. */
const withoutDevtools: Plugin = {
  name: 'without-devtools',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/devtools\.js$/ }, ({ path }) => ({ path, namespace: 'empty' }));
    onLoad({ filter: /./, namespace: 'empty' }, () => ({ contents: '' }));
  },
};

/**
 * Not minified: a stack trace in a bug report is to be read, and neither start-up nor memory gained by it.
 * @param entries below the project's root; each becomes NAME.js
 * @param outdir what it holds is overwritten, and nothing is removed; files that stay the same can be read meanwhile
 */
export async function bundle(entries: readonly string[], outdir: string): Promise<Metafile> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...entries],
    entryNames: '[name]',
    outdir,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // React has a second self for development, four times the size.
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [withoutDevtools],
    banner: { js: COMMONJS },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const folder = resolve(ROOT, outdir);
  const names = entries.map(entry => `${basename(entry, '.ts')}.js`);
  const isEntry = ({ path }: { path: string }) => names.includes(basename(path));
  await mkdir(folder, { recursive: true });
  const fresh = await mkdtemp(join(dirname(folder), '.fresh-'));
  try {
    // What the others import comes first: a start-up file is never there without its chunks.
    for (const { path, contents } of outputFiles.toSorted((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) {
      await writeFile(join(fresh, basename(path)), contents);
      await rename(join(fresh, basename(path)), path);
    }
  } finally {
    await rm(fresh, { recursive: true });
  }
  return metafile;
}
