/**
 * `npm run faults [-- --runs N] [FILE…]` runs the tests of test/fault N times and rewrites the table of docs/reliability.md
 * from the last run. The table says how often each test passed. With FILE, only the files whose name contains one of them are
 * run, and only their rows are replaced; a row whose name has changed stays until the next run of all. Fails when any run failed.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import type { RowResult } from '../test/fault/row.ts';
import { faultsTable } from './faults-table.ts';
import { readMarked, rewriteMarked } from './marked.ts';
import { ROOT } from './root.ts';

const PAGE = join(ROOT, 'docs', 'reliability.md');
const FILES = readdirSync(join(ROOT, 'test', 'fault')).filter(file => file.endsWith('.test.ts'));

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '3' } },
  allowPositionals: true,
});
const runs = Number(values.runs);
const unknown = positionals.filter(name => !FILES.some(file => file.includes(name)));
if (unknown.length > 0) {
  process.stderr.write(`no file of test/fault has ${unknown.join(' or ')} in its name: ${FILES.join(', ')}\n`);
  process.exit(2);
}
const chosen = FILES.filter(file => positionals.length === 0 || positionals.some(name => file.includes(name)));
await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);

const all: RowResult[][] = [];
let failed = false;
for (let round = 1; round <= runs; round++) {
  console.log(`run ${round} of ${runs}`);
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-faults-'));
  failed = !(await runTests(folder)) || failed;
  const results = readdirSync(folder).map(file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as RowResult);
  all.push(results);
  rmSync(folder, { recursive: true });
}
writeTable(all);
if (failed) process.exitCode = 1;

/** Whether all tests passed. */
function runTests(folder: string): Promise<boolean> {
  const files = chosen.map(file => join('test', 'fault', file));
  const args = ['--test', '--test-reporter=spec', '--test-concurrency=2', ...files];
  const env = { ...process.env, FAULT_RESULTS: folder };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' });
  return new Promise(resolve => {
    child.on('exit', code => resolve(code === 0));
  });
}

function writeTable(all: RowResult[][]): void {
  const before = positionals.length === 0 ? '' : readMarked(PAGE, 'faults');
  const text = [
    `Node ${process.version}, ${availableParallelism()} cores, the API server, etcd and the proxy on the same machine.`,
    '',
    ...faultsTable(all, before, new Date().toISOString().slice(0, 10)),
  ].join('\n');
  rewriteMarked(PAGE, 'faults', text);
  console.log(`\n${text}`);
}
