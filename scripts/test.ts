/**
 * Runs the tests: `npm test` all of them, `npm test -- PATTERN…` the files whose path contains one of the patterns.
 * The programs of the control plane are made first, with progress, if a chosen file needs them.
 */
import { spawn } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { CONTROLLER_BINARIES } from '../test/cluster/controllers.ts';
import { KREW_BINARIES } from '../test/package/krew.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Test files at once: each of the others than unit starts a control plane. */
const CONCURRENCY = 2;

const patterns = process.argv.slice(2);
const files = globSync('test/{unit,contract,e2e,fault,bench,package}/**/*.test.ts', { cwd: ROOT })
  .filter(file => patterns.length === 0 || patterns.some(pattern => file.includes(pattern)))
  .sort();
if (files.length === 0) {
  process.stderr.write(`no test file matches ${patterns.join(', ')}\n`);
  process.exit(2);
}
if (files.some(file => !file.startsWith('test/unit/'))) {
  // Here, and not in a test, where making them would take longer than it may.
  const anyImports = (module: string) => files.some(file => readFileSync(join(ROOT, file), 'utf8').includes(module));
  const programs = [
    ...(['etcd', 'kube-apiserver', 'kubectl'] as const),
    ...(anyImports('/cluster/controllers.ts') ? CONTROLLER_BINARIES : []),
    ...(anyImports("'./krew.ts'") ? KREW_BINARIES : []),
  ];
  await ensureBinaries(programs).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
const child = spawn(
  process.execPath,
  ['--test', '--test-reporter=spec', `--test-concurrency=${CONCURRENCY}`, ...files],
  { cwd: ROOT, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // As in setup.mjs: a terminal's Ctrl-C has reached the child already.
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on('exit', code => {
  process.exitCode = code ?? 1;
});
