/**
 * `npm run test:versions [-- 1.30 …]` runs the tests of what depends on the API server on kube-apiserver and kubectl of
 * these minor versions of Kubernetes, or of all that are supported, then those of watches with WatchList on and off, and
 * writes their rows of the table in docs/reliability.md.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { type Minor, OLDER, VERSIONS } from '../test/cluster/programs.ts';
import { run } from '../test/cluster/run.ts';
import { readMarked, rewriteMarked } from './marked.ts';
import { ROOT } from './root.ts';

/** Files whose path contains one of these. */
const FILES = [
  'e2e/command-doctor',
  'e2e/command-drain',
  'e2e/command-get',
  'e2e/command-install',
  'e2e/command-reconcile',
  'e2e/command-rollout',
  'e2e/command-wait',
  'e2e/command-watch',
  'e2e/controller-reflector',
  'e2e/crd-validation',
  'e2e/delete.',
  'e2e/drain-held',
  'e2e/gone-pools',
  'e2e/in-cluster.',
  'e2e/kube-protobuf',
  'e2e/needs',
  'e2e/no-execute-killed',
  'e2e/no-execute-rollout',
  'e2e/no-execute.',
  'e2e/protect-',
  'e2e/reconcile',
  'e2e/revisions',
  'e2e/upgrade',
  'e2e/watch.',
  'e2e/watch-start',
  'fault/compaction',
  'fault/conflicts',
  'fault/missed-events',
  'fault/stale-reads',
];
/** With WatchList on and off. */
const WATCHES = ['e2e/command-watch', 'e2e/controller-reflector', 'e2e/watch.', 'e2e/watch-start'];

const PAGE = join(ROOT, 'docs', 'reliability.md');
const HEAD = `| Kubernetes | passed | of watches, WatchList on | WatchList off | seconds | date |
| --- | --- | --- | --- | --: | --- |`;

/** Numbers of tests. */
interface Counts {
  tests: number;
  pass: number;
  skipped: number;
}

interface Result {
  minor: string;
  patch: string;
  runs: Counts[];
  seconds: number;
}

const NEWEST = VERSIONS['kube-apiserver'].slice(1, VERSIONS['kube-apiserver'].lastIndexOf('.'));
const all = [...Object.keys(OLDER), NEWEST];
const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.filter(minor => !all.includes(minor));
if (unknown.length > 0) {
  process.stderr.write(`unknown minor version ${unknown.join(', ')}: it is one of ${all.join(', ')}\n`);
  process.exit(2);
}
const results: Result[] = [];
for (const minor of positionals.length > 0 ? positionals : all) results.push(await testOn(minor));
const text = withEarlier(results.map(rowOf));
rewriteMarked(PAGE, 'versions', text);
process.stdout.write(`\n${text}\n`);
if (results.some(({ runs }) => runs.some(hasFailed))) process.exitCode = 1;

async function testOn(minor: string): Promise<Result> {
  const [apiserver, kubectl] = await programs(minor);
  const { stdout } = await run(apiserver, ['--version']);
  const patch = stdout.trim().split(' ').at(-1) ?? '';
  const env = { TEST_ASSET_KUBE_APISERVER: apiserver, TEST_ASSET_KUBECTL: kubectl, NODEPOOL_TEST_MINOR: minor };
  const start = performance.now();
  const runs = [await runTests(patch, FILES, env)];
  // In 1.30 the server only learns from etcd that a list is complete with this second gate.
  const on = minor === '1.30' ? 'WatchList=true,ConsistentListFromCache=true' : 'WatchList=true';
  for (const gate of [on, 'WatchList=false'])
    runs.push(await runTests(`${patch}, ${gate}`, WATCHES, { ...env, NODEPOOL_TEST_FEATURE_GATES: gate }));
  return { minor, patch, runs, seconds: Math.round((performance.now() - start) / 1000) };
}

/** The paths of kube-apiserver and kubectl. */
async function programs(minor: string): Promise<[string, string]> {
  const suffix = minor === NEWEST ? '' : (`-${minor as Minor}` as const);
  const names = [`kube-apiserver${suffix}`, `kubectl${suffix}`] as const;
  const paths = await ensureBinaries(names);
  return [paths[names[0]], paths[names[1]]];
}

/** Through scripts/test.ts, whose summaries are added up. */
async function runTests(title: string, files: readonly string[], env: NodeJS.ProcessEnv): Promise<Counts> {
  process.stdout.write(`\n${title}\n`);
  const child = spawn(process.execPath, [join(ROOT, 'scripts', 'test.ts'), '--product', 'executable', ...files], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const counts: Counts = { tests: 0, pass: 0, skipped: 0 };
  for await (const line of createInterface({ input: child.stdout })) {
    process.stdout.write(`${line}\n`);
    const [, name, count] = /^ℹ (tests|pass|skipped) (\d+)$/.exec(line) ?? [];
    if (name !== undefined) counts[name as keyof Counts] += Number(count);
  }
  return counts;
}

/** A run that was stopped or did not start has no tests. */
function hasFailed({ tests, pass, skipped }: Counts): boolean {
  return tests === 0 || pass + skipped < tests;
}

function rowOf({ patch, runs, seconds }: Result): string {
  const cells = runs.map(
    ({ tests, pass, skipped }) => `${pass} of ${tests}${skipped === 0 ? '' : `, ${skipped} skipped`}`,
  );
  return `| ${[patch, ...cells, seconds, new Date().toISOString().slice(0, 10)].join(' | ')} |`;
}

/** These rows, and those that the page has of other minor versions. */
function withEarlier(rows: readonly string[]): string {
  const minorOf = (row: string) => /^\| v(1\.\d+)\./.exec(row)?.[1];
  const earlier = readMarked(PAGE, 'versions')
    .split('\n')
    .map(row => [minorOf(row), row] as const);
  const byMinor = new Map([...earlier, ...rows.map(row => [minorOf(row), row] as const)]);
  return [HEAD, ...all.flatMap(minor => byMinor.get(minor) ?? [])].join('\n');
}
