/**
 * `npm test` runs what quick-tests.ts lists, on the executable; `npm run test:all` runs all tests, each end-to-end and fault file on
 * the executable or the bundle (a release runs every file of e2e/ on each: .github/workflows/release.yml); `npm test -- PATTERN…`
 * runs the files whose path contains a pattern, from the sources or as `--product` says. Required programs are built first.
 * The files of test/node/ need real nodes: where there can be none, they are skipped, and a run of nothing else fails.
 * Without a pattern, a few files that fail beside others run again alone, and the run says which: only what fails there, too, fails it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { CONTROLLER_BINARIES } from '../test/cluster/controllers.ts';
import { startLender } from '../test/cluster/lender.ts';
import { NODE_BINARIES } from '../test/cluster/node/binaries.ts';
import { nodeObstacle } from '../test/cluster/node/start.ts';
import { PRODUCTS, type Product } from '../test/cluster/product.ts';
import type { Binary } from '../test/cluster/programs.ts';
import { step } from '../test/cluster/progress.ts';
import { GITOPS_BINARIES } from '../test/package/gitops.ts';
import { HELM_BINARIES } from '../test/package/helm.ts';
import { KREW_BINARIES } from '../test/package/krew.ts';
import { PROMTOOL_BINARIES } from '../test/package/promtool.ts';
import { REGISTRY_BINARIES } from '../test/package/registry.ts';
import { buildPackage } from './build.ts';
import { buildExecutable } from './package/executable.ts';
import { hostTarget } from './package/targets.ts';
import { isQuick } from './quick-tests.ts';
import { COMPILE_CACHE, projectFiles, ROOT } from './root.ts';
import { MEMORY_LIMIT, sharesProcess } from './unit.ts';

/** Number of concurrent test files. Except for unit tests, each has a control plane and waits half of its time. */
const CONCURRENCY = 4;
/** Each has a kubelet, a container runtime, two controllers in pods, and the control plane. */
const NODE_CONCURRENCY = 2;
/** Of a test that sets none. The longest takes 2 minutes. */
const TEST_LIMIT_MS = 10 * 60_000;
/** Of a turn: a test that never yields reaches no limit of its own. */
const TURN_LIMIT_MS = 60 * 60_000;
/** Failed files of a turn that run again alone; more of them are no chance. */
const MAX_AGAIN = 5;
/** Tests that run the product. */
const END_TO_END = /^test\/(e2e|fault)\//;
/** The forms that users install. The bundle starts slower, so it runs about every third file. */
const PACKED = ['executable', 'executable', 'bundle'] as const;

/** Tests with kubelets of their own: beside others, their pods would get ready too late. */
const NODE_FILES = /^test\/node\//;

/** What a file needs beside the API server and kubectl, by what it imports. */
const PROGRAMS: Readonly<Record<string, readonly Binary[]>> = {
  '/cluster/controllers.ts': CONTROLLER_BINARIES,
  '/full-test-env.ts': CONTROLLER_BINARIES,
  "'./demo.ts'": CONTROLLER_BINARIES,
  "/e2e/demo.ts'": HELM_BINARIES,
  '/cluster/node/start.ts': [...CONTROLLER_BINARIES, ...NODE_BINARIES],
  "'./gitops.ts'": GITOPS_BINARIES,
  "/promtool.ts'": PROMTOOL_BINARIES,
  "/helm.ts'": HELM_BINARIES,
  "'./krew.ts'": KREW_BINARIES,
  "'./registry.ts'": REGISTRY_BINARIES,
};

interface Turn {
  product: Product;
  files: string[];
  flags: string[];
}

const { values, positionals: patterns } = parseArgs({
  options: { product: { type: 'string' }, all: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const product = PRODUCTS.find(known => known === (values.product ?? 'sources'));
const isWhole = patterns.length === 0 && values.product === undefined;
const isQuickRun = isWhole && !values.all;
const files = projectFiles('test/{unit,linear,contract,e2e,fault,node,bench,package}/**/*.test.ts')
  .filter(file => patterns.length === 0 || patterns.some(pattern => file.includes(pattern)))
  .filter(file => !isQuickRun || isQuick(file));
if (product === undefined || files.length === 0) {
  const problem = product === undefined ? `--product is one of ${PRODUCTS.join(', ')}` : `no test file matches`;
  process.stderr.write(`${problem}: ${product === undefined ? values.product : patterns.join(', ')}\n`);
  process.exit(2);
}
const obstacle = files.some(file => NODE_FILES.test(file)) ? await nodeObstacle() : undefined;
if (obstacle !== undefined) {
  const isAll = files.every(file => NODE_FILES.test(file));
  process.stderr.write(`the tests on real nodes ${isAll ? 'cannot run' : 'are skipped'}: ${obstacle}\n`);
  if (isAll) process.exit(1);
}
await makePrograms(files.filter(file => obstacle === undefined || !NODE_FILES.test(file))).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
const [together, apart] = [files.filter(sharesProcess), files.filter(file => !sharesProcess(file))];
const packed = isWhole ? apart.filter(file => END_TO_END.test(file)) : [];
const onNodes = apart.filter(file => NODE_FILES.test(file));
// Exits by force: a child that a failed test left would keep the file running.
const flagsFor = (concurrency: number) => [
  `--test-concurrency=${concurrency}`,
  `--test-timeout=${TEST_LIMIT_MS}`,
  '--test-force-exit',
];
const flags = flagsFor(CONCURRENCY);
const turns: Turn[] = [
  { product, files: together, flags: ['--test-isolation=none', '--test-timeout=60000', '--test-force-exit'] },
  { product, files: apart.filter(file => !packed.includes(file) && !onNodes.includes(file)), flags },
  ...(['executable', 'bundle'] as const).map(product => ({
    product,
    files: packed.filter(file => (isQuickRun ? 'executable' : packedForm(file)) === product),
    flags,
  })),
  { product, files: onNodes, flags: flagsFor(NODE_CONCURRENCY) },
];
/** Of the last run. */
const FAILED = 'failed-files';
const FAILED_FILES = join(ROOT, 'scripts/failed-files.ts');
const folder = mkdtempSync(join(tmpdir(), 'nodepool-test-'));
const socket = join(folder, 'lender');
const lender = apart.length > 0 ? await startLender(socket) : undefined;
let isStopped = false;
for (const turn of turns.filter(({ files }) => files.length > 0)) {
  if (isStopped) break;
  // Each turn runs, even if an earlier one failed.
  const code = await run(turn);
  process.exitCode ||= code;
}
await lender?.stop();
rmSync(folder, { recursive: true });

/** Built here and not in a test, which would exceed its time limit. */
async function makePrograms(chosen: string[]): Promise<void> {
  if (chosen.every(file => /^test\/(unit|linear|contract)\//.test(file))) return;
  const anyImports = (module: string) => chosen.some(file => readFileSync(join(ROOT, file), 'utf8').includes(module));
  const needed = Object.entries(PROGRAMS).flatMap(([module, programs]) => (anyImports(module) ? programs : []));
  await ensureBinaries([...new Set<Binary>(['etcd', 'kube-apiserver', 'kubectl', ...needed])]);
}

/** By its path: a new file does not change on which form the others run. */
function packedForm(file: string): Product | undefined {
  const sum = Buffer.from(file).reduce((total, byte) => total + byte, 0);
  return PACKED[sum % PACKED.length];
}

/** Returns the exit code. */
async function run(turn: Turn): Promise<number> {
  const { stderr } = process;
  const { product } = turn;
  if (product === 'bundle') await step(stderr, 'bundling kubectl-nodepool', buildPackage);
  if (product === 'executable') await step(stderr, 'building the executable', () => buildExecutable(hostTarget()));
  if (product !== 'sources') stderr.write(`on the ${product}:\n`);
  const code = await runFiles(turn);
  if (code === 0 || isStopped || !isWhole || turn.files === together) return code;
  const paths = readFileSync(join(folder, FAILED), 'utf8').split('\n').filter(Boolean);
  const failed = paths.map(path => relative(ROOT, path));
  const areKnown = failed.length > 0 && failed.every(file => turn.files.includes(file));
  if (!areKnown || failed.length > MAX_AGAIN) return code;
  const names = failed.map(file => `  ${file}`).join('\n');
  stderr.write(`again, alone:\n${names}\n`);
  const again = await runFiles({ ...turn, files: failed, flags: flagsFor(1) });
  if (again === 0) stderr.write(`failed beside others, passed alone:\n${names}\n`);
  return again;
}

async function runFiles({ product, files, flags }: Turn): Promise<number> {
  const reporters = [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${FAILED_FILES}`, `--test-reporter-destination=${join(folder, FAILED)}`],
  ];
  const args = [...MEMORY_LIMIT, '--test', ...reporters, ...flags, ...files];
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    NODEPOOL_TEST_PRODUCT: product,
    NODEPOOL_TEST_LENDER: socket,
    ...(isQuickRun ? { NODEPOOL_TESTS: 'quick' } : {}),
  };
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: 'inherit',
    env,
    timeout: TURN_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const stop = (signal: NodeJS.Signals) => {
    isStopped = true;
    // As in setup.mjs: the terminal sends Ctrl-C to the child too.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  const code = await new Promise<number>(resolve => child.on('exit', ended => resolve(ended ?? 1)));
  for (const signal of signals) process.off(signal, stop);
  return code;
}
