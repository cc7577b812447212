/**
 * Runs the tests: `npm test` all of them, `npm test -- PATTERN…` the files whose path contains one of the patterns. What
 * starts the product starts the sources, or what `--product` names. A run of everything tries the verbs on what people
 * have, the bundle and the executable, each file on one of the two by turns, and all the rest on the sources. A release
 * tries every file on each (.github/workflows/release.yml).
 * What the chosen files need is made first, with progress.
 */
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { CONTROLLER_BINARIES } from '../test/cluster/controllers.ts';
import { PRODUCTS, type Product } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { KREW_BINARIES } from '../test/package/krew.ts';
import { buildPackage } from './build.ts';
import { buildExecutable } from './package/executable.ts';
import { hostTarget } from './package/targets.ts';
import { ROOT } from './root.ts';

/** Test files at once: each of the others than unit starts a control plane. */
const CONCURRENCY = 2;
/** Every verb, from the command line to the server and back. */
const VERBS = /e2e\/(verbs-[^/]+|create|delete|diff|reconcile|uninstall|watch)\.test\.ts$/;
/** What people have. */
const PACKED = ['bundle', 'executable'] as const;

const { values, positionals: patterns } = parseArgs({
  options: { product: { type: 'string' } },
  allowPositionals: true,
});
const product = PRODUCTS.find(known => known === (values.product ?? 'sources'));
const files = globSync('test/{unit,contract,e2e,fault,bench,package}/**/*.test.ts', { cwd: ROOT })
  .filter(file => patterns.length === 0 || patterns.some(pattern => file.includes(pattern)))
  .sort();
if (product === undefined || files.length === 0) {
  const problem = product === undefined ? `--product is one of ${PRODUCTS.join(', ')}` : `no test file matches`;
  process.stderr.write(`${problem}: ${product === undefined ? values.product : patterns.join(', ')}\n`);
  process.exit(2);
}
await makePrograms(files).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
const isWhole = patterns.length === 0 && values.product === undefined;
const verbs = isWhole ? files.filter(file => VERBS.test(file)) : [];
process.exitCode = await runOn(
  product,
  files.filter(file => !verbs.includes(file)),
);
if (isWhole) {
  for (const [turn, packed] of PACKED.entries()) {
    const its = verbs.filter((_, index) => index % PACKED.length === turn);
    process.exitCode ||= await runOn(packed, its);
  }
}

/** Here, and not in a test, where making them would take longer than it may. */
async function makePrograms(chosen: string[]): Promise<void> {
  if (chosen.every(file => file.startsWith('test/unit/'))) return;
  const anyImports = (module: string) => chosen.some(file => readFileSync(join(ROOT, file), 'utf8').includes(module));
  await ensureBinaries([
    ...(['etcd', 'kube-apiserver', 'kubectl'] as const),
    ...(anyImports('/cluster/controllers.ts') || anyImports('/full-world.ts') ? CONTROLLER_BINARIES : []),
    ...(anyImports("'./krew.ts'") ? KREW_BINARIES : []),
  ]);
}

/** The exit code of the run. */
async function runOn(product: Product, chosen: string[]): Promise<number> {
  const { stderr } = process;
  if (product === 'bundle') await step(stderr, 'bundling kubectl-nodepool', buildPackage);
  if (product === 'executable') await step(stderr, 'building the executable', () => buildExecutable(hostTarget()));
  if (product !== 'sources') stderr.write(`on the ${product}:\n`);
  const args = ['--test', '--test-reporter=spec', `--test-concurrency=${CONCURRENCY}`, ...chosen];
  const env = { ...process.env, NODEPOOL_TEST_PRODUCT: product };
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env });
  // As in setup.mjs: a terminal's Ctrl-C has reached the child already.
  const stop = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  const code = await new Promise<number>(resolve => child.on('exit', ended => resolve(ended ?? 1)));
  for (const signal of signals) process.off(signal, stop);
  return code;
}
