/**
 * Modules that oclif requires when it is loaded, its own and those for plugins, templates, prompts and a spinner, of which a
 * command here uses few: in the bundle they are loaded at their first use, and `debug` only with the environment variable
 * that turns it on. Otherwise they would take a fifth of the start-up time.
 */
import { join } from 'node:path';
import type { Plugin } from 'esbuild';

const PACKAGES = [
  'ansi-escapes',
  'clean-stack',
  'cli-spinners',
  'ejs',
  'indent-string',
  'lilconfig',
  'minimatch',
  'tinyglobby',
  'wordwrap',
  'wrap-ansi',
  'node:child_process',
  'node:perf_hooks',
  'node:readline',
];
const OCLIF = /[\\/]node_modules[\\/]@oclif[\\/]core[\\/]/;
const NAMESPACE = 'lazy-require';

export const lazyRequires: Plugin = {
  name: NAMESPACE,
  setup({ onResolve, onLoad }) {
    onResolve(
      { filter: new RegExp(`^(\\.|(debug|${PACKAGES.join('|')})$)`) },
      ({ path, importer, resolveDir, namespace }) => {
        if (namespace !== 'file' || !OCLIF.test(importer)) return undefined;
        // Below node_modules: equal sources give equal bundles in any folder.
        const id = path.startsWith('.') ? join(resolveDir, path).replace(/.*[\\/]node_modules[\\/]/, '') : path;
        return { path: id, namespace: NAMESPACE, pluginData: { path, resolveDir } };
      },
    );
    onLoad({ filter: /./, namespace: NAMESPACE }, ({ pluginData: { path, resolveDir } }) => ({
      contents: path === 'debug' ? QUIET_DEBUG : lazily(path),
      resolveDir,
    }));
  },
};

const QUIET_DEBUG = `
const off = Object.assign(() => {}, { enabled: false });
module.exports = process.env.DEBUG ? require('debug') : () => off;
`;

/** TypeScript asks each module for `__esModule` at once: oclif's own have it, and none of the packages. */
function lazily(name: string): string {
  return `
let loaded;
const load = () => (loaded ??= require('${name}'));
module.exports = new Proxy(function () {}, {
  get: (_, key) => (key === '__esModule' ? ${name.startsWith('.')} : load()[key]),
  apply: (_, self, given) => Reflect.apply(load(), self, given),
  construct: (_, given) => Reflect.construct(load(), given),
});
`;
}
