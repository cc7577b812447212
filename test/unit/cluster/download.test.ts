import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { chooseArchive, type ReleaseIndex, readPinned } from '../../cluster/download.ts';

function index(...archives: [release: string, platform: string][]): ReleaseIndex {
  const releases: ReleaseIndex['releases'] = {};
  for (const [release, platform] of archives) {
    const name = `envtest-${release}-${platform}.tar.gz`;
    releases[release] = { ...releases[release], [name]: { hash: `hash of ${name}`, selfLink: `https://x/${name}` } };
  }
  return { releases };
}

const cases: { name: string; index: ReleaseIndex; platform: [string, string]; release: string | undefined }[] = [
  {
    name: 'the wanted release, even if a newer patch exists',
    index: index(['v1.36.9', 'linux-amd64'], ['v1.36.3', 'linux-amd64']),
    platform: ['linux', 'x64'],
    release: 'v1.36.3',
  },
  {
    name: 'otherwise the newest patch of the minor version, by number',
    index: index(['v1.36.2', 'darwin-arm64'], ['v1.36.10', 'darwin-arm64'], ['v1.37.0', 'darwin-arm64']),
    platform: ['darwin', 'arm64'],
    release: 'v1.36.10',
  },
  {
    name: 'no pre-release',
    index: index(['v1.36.0-rc.1', 'linux-amd64']),
    platform: ['linux', 'x64'],
    release: undefined,
  },
  {
    name: 'nothing for another platform',
    index: index(['v1.36.3', 'linux-amd64']),
    platform: ['linux', 'arm64'],
    release: undefined,
  },
];

for (const { name, index, platform, release } of cases) {
  test(`chooses the archive: ${name}`, () => {
    const chosen = chooseArchive(index, 'v1.36.3', ...platform);
    assert.equal(chosen?.release, release);
    if (release !== undefined) assert.match(chosen?.sha512 ?? '', new RegExp(`^hash of envtest-${release}-`));
  });
}

test('accepts only the pinned index', () => {
  const text = 'releases:\n  v1.36.2: {}\n';
  const sha512 = createHash('sha512').update(text).digest('hex');
  assert.deepEqual(readPinned(text, sha512), { releases: { 'v1.36.2': {} } });
  assert.equal(readPinned(`${text} `, sha512), undefined);
  assert.equal(readPinned(text), undefined);
});
