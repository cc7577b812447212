/** A program that starts a real node and is killed leaves no processes, files or control groups of the node. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { processesOf } from '../cluster/node/processes.ts';
import { nodeObstacle } from '../cluster/node/start.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from '../package/copy.ts';

const PROGRAM = `
import { createAuthority } from '${import.meta.resolve('../cluster/certificates.ts')}';
import { startNode } from '${import.meta.resolve('../cluster/node/start.ts')}';

const authority = createAuthority('test-ca');
await startNode({ server: 'https://127.0.0.1:1', authority, ca: authority.cert }, 'killed-1');
console.log('started');
`;

test('killing the process that started a node leaves nothing of the node', {
  skip: (await nodeObstacle()) ?? false,
  timeout: 120_000,
}, async t => {
  const TMPDIR = await temporaryFolder(t);
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR },
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const [folder = ''] = readdirSync(TMPDIR);
  const left = () => [...readdirSync(TMPDIR), ...globSync(`/sys/fs/cgroup/{*/,}${folder}`), ...processesOf(folder)];
  assert.match(folder, /^nodepool-node-/);
  assert.ok(left().length > 5);
  child.kill('SIGKILL');
  await eventually('nothing is left', () => left().length === 0, 20_000, left);
});
