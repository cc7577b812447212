import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { cachePath, makePrivateFolder, privateFolder } from '../../../src/cli/private-folder.ts';

const ME = process.geteuid?.() ?? 0;

test('uses an absolute XDG_CACHE_HOME, or else the home directory, or else no cache', () => {
  const cases: [env: Record<string, string>, path: string | undefined][] = [
    [{ XDG_CACHE_HOME: '/caches', HOME: '/home/me' }, '/caches/kubectl-nodepool/x'],
    [{ XDG_CACHE_HOME: 'caches', HOME: '/home/me' }, '/home/me/.cache/kubectl-nodepool/x'],
    [{ USERPROFILE: '/users/me' }, '/users/me/.cache/kubectl-nodepool/x'],
    [{ HOME: '' }, undefined],
  ];
  for (const [env, path] of cases) assert.equal(cachePath('x', env), path);
});

describe('a private folder', { skip: process.platform === 'win32' && 'Windows has no modes of files' }, () => {
  const temporaryFolder = (t: { after(end: () => void): void }) => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'nodepool-private-')));
    t.after(() => rmSync(base, { recursive: true }));
    return { base, path: join(base, 'a', 'b') };
  };

  test('is created with its parents for its user only, and found again', t => {
    const { path } = temporaryFolder(t);
    assert.equal(privateFolder(path), undefined);
    assert.equal(makePrivateFolder(path), path);
    for (const one of [path, dirname(path)]) assert.equal(statSync(one).mode & 0o777, 0o700);
    assert.equal(privateFolder(path), path);
    assert.equal(makePrivateFolder(path), path);
  });

  test('is not created where the parent cannot hold folders', {
    skip: process.platform !== 'linux' && 'no /proc',
  }, () => {
    assert.equal(makePrivateFolder('/proc/.cache/a/b'), undefined);
  });

  const spoils: [name: string, spoil: (path: string, base: string) => void][] = [
    ['that others can read', path => chmodSync(path, 0o750)],
    ['that others can write to', path => chmodSync(path, 0o702)],
    ['below a folder that its group can write to', path => chmodSync(dirname(path), 0o770)],
    ['below a folder that all can write to', (_path, base) => chmodSync(base, 0o777)],
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
    test(`refuses a folder ${name}`, t => {
      const { base, path } = temporaryFolder(t);
      makePrivateFolder(path);
      spoil(path, base);
      assert.equal(privateFolder(path), undefined);
      assert.equal(makePrivateFolder(path), undefined);
    });
  }

  test('is accepted in a sticky folder, and behind a safe link', t => {
    const { base, path } = temporaryFolder(t);
    chmodSync(base, 0o1777);
    assert.equal(makePrivateFolder(path), path);
    symlinkSync(join(base, 'a'), join(base, 'link'));
    assert.equal(privateFolder(join(base, 'link', 'b')), path);
  });

  test('is refused when another user owns it, and not created in the folder of another user', t => {
    const { base, path } = temporaryFolder(t);
    const other = ME + 1;
    assert.equal(makePrivateFolder(path, other), undefined);
    // Folders of root are safe for every user; those of this user are not safe for another.
    assert.equal(existsSync(path), ME === 0);
    makePrivateFolder(path);
    assert.equal(privateFolder(path, other), undefined);
    assert.ok(existsSync(base));
  });
});
