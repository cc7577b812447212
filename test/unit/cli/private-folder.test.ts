import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { cachePath, makePrivateFolder, privateFolder } from '../../../src/cli/private-folder.ts';

const ME = process.geteuid?.() ?? 0;

test('where caches are: XDG_CACHE_HOME if it is absolute, else below the home, else nowhere', () => {
  const cases: [env: Record<string, string>, path: string | undefined][] = [
    [{ XDG_CACHE_HOME: '/caches', HOME: '/home/me' }, '/caches/kubectl-nodepool/x'],
    [{ XDG_CACHE_HOME: 'caches', HOME: '/home/me' }, '/home/me/.cache/kubectl-nodepool/x'],
    [{ USERPROFILE: '/users/me' }, '/users/me/.cache/kubectl-nodepool/x'],
    [{ HOME: '' }, undefined],
  ];
  for (const [env, path] of cases) assert.equal(cachePath('x', env), path);
});

describe('a private folder', { skip: process.platform === 'win32' }, () => {
  const temporaryFolder = (t: { after(end: () => void): void }) => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'nodepool-private-')));
    t.after(() => rmSync(base, { recursive: true }));
    return { base, path: join(base, 'a', 'b') };
  };

  test('is made with all above it, for its user alone, and found again', t => {
    const { path } = temporaryFolder(t);
    assert.equal(privateFolder(path), undefined);
    assert.equal(makePrivateFolder(path), path);
    for (const one of [path, dirname(path)]) assert.equal(statSync(one).mode & 0o777, 0o700);
    assert.equal(privateFolder(path), path);
    assert.equal(makePrivateFolder(path), path);
  });

  const spoils: [name: string, spoil: (path: string, base: string) => void][] = [
    ['that others can read', path => chmodSync(path, 0o750)],
    ['that others can write to', path => chmodSync(path, 0o702)],
    ['below one that its group can write to', path => chmodSync(dirname(path), 0o770)],
    ['below one that all can write to', (_path, base) => chmodSync(base, 0o777)],
    [
      'that is a link',
      (path, base) => {
        rmSync(path, { recursive: true });
        mkdirSync(join(base, 'real'), { mode: 0o700 });
        symlinkSync(join(base, 'real'), path);
      },
    ],
  ];
  for (const [name, spoil] of spoils) {
    test(`one ${name} is none`, t => {
      const { base, path } = temporaryFolder(t);
      makePrivateFolder(path);
      spoil(path, base);
      assert.equal(privateFolder(path), undefined);
      assert.equal(makePrivateFolder(path), undefined);
    });
  }

  test('may lie in a folder of all users whose entries stay their owners’, and behind a link that is safe', t => {
    const { base, path } = temporaryFolder(t);
    chmodSync(base, 0o1777);
    assert.equal(makePrivateFolder(path), path);
    symlinkSync(join(base, 'a'), join(base, 'link'));
    assert.equal(privateFolder(join(base, 'link', 'b')), path);
  });

  test('of another user is none, and nothing is made in a folder of another user', t => {
    const { base, path } = temporaryFolder(t);
    const other = ME + 1;
    assert.equal(makePrivateFolder(path, other), undefined);
    // Root's folders are safe for all; those of this user are not for another.
    assert.equal(existsSync(path), ME === 0);
    makePrivateFolder(path);
    assert.equal(privateFolder(path, other), undefined);
    assert.ok(existsSync(base));
  });
});
