/**
 * `npm run mutate [-- PATTERN…]` changes the code of src/nodepool, src/reconciler, src/controller and of the consent in
 * src/operations in one place at a time (StrykerJS), and runs the unit tests that cover the place. It prints each
 * mutant that no test notices and each accepted survivor that is none any more, and writes the scores into
 * docs/reliability.md. Fails when a deciding file scores too low. A pattern selects files by path, `deciding` selects
 * those of DECIDING; all files take hours.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { readMarked, rewriteMarked } from './marked.ts';
import { type FileScore, percent, scoreFiles } from './mutation/score.ts';
import { ACCEPTED } from './mutation/survivors.ts';
import { projectFiles, ROOT } from './root.ts';

/** Plans, asks for consent and applies, for all commands that write nodes. */
const ASKING = 'src/operations/{consent,reconcile/apply,delete/propose-deletion,move/plan-moves}.ts';
/** Minimum score in percent of the files that decide which node gets what. */
const MIN_SCORE = 85;
const DECIDING = [
  'src/nodepool/{plan,membership,record,record-slots,status,quantity,quantity-parse}.ts',
  'src/reconciler/{membership-change,ownership-index,node-plan,node-writer}.ts',
  'src/controller/{work-queue,leader-election}.ts',
  ASKING,
];
const SOURCES = ['src/{nodepool,reconciler,controller}/**/*.ts', ASKING];
const TESTS = 'test/unit/{nodepool,operations,reconciler,controller}/**/*.test.ts';
/** Added to 1.5 times the duration without a mutant; a mutant that does not end is stopped then. */
const TIMEOUT_MS = 5_000;
/** Limit for all tests without a mutant; the machine may be busy. */
const DRY_RUN_MINUTES = 20;

const HEAD = '| file | mutants | survived | score |\n| --- | --: | --: | --: |';
const PAGE = join(ROOT, 'docs', 'reliability.md');

const patterns = process.argv.slice(2);
const deciding = new Set(projectFiles(DECIDING));
const isMeant = (file: string, pattern: string) =>
  pattern === 'deciding' ? deciding.has(file) : file.includes(pattern);
const sources = projectFiles(SOURCES);
const files = sources.filter(file => patterns.length === 0 || patterns.some(pattern => isMeant(file, pattern)));
if (files.length === 0) {
  process.stderr.write(`no file of ${SOURCES.join(', ')} matches: ${patterns.join(', ')}\n`);
  process.exit(2);
}
process.chdir(ROOT);
const scores = await mutate(files);
for (const score of scores) tellSurvivors(score);
const rows = new Map(scores.map(score => [score.file, rowOf(score)]));
console.log(`\n${[HEAD, ...rows.values()].join('\n')}`);
rewriteMarked(PAGE, 'mutation', [HEAD, ...withEarlier(rows)].join('\n'));
const below = scores.filter(score => deciding.has(score.file) && percent(score) < MIN_SCORE);
for (const score of below) console.error(`${score.file}: ${percent(score)} %, below ${MIN_SCORE} %`);
if (below.length > 0) process.exitCode = 1;

async function mutate(files: string[]): Promise<FileScore[]> {
  const cache = mkdtempSync(join(tmpdir(), 'nodepool-mutate-'));
  // Each mutant starts Node once; most of that time would be compiling the same sources.
  process.env.NODE_COMPILE_CACHE = cache;
  try {
    const stryker = new Stryker({
      mutate: files,
      testRunner: 'tap',
      plugins: ['@stryker-mutator/tap-runner'],
      tap: {
        testFiles: [TESTS],
        nodeArgs: ['--test-reporter=tap', '-r', '{{hookFile}}', '{{testFile}}'],
      },
      coverageAnalysis: 'perTest',
      // TypeScript 7 has no checker API for Stryker. Node strips types, so mutants run without it.
      checkers: [],
      disableTypeChecks: false,
      tsconfigFile: 'none',
      timeoutMS: TIMEOUT_MS,
      dryRunTimeoutMinutes: DRY_RUN_MINUTES,
      concurrency: availableParallelism(),
      ignorePatterns: ['/dist', '/docs/pictures'],
      reporters: ['progress-append-only'],
      cleanTempDir: 'always',
      allowConsoleColors: false,
    });
    return scoreFiles(await stryker.runMutationTest(), ROOT);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

function tellSurvivors({ file, survivors }: FileScore): void {
  const accepted = new Set(ACCEPTED[file]?.flatMap(({ mutants }) => mutants));
  for (const { line, mutator, isUncovered, code } of survivors) {
    if (accepted.has(code)) continue;
    console.log(`${file}:${line} ${mutator}${isUncovered ? ' (no test gets here)' : ''}: ${code}`);
  }
  const alive = new Set(survivors.map(({ code }) => code));
  for (const code of accepted) if (!alive.has(code)) console.log(`${file}: accepted, and no survivor: ${code}`);
}

function rowOf(score: FileScore): string {
  const { file, killed, survivors } = score;
  return `| ${[file, killed + survivors.length, survivors.length, `${percent(score)} %`].join(' | ')} |`;
}

/** The new rows, and those of the page for files that were not measured now, sorted by file. */
function withEarlier(rows: ReadonlyMap<string, string>): string[] {
  const earlier = readMarked(PAGE, 'mutation')
    .split('\n')
    .map(line => [line.split(' ')[1] ?? '', line] as const);
  const all = new Map([...earlier.filter(([file]) => sources.includes(file)), ...rows]);
  return [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
