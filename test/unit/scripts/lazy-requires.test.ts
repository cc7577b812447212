import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { bundle } from '../../../scripts/package/bundle.ts';
import { lazyRequires } from '../../../scripts/package/lazy-requires.ts';
import { ROOT } from '../../../scripts/root.ts';

/** Each module of oclif says when it is loaded. */
const recorded: Plugin = {
  name: 'recorded',
  setup({ onLoad }) {
    onLoad({ filter: /@oclif[\\/]core[\\/]lib[\\/].*\.js$/ }, ({ path }) => ({
      contents: `(globalThis.loaded ??= []).push(${JSON.stringify(path)});\n${readFileSync(path, 'utf8')}`,
    }));
  },
};

test('in the bundle, a command loads neither oclif plugins nor the help', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-lazy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const outfile = join(folder, 'entry.mjs');
  const contents = `
    import { Command } from '@oclif/core/command';
    import * as Flags from '@oclif/core/flags';
    class Any extends Command {
      static flags = { yes: Flags.boolean() };
      run() { return this.parse(Any); }
    }
    const config = { bin: 'any', runHook: async () => ({ successes: [], failures: [] }) };
    export const { flags } = await new Any(['--yes'], config).run();
    export const loaded = globalThis.loaded;`;
  await build({
    absWorkingDir: ROOT,
    stdin: { contents, resolveDir: ROOT },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    plugins: [lazyRequires, recorded],
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    logLevel: 'silent',
  });
  assert.ok(
    !readFileSync(outfile, 'utf8').includes(`lazy-require:${ROOT}`),
    'equal sources give equal bytes in any folder',
  );
  const { flags, loaded } = (await import(pathToFileURL(outfile).href)) as { flags: object; loaded: string[] };
  assert.equal((flags as { yes: boolean }).yes, true);
  const names = loaded.map(path => path.replace(/.*[\\/]lib[\\/]/, '').replaceAll('\\', '/'));
  assert.ok(names.includes('parser/parse.js'), names.join(' '));
  assert.deepEqual(
    names.filter(name => /^(config|ux|errors)\/|^help\/(index|command)|^module-loader/.test(name)),
    [],
  );
});

test('the bundle creates a require only in files that use it', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-lazy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // oclif is CommonJS.
  await bundle(['src/nodepool/spec/syntax.ts', 'src/cli/flags.ts'], join(folder, 'out'));
  const read = (name: string) => readFileSync(join(folder, 'out', name), 'utf8');
  const files = readdirSync(join(folder, 'out')).map(name => [name, read(name)] as const);
  const makes = (text: string) => text.startsWith("import { createRequire as $createRequire } from 'node:module';");
  assert.ok(!makes(read('syntax.js')));
  assert.ok(files.some(([, text]) => makes(text)));
  for (const [name, text] of files) if (/\brequire[.(]/.test(text)) assert.ok(makes(text), name);
});
