/**
 * `npm run mutate [-- PATTERN…]` changes the code of src/nodepool, src/reconciler, src/controller and of the consent in
 * src/commands/shared in one place at a time (StrykerJS), and runs the unit tests that cover the place. It prints each
 * mutant that no test notices, and writes the scores into docs/reliability.md. Fails when a deciding file scores too
 * low. A pattern selects files by path, `deciding` selects those of DECIDING; all files take hours.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { readMarked, rewriteMarked } from './marked.ts';
import { projectFiles, ROOT } from './root.ts';

/** Plans, asks for consent and applies, for all commands that write nodes. */
const ASKING = [
  'src/commands/shared/consent/consent.ts',
  'src/commands/shared/delete/delete.ts',
  'src/commands/shared/move/plan-moves.ts',
  'src/commands/shared/reconcile/apply.ts',
];
/** Minimum score in percent of the files that decide which node gets what. */
const MIN_SCORE = 85;
const DECIDING = [
  'src/controller/leader-election.ts',
  'src/controller/work-queue.ts',
  'src/nodepool/membership/membership.ts',
  'src/nodepool/plan/plan.ts',
  'src/nodepool/quantity/quantity.ts',
  'src/nodepool/plan/record.ts',
  'src/nodepool/status/status.ts',
  'src/reconciler/plan/membership-change.ts',
  'src/reconciler/plan/node-plan.ts',
  'src/reconciler/write/node-writer.ts',
  'src/reconciler/state/ownership-index.ts',
  ...ASKING,
];
const SOURCES = ['src/{nodepool,reconciler,controller}/**/*.ts', ...ASKING];
const TESTS = 'test/unit/{nodepool,commands,reconciler,controller}/**/*.test.ts';
/** Added to 1.5 times the duration without a mutant; a mutant that does not end is stopped then. */
const TIMEOUT_MS = 5_000;
/** Limit for all tests without a mutant; the machine may be busy. */
const DRY_RUN_MINUTES = 20;

const HEAD = '| file | mutants | survived | score |\n| --- | --: | --: | --: |';
const PAGE = join(ROOT, 'docs', 'reliability.md');

interface Survivor {
  /** 1-based. */
  line: number;
  mutator: string;
  /** Not covered by any test. */
  isUncovered: boolean;
  /** The mutated code, from the start of its first line to the end of its last, with single spaces. */
  code: string;
}

interface FileScore {
  /** Relative to the project's root. */
  file: string;
  /** Mutants that failed a test or timed out. */
  killed: number;
  survivors: Survivor[];
}

const patterns = process.argv.slice(2);
const isMeant = (file: string, pattern: string) =>
  pattern === 'deciding' ? DECIDING.includes(file) : file.includes(pattern);
const sources = projectFiles(SOURCES);
const missing = DECIDING.filter(file => !sources.includes(file));
if (missing.length > 0) throw new Error(`no such files: ${missing.join(', ')}`);
const files = sources.filter(file => patterns.length === 0 || patterns.some(pattern => isMeant(file, pattern)));
if (files.length === 0) {
  process.stderr.write(`no file of ${SOURCES.join(', ')} matches: ${patterns.join(', ')}\n`);
  process.exit(2);
}
process.chdir(ROOT);
const earlier = earlierRows();
const scores = await mutate(files);
for (const score of scores) printSurvivors(score);
const rows = new Map(scores.map(score => [score.file, rowOf(score)]));
console.log(`\n${[HEAD, ...rows.values()].join('\n')}`);
rewriteMarked(PAGE, 'mutation', [HEAD, ...allRows(rows)].join('\n'));
const below = scores.filter(score => DECIDING.includes(score.file) && percent(score) < MIN_SCORE);
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
    return scoreFiles(await stryker.runMutationTest());
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

/** Mutants that cannot run (`CompileError`, `RuntimeError`, `Ignored`) do not count. */
function scoreFiles(mutants: readonly MutantResult[]): FileScore[] {
  const byFile = Map.groupBy(mutants, ({ fileName }) => fileName);
  const scores = [...byFile].map(([fileName, own]) => {
    const lines = readFileSync(fileName, 'utf8').split('\n');
    const alive = own.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
    return {
      file: relative(ROOT, fileName),
      killed: own.filter(({ status }) => status === 'Killed' || status === 'Timeout').length,
      survivors: alive.map(mutant => survivor(mutant, lines)).toSorted((a, b) => a.line - b.line),
    };
  });
  return scores.toSorted((a, b) => (a.file < b.file ? -1 : 1));
}

function survivor({ location: { start, end }, mutatorName, replacement, status }: MutantResult, lines: string[]) {
  // Lines and columns are 1-based.
  const before = lines[start.line - 1]?.slice(0, start.column - 1) ?? '';
  const after = lines[end.line - 1]?.slice(end.column - 1) ?? '';
  return {
    line: start.line,
    mutator: mutatorName,
    isUncovered: status === 'NoCoverage',
    code: `${before}${replacement}${after}`.replaceAll(/\s+/g, ' ').trim(),
  };
}

/** In percent, rounded down to one decimal: 84.99 does not count as 85. */
function percent({ killed, survivors }: FileScore): number {
  const all = killed + survivors.length;
  return all === 0 ? 100 : Math.floor((killed / all) * 1000) / 10;
}

function printSurvivors({ file, survivors }: FileScore): void {
  const before = earlier.get(file)?.split('|')[3]?.trim() ?? 'unknown';
  console.log(`\n${file}: ${survivors.length} survived (before: ${before})`);
  for (const { line, mutator, isUncovered, code } of survivors)
    console.log(`${file}:${line} ${mutator}${isUncovered ? ' (no test gets here)' : ''}: ${code}`);
}

function rowOf(score: FileScore): string {
  const { file, killed, survivors } = score;
  return `| ${[file, killed + survivors.length, survivors.length, `${percent(score)} %`].join(' | ')} |`;
}

/** The rows of the page, by file. */
function earlierRows(): Map<string, string> {
  const lines = readMarked(PAGE, 'mutation').split('\n');
  return new Map(lines.map(line => [line.split(' ')[1] ?? '', line]));
}

/** The new rows, and those of the page for files that were not measured now, sorted by file. */
function allRows(rows: ReadonlyMap<string, string>): string[] {
  const kept = [...earlier].filter(([file]) => sources.includes(file));
  return [...new Map([...kept, ...rows])].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
