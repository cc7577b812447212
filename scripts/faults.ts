/**
 * `npm run faults [-- --runs N]` runs every test of test/fault N times and rewrites the table of docs/reliability.md
 * from the last run. The table says how often each test passed. Fails when any run failed.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import type { RowResult } from '../test/fault/row.ts';
import { rewriteMarked } from './marked.ts';
import { ROOT } from './root.ts';

const FILES = readdirSync(join(ROOT, 'test', 'fault')).filter(file => file.endsWith('.test.ts'));

const { values } = parseArgs({ options: { runs: { type: 'string', default: '3' } } });
const runs = Number(values.runs);
await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);

const all: RowResult[][] = [];
let failed = false;
for (let round = 1; round <= runs; round++) {
  console.log(`run ${round} of ${runs}`);
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-faults-'));
  failed = !(await runTests(folder)) || failed;
  const results = readdirSync(folder).map(file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as RowResult);
  all.push(results.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)));
  rmSync(folder, { recursive: true });
}
writeTable(all);
if (failed) process.exitCode = 1;

/** Whether all tests passed. */
function runTests(folder: string): Promise<boolean> {
  const files = FILES.map(file => join('test', 'fault', file));
  const args = ['--test', '--test-reporter=spec', '--test-concurrency=2', ...files];
  const env = { ...process.env, FAULT_RESULTS: folder };
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' });
  return new Promise(resolve => {
    child.on('exit', code => resolve(code === 0));
  });
}

function nameOf({ fault, how }: RowResult): string {
  return `${fault}: ${how}`;
}

function writeTable(all: RowResult[][]): void {
  const rows = (all.at(-1) ?? []).map(row => {
    const passed = all.flat().filter(other => nameOf(other) === nameOf(row) && other.passed).length;
    const facts = Object.entries(row.facts).map(([name, value]) => `${name} ${value}`);
    return [row.fault, row.how, row.holds, [...facts, `${row.seconds} s`].join(', '), `${passed} of ${all.length}`];
  });
  const heads = ['fault', 'how', 'holds', 'measured', 'passed'];
  const line = (cells: string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const day = new Date().toISOString().slice(0, 10);
  const text = [
    `${day}, Node ${process.version}, ${availableParallelism()} cores, the API server, etcd and the proxy on the same machine.`,
    '',
    line(heads),
    line(heads.map(() => '---')),
    ...rows.map(line),
  ].join('\n');
  rewriteMarked(join(ROOT, 'docs', 'reliability.md'), 'faults', text);
  console.log(`\n${text}`);
}
