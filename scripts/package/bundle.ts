/** Bundles the program with esbuild: its entry modules, a chunk for each command, and shared chunks. */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin } from 'esbuild';
import { ROOT } from '../root.ts';
import { lazyRequires } from './lazy-requires.ts';

/** CommonJS packages need these three, which ES modules do not have: a file that names one of them gets them all. */
const COMMONJS = [
  "import { createRequire as $createRequire } from 'node:module';",
  "import { fileURLToPath as $fileURLToPath } from 'node:url';",
  'const require = $createRequire(import.meta.url);',
  'const __filename = $fileURLToPath(import.meta.url);',
  "const __dirname = $fileURLToPath(new URL('.', import.meta.url));",
  '',
].join('\n');
const OF_COMMONJS = /\b(?:require|__filename|__dirname)\b/;

/** With DEV=true, Ink imports React's developer tools, which are not installed. */
const withoutDevtools: Plugin = {
  name: 'without-devtools',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/devtools\.js$/ }, ({ path }) => ({ path, namespace: 'empty' }));
    onLoad({ filter: /./, namespace: 'empty' }, () => ({ contents: '' }));
  },
};

/**
 * The package does not say that its modules have no side effects: esbuild would bundle all that it exports, and with it
 * undici and others. Its serializer names 758 models, a mebibyte; it leaves objects of types that it does not know as they
 * are, which is how we send them.
 */
const onlyUsedOfClientNode: Plugin = {
  name: 'only-used-of-client-node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ path }) => ({
      path: fileURLToPath(import.meta.resolve(path)),
      sideEffects: false,
    }));
    onResolve({ filter: /^\./ }, ({ path, importer, resolveDir }) =>
      CLIENT_NODE.test(importer) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
    );
    onLoad({ filter: /[\\/]client-node[\\/]dist[\\/]gen[\\/]models[\\/]ObjectSerializer\.js$/ }, async ({ path }) => {
      const contents = (await readFile(path, 'utf8')).replace(/^(?:import .*|export \* from .*| +"\w+": \w+,)$/gm, '');
      if (contents.includes('V1Pod')) throw new Error(`${path} names its models in another form`);
      return { contents };
    });
  },
};
/** Each command's part of the manifest is parsed when it is used: of 37 commands, a run uses two. */
const lazyManifest: Plugin = {
  name: 'lazy-manifest',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]oclif\.manifest\.json$/ }, async ({ path }) => {
      const { commands, ...rest } = JSON.parse(await readFile(path, 'utf8')) as { commands: Record<string, object> };
      const texts = Object.fromEntries(Object.entries(commands).map(([id, command]) => [id, JSON.stringify(command)]));
      return {
        contents: `const texts = ${JSON.stringify(texts)};
const commands = {};
for (const id in texts) {
  let command;
  Object.defineProperty(commands, id, { enumerable: true, get: () => (command ??= JSON.parse(texts[id])) });
}
export default { ...${JSON.stringify(rest)}, commands };
`,
      };
    });
  },
};

const CLIENT_NODE = /[\\/]node_modules[\\/]@kubernetes[\\/]client-node[\\/]/;

/**
 * Not minified: stack traces stay readable, and minifying improved neither start-up nor memory.
 * @param entries paths below the project's root; each becomes NAME.js
 * @param outdir its files are overwritten and none is removed; unchanged files stay readable meanwhile
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
    // React's development build is four times as large.
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [withoutDevtools, lazyRequires, onlyUsedOfClientNode, lazyManifest],
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
    // Imported files are written first: an entry module never exists without its chunks.
    for (const { path, text } of outputFiles.toSorted((a, b) => Number(isEntry(a)) - Number(isEntry(b)))) {
      await writeFile(join(fresh, basename(path)), OF_COMMONJS.test(text) ? COMMONJS + text : text);
      await rename(join(fresh, basename(path)), path);
    }
  } finally {
    await rm(fresh, { recursive: true });
  }
  return metafile;
}
