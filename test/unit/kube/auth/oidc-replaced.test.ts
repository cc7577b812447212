/** The kubeconfig is replaced during a renewal by someone who may write its folder. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { persistTokens } from '../../../../src/kube/auth/oidc.ts';
import { run } from '../../../cluster/run.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'oidc-replaced-'));
after(() => rmSync(folder, { recursive: true }));

const renewed = { 'id-token': 'new' };
const kubeconfig = (other: string) =>
  JSON.stringify({ users: [{ name: 'u', user: { 'auth-provider': { name: 'oidc', config: {} } } }], other });

/** A folder with a kubeconfig, and a file elsewhere that must not change. */
function victim() {
  const own = mkdtempSync(path.join(folder, 'own-'));
  const [file, elsewhere] = [path.join(own, 'config'), path.join(own, 'elsewhere')];
  writeFileSync(file, kubeconfig('ours'));
  writeFileSync(elsewhere, kubeconfig('theirs'), { mode: 0o644 });
  return { own, file, elsewhere, meanwhile: meanwhile(file) };
}

/** Makes a change after the path was resolved and before the file is read, while the process waits for the lock. */
const meanwhile = (file: string) => async (change: () => unknown) => {
  const lock = `${file}.lock`;
  writeFileSync(lock, '');
  const persisted = persistTokens(file, 'u', renewed);
  persisted.catch(() => {});
  await sleep(150);
  await change();
  rmSync(lock);
  return persisted;
};

test('does not follow a symlink that replaced the kubeconfig', async () => {
  const { own, file, elsewhere, meanwhile } = victim();
  const before = readFileSync(elsewhere, 'utf8');
  const link = () => {
    rmSync(file);
    symlinkSync(elsewhere, file);
  };
  await assert.rejects(meanwhile(link), { message: `${file} was replaced by another file or a link meanwhile` });
  assert.equal(readFileSync(elsewhere, 'utf8'), before);
  assert.deepEqual(readdirSync(own).toSorted(), ['config', 'elsewhere']);
});

test('does not wait for a FIFO that replaced the kubeconfig', async t => {
  const { own, file, meanwhile } = victim();
  // Otherwise a failing test would not end.
  t.after(() => writeFileSync(file, '', { flag: 'r+' }));
  const fifo = () => {
    rmSync(file);
    return run('mkfifo', [file]);
  };
  await assert.rejects(meanwhile(fifo), { message: 'it is a FIFO, not a regular file' });
  assert.deepEqual(readdirSync(own).toSorted(), ['config', 'elsewhere']);
});

test('writes no tokens through a symlink that was changed meanwhile', async () => {
  const { own, file, elsewhere, meanwhile: _meanwhile } = victim();
  const link = path.join(own, 'link');
  symlinkSync(file, link);
  const before = readFileSync(elsewhere, 'utf8');
  await meanwhile(link)(() => {
    rmSync(link);
    symlinkSync(elsewhere, link);
  });
  assert.equal(readFileSync(elsewhere, 'utf8'), before);
  assert.match(readFileSync(file, 'utf8'), /id-token: new/);
});

test('ignores a temporary file of a killed process with the same process id', async () => {
  const { file } = victim();
  writeFileSync(`${file}.${process.pid}.tmp`, 'half');
  await persistTokens(file, 'u', renewed);
  assert.match(readFileSync(file, 'utf8'), /id-token: new/);
});

test('writes a kubeconfig of another owner in place if it is writable', {
  skip: process.getuid?.() !== 0 && 'only root may run a process as somebody else',
}, async () => {
  const { own, file } = victim();
  for (const each of [folder, own]) chmodSync(each, 0o777);
  chmodSync(file, 0o666);
  chownSync(file, 0, 0);
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH },
  });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.match(readFileSync(file, 'utf8'), /id-token: new/);
  assert.deepEqual(readdirSync(own).toSorted(), ['config', 'elsewhere']);
});
/** Becomes the other user once its modules are loaded: only root may be able to read a clone. */
const PROGRAM = `
  import { persistTokens } from ${JSON.stringify(new URL('../../../../src/kube/auth/oidc.ts', import.meta.url).href)};
  process.setgid(12_345);
  process.setuid(12_345);
  await persistTokens(process.argv[1], 'u', { 'id-token': 'new' });
`;
