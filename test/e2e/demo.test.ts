/** `npm run demo`: runs each command of the main job and leaves nothing behind. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../package/copy.ts';
import { demo } from './demo.ts';

const COMMANDS = ['install', 'create', 'diff', 'reconcile', 'get', 'describe', 'edit', 'events', 'delete', 'uninstall'];

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
  assert.match(after('kubectl nodepool get').slice(0, 3).join('\n'), /^NAME +STATUS.*\ngpu +\w+ .*\nworker +\w+ /);
  assert.match(after('kubectl nodepool delete gpu')[0] ?? '', /"gpu" deleted \(2 nodes released\)$/);
  assert.match(stderr, /^starting etcd and kube-apiserver: done, [\d.]+ s$/m);
});

test('without a real node, --full explains why and runs the controller as a process', async t => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'unshare'), '#!/bin/sh\necho refused >&2\nexit 1\n', { mode: 0o755 });
  const { code, stdout, stderr, left } = await demo(t, ['--full'], {
    PATH: [folder, process.env.PATH].join(delimiter),
  });
  assert.deepEqual([code, left], [0, []], `${stdout.slice(-2000)}\n${stderr.slice(-1000)}`);
  assert.match(stderr, /^the controller runs as a process, not in pods: a real node needs .*\nbundling/m);
  assert.match(stdout, /^\$ kubectl nodepool reconcile --watch/m);
});

test('reports wrong arguments in one line with the usage', async t => {
  const { code, stderr } = await demo(t, ['--node']);
  assert.equal(code, 2);
  assert.match(stderr, /^Unknown option '--node'.*\nusage: npm run demo \[-- \[--nodes N \| --full\] \[--keep\]\]\n$/);
});
