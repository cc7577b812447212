/** The auth-provider oidc and the kubeconfig with its tokens, which other processes write too. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { test } from 'node:test';
import { loadAll, YAML11_SCHEMA } from 'js-yaml';
import { gives, issuer, jwt, open } from './oidc-issuer.ts';

test('keeps a kubeconfig that is a symlink', async () => {
  const { file, token } = open({ 'refresh-token': 'r' });
  issuer.answers = [gives({ id_token: jwt(60) })];
  const target = `${file}.real`;
  writeFileSync(target, readFileSync(file));
  rmSync(file);
  symlinkSync(target, file);
  await token();
  assert.match(readFileSync(target, 'utf8'), /id-token/);
  assert.equal(readFileSync(file, 'utf8'), readFileSync(target, 'utf8'));
});

test('fails when tokens cannot be stored, as the old refresh-token may be used up', async () => {
  issuer.answers = [gives({ id_token: jwt(60) })];
  const { file, token } = open({ 'refresh-token': 'r' });
  const lock = `${file}.lock`;
  writeFileSync(lock, '');
  const before = readFileSync(file, 'utf8');
  await assert.rejects(token(), {
    message: `the auth-provider oidc gave no credentials for user "u": its new tokens cannot be written to ${file}: ${lock} exists: kubectl is writing it, or was killed and left it behind`,
    next: 'fix this, then log in again with the tool that wrote the kubeconfig',
  });
  assert.equal(readFileSync(file, 'utf8'), before);
  rmSync(lock);
  await token();
});

test('waits for a short-lived lock', async () => {
  issuer.answers = [gives({ id_token: jwt(60) })];
  const { file, token, written } = open({ 'refresh-token': 'r' });
  writeFileSync(`${file}.lock`, '');
  issuer.during = isDiscovery => {
    if (!isDiscovery) setTimeout(() => rmSync(`${file}.lock`), 300);
  };
  await token();
  assert.match(JSON.stringify(written()), /id-token/);
});

test('uses a token that another process renewed in the file', async () => {
  const [theirs, ours] = [jwt(3600, 'theirs'), jwt(3600, 'ours')];
  issuer.answers = [gives({ id_token: ours })];
  const { rewrite, token } = open({ 'id-token': jwt(5), 'refresh-token': 'first' });
  rewrite({ 'id-token': theirs, 'refresh-token': 'second' });
  assert.equal(await token(), `Bearer ${theirs}`);
  assert.deepEqual(issuer.asked, []);
});

test('uses the refresh-token of another process when its id-token has expired', async () => {
  issuer.answers = [gives({ id_token: jwt(60) })];
  const { rewrite, token } = open({ 'id-token': jwt(5), 'refresh-token': 'first' });
  rewrite({ 'id-token': jwt(0), 'refresh-token': 'second' });
  await token();
  assert.match(issuer.asked.at(-1) ?? '', /refresh_token=second/);
});

test('uses the tokens of another process when its own refresh-token is used up', async () => {
  const theirs = jwt(3600, 'theirs');
  issuer.answers = [gives({ error: 'invalid_grant' }, 400)];
  const { rewrite, token } = open({ 'refresh-token': 'first' });
  issuer.during = isDiscovery => {
    if (!isDiscovery) rewrite({ 'id-token': theirs, 'refresh-token': 'second' });
  };
  assert.equal(await token(), `Bearer ${theirs}`);
});

test('continues when the file cannot be read meanwhile', async () => {
  const next = jwt(60);
  issuer.answers = [gives({ id_token: next })];
  const { file, token } = open({ 'refresh-token': 'r' });
  const text = readFileSync(file);
  writeFileSync(file, 'a: [');
  issuer.during = () => writeFileSync(file, text);
  assert.equal(await token(), `Bearer ${next}`);
});

test('keeps anchors, merge keys, other documents and YAML 1.1 words', async () => {
  issuer.answers = [gives({ id_token: jwt(60) })];
  const { file, token } = open({ 'refresh-token': 'r' });
  const [, own] = JSON.parse(readFileSync(file, 'utf8')).users;
  const users = `[${JSON.stringify(own)}, {name: v, user: &v {password: "1_000", username: "on"}}, {name: w, user: {<<: *v, token: "0x1"}}]`;
  writeFileSync(file, `users: ${users}\n---\nsecond: document\n`);
  await token();
  const [written, second] = loadAll(readFileSync(file, 'utf8'), { schema: YAML11_SCHEMA }) as [
    { users: { user: object }[] },
    object,
  ];
  const v = { password: '1_000', username: 'on' };
  assert.deepEqual(
    written.users.slice(1).map(({ user }) => user),
    [v, { ...v, token: '0x1' }],
  );
  assert.deepEqual(second, { second: 'document' });
});

test('never makes the new file more readable than the old one', async t => {
  issuer.answers = [gives({ id_token: jwt(60) })];
  const { file, token } = open({ 'refresh-token': 'r' });
  chmodSync(file, 0o666);
  const handle = await openFile(file);
  const prototype: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { writeFile } = prototype;
  const modes: number[] = [];
  t.mock.method(prototype, 'writeFile', async function (this: FileHandle, ...args: Parameters<typeof writeFile>) {
    modes.push((await this.stat()).mode & 0o777);
    return writeFile.apply(this, args);
  });
  const before = process.umask(0);
  try {
    await token();
  } finally {
    process.umask(before);
  }
  assert.deepEqual([modes, statSync(file).mode & 0o777], [[0o600], 0o666]);
});

test('keeps the owner of the file', { skip: process.getuid?.() !== 0 && 'only root may give files away' }, async () => {
  issuer.answers = [gives({ id_token: jwt(60) })];
  const { file, token } = open({ 'refresh-token': 'r' });
  chownSync(file, 12_345, 12_346);
  chmodSync(file, 0o660);
  await token();
  const { uid, gid, mode } = statSync(file);
  assert.deepEqual([uid, gid, mode & 0o777], [12_345, 12_346, 0o660]);
});
