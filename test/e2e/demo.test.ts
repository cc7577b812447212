/** `npm run demo`: runs each command of the main job and leaves nothing behind. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { cacheFolder } from '../cluster/binaries.ts';
import { type RunResult, run } from '../cluster/run.ts';

const SETUP = join(ROOT, 'scripts', 'setup.mjs');
const COMMANDS = ['install', 'create', 'diff', 'reconcile', 'get', 'describe', 'edit', 'events', 'delete', 'uninstall'];

/** Runs it with its own home and TMPDIR; returns the files it left there. */
async function demo(t: TestContext, ...args: string[]): Promise<RunResult & { left: string[] }> {
  const home = await mkdtemp(join(tmpdir(), 'nodepool-demo-'));
  t.after(() => rm(home, { recursive: true }));
  const folder = join(home, 'tmp');
  mkdirSync(folder);
  const env = {
    ...process.env,
    HOME: home,
    TMPDIR: folder,
    XDG_CACHE_HOME: dirname(cacheFolder(process.env)),
    NO_COLOR: '1',
  };
  const result = await run(process.execPath, [SETUP, 'scripts/demo.ts', ...args], { env });
  // Node's compile cache stays for the next run of the bundle.
  const left = [...readdirSync(folder), ...readdirSync(home)].filter(
    file => !['tmp', 'node-compile-cache'].includes(file),
  );
  return { ...result, left };
}

test('echoes every command before its real output, and leaves nothing behind', async t => {
  const { code, stdout, stderr, left } = await demo(t);
  assert.deepEqual([code, left], [0, []], stderr.slice(-1000));
  const echoed = stdout.split('\n').filter(line => line.startsWith('$ kubectl'));
  for (const command of COMMANDS)
    assert.ok(
      echoed.some(line => line.startsWith(`$ kubectl nodepool ${command}`)),
      command,
    );
  const after = (command: string) =>
    stdout
      .slice(stdout.indexOf(`$ ${command}`))
      .split('\n')
      .slice(1);
  assert.match(after('kubectl nodepool create worker')[0] ?? '', /^nodepool\.nodes\.lailin\.xyz\/worker created/);
  assert.match(after('kubectl nodepool get').slice(0, 3).join('\n'), /^NAME +STATUS.*\ngpu +200 .*\nworker +200 /);
  assert.match(after('kubectl nodepool delete gpu')[0] ?? '', /"gpu" deleted \(2 nodes released\)$/);
  assert.match(stderr, /^starting etcd and kube-apiserver: done, [\d.]+ s$/m);
});

test('reports wrong arguments in one line with the usage', async t => {
  const { code, stderr } = await demo(t, '--node');
  assert.equal(code, 2);
  assert.match(stderr, /^Unknown option '--node'.*\nusage: npm run demo \[-- \[--nodes N \| --full\] \[--keep\]\]\n$/);
});
