/**
 * `npm run fuzz [-- --minutes M --seed N --property NAME --path P]` runs the properties of test/unit/properties with
 * new seeds until the time is over or one fails. With a seed it runs one round, which repeats that seed's examples.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { projectFiles, ROOT } from './root.ts';

/** A round has TIMES the examples of `npm test`; one that takes longer than MAX_MS has a parser that hangs. */
const [TIMES, MAX_MS] = [20, 900_000];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    property: { type: 'string' },
    path: { type: 'string' },
  },
});
const { minutes, seed, property, path } = values;
const end = Date.now() + Number(minutes) * 60_000;
const files = projectFiles('test/unit/properties/*.test.ts');
const only = property === undefined ? [] : [`--test-name-pattern=^${RegExp.escape(property)}$`];

let rounds = 0;
do {
  const chosen = Number(seed ?? Math.floor(Math.random() * 2 ** 31));
  rounds++;
  const start = Date.now();
  const env = { ...process.env, NODEPOOL_FUZZ_SEED: String(chosen), NODEPOOL_FUZZ_TIMES: String(TIMES) };
  const { status, signal, stdout } = spawnSync(
    process.execPath,
    ['--test', '--test-isolation=none', '--test-reporter=spec', ...only, ...files],
    {
      cwd: ROOT,
      encoding: 'utf8',
      env: path === undefined ? env : { ...env, NODEPOOL_FUZZ_PATH: path },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: MAX_MS,
      maxBuffer: 2 ** 30,
    },
  );
  console.log(`seed ${chosen}: ${status === 0 ? 'ok' : 'FAILED'}, ${((Date.now() - start) / 1000).toFixed(1)} s`);
  if (status !== 0) {
    const hung = signal === null ? '' : `it was ended after ${MAX_MS / 1000} s; the last property that ended:\n`;
    console.log(`${hung}${stdout}`);
    console.log(`repeat it: npm run fuzz -- --seed ${chosen}`);
    process.exitCode = 1;
  }
} while (seed === undefined && process.exitCode === undefined && Date.now() < end);
console.log(`${rounds} round${rounds === 1 ? '' : 's'} of ${TIMES} times what npm test tries`);
