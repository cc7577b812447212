/**
 * Machines that lack something: the working directory, a home that can hold files, /proc. As kubectl, the program works there.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import pjson from '../../package.json' with { type: 'json' };
import { useCluster } from '../cluster/harness.ts';
import { productCommand, productUnderTest } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';

const cluster = useCluster({ crd: true });
const VERSION = { code: 0, stdout: `Client Version: ${pjson.version}\n`, stderr: '' };

/** Runs the program by a shell. @param script its `"$@"` is the program with the arguments */
function shell(script: string, args: readonly string[], env: Record<string, string> = {}) {
  const { PATH = '' } = process.env;
  return run('sh', ['-c', script, 'sh', ...productCommand(), ...args], { env: { PATH, HOME: tmpdir(), ...env } });
}

test('a working directory that is deleted', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-gone-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const there = (...args: string[]) =>
    shell(`mkdir -p ${folder} && cd ${folder} && rmdir ${folder} && exec "$@"`, args, {
      KUBECONFIG: cluster().kubeconfig,
    });
  assert.deepEqual(await there('version', '--client'), VERSION);
  assert.deepEqual(await there('get'), { code: 0, stdout: '', stderr: 'No pools found.\n' });
  const { stdout } = await there('__complete', 'get', '--context', '');
  assert.match(stdout, /^\S+\n:4\n$/);
  const relative = await there('get', '--certificate-authority', 'ca.crt');
  assert.match(relative.stderr, /^error: cannot read the certificate-authority of .*, ca\.crt: no such file; /);
});

test('a home that can hold no files', { skip: process.platform !== 'linux' && 'no /proc' }, async () => {
  assert.deepEqual(await shell('exec "$@"', ['version', '--client'], { HOME: '/proc' }), VERSION);
});

test('no /proc', { skip: productUnderTest() === 'executable' && 'Bun aborts' }, async () => {
  const without = 'unshare --mount sh -c \'mount -t tmpfs none /proc && exec "$@"\' sh "$@"';
  assert.deepEqual(await shell(without, ['version', '--client']), VERSION);
});
