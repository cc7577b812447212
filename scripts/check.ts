/** `npm run check` runs every check that needs no cluster, in parallel. Prints the output of failed steps. */
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { COMPILE_CACHE, projectFiles, ROOT } from './root.ts';
import { MEMORY_LIMIT, sharesProcess } from './unit.ts';

const UNIT = 'test/unit/**/*.test.ts';
/** These tests wait for sockets, so they run beside those that compute. */
const NETWORK = /^test\/unit\/kube\//;
/** A quarter of the unit tests, so that neither of two cores waits for the other at the end. */
const SCREENS = /^test\/unit\/(view|print|commands)\//;
/** Half of the computing. */
const PROPERTIES = /^test\/unit\/properties\//;
/** The compiler, a program in Go, ends before it needs to collect garbage. */
const GO = { GOGC: 'off', GOMEMLIMIT: '1GiB' };
/** The compiler's cache. */
const TYPES_KNOWN = 'node_modules/.cache/types.tsbuildinfo';
/** Of a step; a test that never yields reaches no limit of its own. */
const LIMIT_MS = 10 * 60_000;
/** Lint never waits and uses all cores, so it takes the time in which the tests wait for sockets. */
const LOW_PRIORITY = 10;
/** The arguments of node for each step. */
const STEPS: Record<string, string[]> = {
  lint: ['node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  types: ['node_modules/typescript/bin/tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', TYPES_KNOWN],
  imports: ['scripts/check-imports.ts'],
  surface: [
    '--test-isolation=none',
    ...tests('test/contract/{command-surface,command-help,imports,named-tests,texts}.test.ts'),
  ],
  unit: together(file => ![NETWORK, PROPERTIES, SCREENS].some(each => each.test(file))),
  screens: together(file => SCREENS.test(file)),
  properties: together(file => PROPERTIES.test(file)),
  network: together(file => NETWORK.test(file)),
  apart: tests(UNIT, file => !sharesProcess(file)),
};

/** In one process. A larger young generation saves a quarter of the CPU time. */
function together(chosen: (file: string) => boolean): string[] {
  const files = tests(UNIT, file => sharesProcess(file) && chosen(file));
  return ['--test-isolation=none', '--max-semi-space-size=256', ...files];
}

function tests(pattern: string, chosen: (file: string) => boolean = () => true): string[] {
  return [
    ...MEMORY_LIMIT,
    '--test',
    '--test-timeout=60000',
    '--test-reporter=dot',
    ...projectFiles(pattern).filter(chosen),
  ];
}

/** Runs a step and prints its result. */
async function check(name: string, args: string[]): Promise<boolean> {
  const start = performance.now();
  const { code, output } = await node(args, name === 'lint' ? LOW_PRIORITY : 0);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(10)} ${seconds.padStart(5)} s`);
  if (code !== 0) console.log(output.trimEnd());
  return code === 0;
}

function node(args: string[], priority: number): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...GO, NODE_COMPILE_CACHE: COMPILE_CACHE };
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    if (child.pid !== undefined) setPriority(child.pid, priority);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    }
    child.once('error', reject);
    child.once('close', code => resolve({ code, output }));
  });
}

const results = await Promise.all(Object.entries(STEPS).map(([name, args]) => check(name, args)));
if (results.includes(false)) process.exitCode = 1;
