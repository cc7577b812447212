/** Every version in the repository is that of package.json. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import pjson from '../../package.json' with { type: 'json' };
import { releaseNotes } from '../../scripts/check-tag.ts';
import { archiveName } from '../../scripts/package/archive.ts';
import { KREW_TARGETS, krewManifest } from '../../scripts/package/krew.ts';
import { TARGETS } from '../../scripts/package/targets.ts';
import { ROOT } from '../../scripts/root.ts';

const { version } = pjson;
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

test('the displayed, installed and locked versions are equal', () => {
  assert.match(version, /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
  assert.equal(JSON.parse(read('oclif.manifest.json')).version, version);
  assert.equal(JSON.parse(read('package-lock.json')).version, version);
  const tag = /kubectl-nodepool:(\d[\w.-]*)/g;
  for (const path of [
    'docs/in-cluster.md',
    'manifests/controller.yaml',
    'src/commands/install/command.ts',
    'charts/kubectl-nodepool/Chart.yaml',
  ]) {
    const tags = [...read(path).matchAll(tag)].map(([, found]) => found);
    assert.deepEqual([...new Set(tags)], [version], path);
  }
  assert.match(read('docs/reference.md'), new RegExp(`/v${version}/nodepool-${version}\\.schema\\.json`));
  const chart = load(read('charts/kubectl-nodepool/Chart.yaml')) as { version: string; appVersion: string };
  assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  for (const path of ['docs/in-cluster.md', 'charts/kubectl-nodepool/README.md'])
    assert.match(read(path), new RegExp(`charts/kubectl-nodepool --version ${version.replaceAll('.', '\\.')} `), path);
});

test('commands in the docs name the version', () => {
  const named =
    /(?:kubectl-nodepool[-:]|[?=&]ref=|image\.tar:|--version |Client Version: |"clientVersion": ")v?(\d+\.\d+\.\d+[\w.-]*?)(?=[-"\s'`.]|$)/gm;
  for (const path of [
    'docs/in-cluster.md',
    'docs/release.md',
    'docs/metrics.md',
    'docs/guide.md',
    'docs/commands/install.md',
  ]) {
    // 0.0.1: the placeholder on npm, before the first release.
    const found = [...read(path).matchAll(named)].map(([, each]) => each).filter(each => each !== '0.0.1');
    assert.deepEqual([...new Set(found)], [version], path);
  }
});

test('the krew manifest has the version, and an archive for every krew platform', () => {
  const manifest = load(krewManifest(TARGETS.map(target => ({ target, sha256: 'a'.repeat(64) })))) as {
    spec: { version: string; platforms: { uri: string }[] };
  };
  assert.equal(manifest.spec.version, `v${version}`);
  assert.deepEqual(
    manifest.spec.platforms.map(({ uri }) => uri),
    KREW_TARGETS.map(target => `${pjson.homepage}/releases/download/v${version}/${archiveName(target)}`),
  );
});

test('CHANGELOG.md has the version, with a date for a release', () => {
  assert.match(
    read('CHANGELOG.md'),
    new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - (Unreleased|\\d{4}-\\d\\d-\\d\\d)$`, 'm'),
  );
  const changelog = (date: string) =>
    `# Changelog\n\n## [${version}] - ${date}\n\n### Added\n\n- It.\n\n## [0.0.1] - 2020-01-01\n\n- Old.\n`;
  assert.equal(releaseNotes(`v${version}`, changelog('2027-01-31')), '### Added\n\n- It.\n');
  assert.throws(() => releaseNotes(`v${version}`, changelog('Unreleased')), /has no date/);
  assert.throws(() => releaseNotes(`v${version}`, '# Changelog\n'), /no section/);
  assert.throws(() => releaseNotes('v0.0.2', changelog('2027-01-31')), /the tag v0.0.2 is not v/);
});

test('docs/dependencies.md lists every direct dependency with its version', () => {
  const rows = [...read('docs/dependencies.md').matchAll(/^\| \[([^\]]+)\]\([^)]+\) \| ([\d.]+),/gm)];
  assert.deepEqual(Object.fromEntries(rows.map(([, name = '', pinned]) => [name, pinned])), pjson.devDependencies);
  assert.ok(!('dependencies' in pjson), 'what is bundled is not installed a second time');
});
