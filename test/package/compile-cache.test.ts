/**
 * The compile cache of the npm package: compiled code that another user of the machine planted is not run. Bytecode of
 * a module that prints PLANTED poses as that of main.js, by its header in Node's cache.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ENTRIES } from '../../scripts/build.ts';
import { bundle } from '../../scripts/package/bundle.ts';
import { ROOT } from '../../scripts/root.ts';
import { temporaryFolder } from './copy.ts';

/** Only root can act as two users; others run the tests that need one. */
const isRoot = process.getuid?.() === 0;
const VICTIM = isRoot ? 65534 : (process.getuid?.() ?? 0);
/** Of Node's header of a cached file: the checksum of the source, third number after the magic one. */
const [HASH_START, HASH_END] = [12, 16];
const ANSWER = 'Client Version: ';

const folder = await temporaryFolder({ after });
const installed = join(folder, 'package');
const bin = join(installed, 'bin', 'kubectl-nodepool.js');
const main = join(installed, 'dist', 'npm', 'main.js');
/** A copy, as the other user may not enter the folder of the project. */
const node = isRoot ? join(folder, 'node') : process.execPath;
const shared = join(folder, 'shared');
const home = join(folder, 'home');

/** @param env beside PATH and HOME. What the program printed, on both streams */
function start(env: Record<string, string>, uid = VICTIM): string {
  const options = { env: { PATH: process.env.PATH, HOME: home, ...env }, encoding: 'utf8' as const };
  const run = spawnSync(node, [bin, 'version', '--client'], {
    ...options,
    ...(isRoot ? { uid, gid: uid } : {}),
  });
  assert.equal(run.status, 0, run.stderr);
  return run.stdout + run.stderr;
}

/** Compiled code of the evil module under the name and with the checksum of main.js, and the folder that Node looks in. */
let planted: { folder: string; name: string; bytes: Buffer };

before(async () => {
  chmodSync(folder, 0o755);
  if (isRoot) copyFileSync(process.execPath, node);
  await bundle(ENTRIES, dirname(main));
  cpSync(join(ROOT, 'bin'), dirname(bin), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  const source = readFileSync(main, 'utf8');
  const evil = "process.stdout.write('PLANTED\\n'); process.exit(0); export const start = 0;";
  let versioned = '';
  const [good, bad] = [source, `${evil}\n//`.padEnd(Buffer.byteLength(source))].map((text, at) => {
    writeFileSync(main, text);
    const cache = join(folder, `made-${at}`);
    mkdirSync(cache, { mode: 0o777 });
    chmodSync(cache, 0o777);
    start({ NODE_COMPILE_CACHE: cache });
    versioned = readdirSync(cache)[0] ?? '';
    const own = join(cache, versioned);
    return new Map(readdirSync(own).map(name => [name, readFileSync(join(own, name))]));
  });
  writeFileSync(main, source);
  assert.ok(good && bad);
  // Of the files that both runs loaded, main.js is the one whose source differs.
  const hash = (bytes: Buffer | undefined) => bytes?.subarray(HASH_START, HASH_END).toString('hex');
  const name = [...bad.keys()].find(key => good.has(key) && hash(good.get(key)) !== hash(bad.get(key)));
  const bytes = bad.get(name ?? '');
  assert.ok(name !== undefined && bytes !== undefined, 'the run of the evil module left no compiled code');
  good.get(name)?.copy(bytes, HASH_START, HASH_START, HASH_END);
  planted = { folder: versioned, name, bytes };
});

beforeEach(() => {
  for (const path of [shared, home]) rmSync(path, { recursive: true, force: true });
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  mkdirSync(home, { mode: 0o700 });
  if (isRoot) chownSync(home, VICTIM, VICTIM);
});

/** As the other user would, in a folder that is then open to all. */
function plant(path: string): void {
  mkdirSync(path, { recursive: true });
  const own = join(path, planted.folder);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, planted.name), planted.bytes);
  chmodSync(own, 0o777);
  chmodSync(path, 0o777);
}

describe('compiled code of another user', {
  skip: process.platform === 'win32' && 'Windows has no owners and modes of files',
}, () => {
  test('runs from a folder that the user chose, which proves that the attack works', () => {
    plant(join(shared, 'chosen'));
    assert.equal(start({ NODE_COMPILE_CACHE: join(shared, 'chosen') }), 'PLANTED\n');
  });

  test('does not run from the temporary folder, which is the default of Node', () => {
    plant(join(shared, 'node-compile-cache'));
    const env = { TMPDIR: shared };
    assert.ok(start(env).startsWith(ANSWER));
    assert.ok(existsSync(join(home, '.cache', 'kubectl-nodepool', 'compiled')));
    assert.ok(start(env).startsWith(ANSWER));
  });

  test('does not run from a cache folder that others can write to', () => {
    const own = join(shared, 'kubectl-nodepool', 'compiled');
    const cases: (() => void)[] = [
      () => plant(own),
      () => {
        plant(join(shared, 'elsewhere'));
        mkdirSync(dirname(own));
        symlinkSync(join(shared, 'elsewhere'), own);
      },
      () => {
        plant(own);
        // The folder itself is safe, but its parent lets others replace it.
        chmodSync(own, 0o700);
        if (isRoot) chownSync(own, VICTIM, VICTIM);
        chmodSync(dirname(own), 0o777);
      },
    ];
    for (const prepare of cases) {
      rmSync(shared, { recursive: true });
      mkdirSync(shared);
      chmodSync(shared, 0o1777);
      prepare();
      assert.ok(start({ XDG_CACHE_HOME: shared }).startsWith(ANSWER), String(prepare));
    }
  });

  test('does not run from a folder of another user with any mode', {
    skip: !isRoot && 'only root may give files away',
  }, () => {
    // As `sudo` that keeps HOME: the user could plant code that root would run.
    const own = join(home, '.cache', 'kubectl-nodepool', 'compiled');
    plant(own);
    chmodSync(own, 0o700);
    chownSync(own, 1, 1);
    assert.ok(start({}, 0).startsWith(ANSWER));
    rmSync(join(home, '.cache'), { recursive: true });
    assert.ok(start({}, 0).startsWith(ANSWER));
    assert.ok(!existsSync(join(home, '.cache')), 'nothing is written into the home of another');
  });
});

test('uses its own compiled code from the second start on', {
  skip: process.platform === 'win32' && 'HOME names no folder on Windows',
}, () => {
  const env = { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
  start(env);
  assert.match(start(env), /main\.js.*was accepted/);
});
