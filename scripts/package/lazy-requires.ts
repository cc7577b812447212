/**
 * Modules that oclif requires when it is loaded, for plugins, templates, prompts and a spinner of its own, which hardly a command
 * here uses: in the bundle they are loaded at their first use, and `debug` only with the environment variable that turns it
 * on. Otherwise they would take a fifth of the start-up time.
 */
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
    onResolve({ filter: new RegExp(`^(debug|${PACKAGES.join('|')})$`) }, ({ path, importer, resolveDir }) =>
      OCLIF.test(importer) ? { path, namespace: NAMESPACE, pluginData: resolveDir } : undefined,
    );
    onLoad({ filter: /./, namespace: NAMESPACE }, ({ path, pluginData }) => ({
      contents: path === 'debug' ? QUIET_DEBUG : lazily(path),
      resolveDir: pluginData,
    }));
  },
};

const QUIET_DEBUG = `
const off = Object.assign(() => {}, { enabled: false });
module.exports = process.env.DEBUG ? require('debug') : () => off;
`;

/** TypeScript asks each module for `__esModule` at once: none of these has it. */
function lazily(name: string): string {
  return `
let loaded;
const load = () => (loaded ??= require('${name}'));
module.exports = new Proxy(function () {}, {
  get: (_, key) => (key === '__esModule' ? undefined : load()[key]),
  apply: (_, self, given) => Reflect.apply(load(), self, given),
});
`;
}
