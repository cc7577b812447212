import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PACKAGES } from '../../scripts/check-imports.ts';
import { bunOf } from '../../scripts/package/bun.ts';
import { BUN_PARTS } from '../../scripts/package/bun-parts.ts';
import { bundleLicenses, executableLicenses, forbidden } from '../../scripts/package/licenses.ts';
import { bundledPackages, type Package } from '../../scripts/package/packages.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import { run } from '../cluster/run.ts';
import { temporaryFolder } from './copy.ts';

const packages = await bundledPackages('bin/executable.ts');

const fake = (change: Partial<Package>): Package => ({
  name: 'fake',
  version: '1.0.0',
  license: 'MIT',
  dependencies: [],
  folder: 'node_modules/chalk',
  bytes: 1,
  ...change,
});

test('finds all bundled packages, each under an allowed licence', () => {
  const names = packages.map(({ name }) => name);
  for (const name of ['@oclif/core', 'js-yaml', '@bufbuild/protobuf']) {
    assert.ok(names.includes(name), name);
  }
  assert.deepEqual(forbidden(packages), []);
});

test('client-node adds no other package to the bundle', () => {
  const clientNode = packages.find(({ name }) => name === '@kubernetes/client-node');
  const bundled = clientNode?.dependencies.filter(name => packages.some(each => each.name === name));
  // Those that read our YAML, and connect through our SOCKS proxies.
  assert.deepEqual(bundled, ['js-yaml', 'socks']);
});

test('src/ imports, at least indirectly, every other package in the bundle', () => {
  // oclif asks for the compiler without a dependency on it.
  const expected = new Set(['@kubernetes/client-node', 'typescript']);
  const add = (name: string) => {
    if (expected.has(name)) return;
    expected.add(name);
    for (const each of packages) if (each.name === name) each.dependencies.forEach(add);
  };
  // Dependencies of client-node are no reason: the test above names the bundled ones.
  for (const name of Object.keys(PACKAGES)) add(name);
  const others = packages.map(({ name }) => name).filter(name => !expected.has(name));
  assert.deepEqual(others, []);
});

test('names every package above a licence text with its holder', async () => {
  const sections = (await bundleLicenses(packages)).split(`${'-'.repeat(80)}\n`).slice(1);
  for (const { name, version, license } of packages) {
    const own = sections.filter(section =>
      section.split('\n\n', 1)[0]?.split('\n').includes(`${name} ${version} (${license})`),
    );
    assert.equal(own.length, 1, name);
    assert.ok((own[0] ?? '').length > 300, name);
    // Some are under a text that names nobody.
    if (license !== 'Unlicense' && license !== 'BlueOak-1.0.0') assert.match(own[0] ?? '', /copyright/i, name);
  }
});

test('refuses another licence and a missing one', async () => {
  await assert.rejects(bundleLicenses([fake({ license: 'GPL-3.0-only' })]), /fake is under GPL-3.0-only/);
  assert.deepEqual(forbidden([fake({ license: '(MIT OR GPL-2.0-only)' })]), ['fake is under (MIT OR GPL-2.0-only)']);
  await assert.rejects(
    bundleLicenses([fake({ folder: 'node_modules/@bufbuild/protobuf' })]),
    /fake has no licence file/,
  );
});

test('the executables list the parts of Bun with licences, and how to relink them', async () => {
  const text = await executableLicenses(packages);
  for (const { name, license, source, copyright } of BUN_PARTS) {
    assert.ok(text.includes(`- ${name}: ${license}; ${source}`), name);
    assert.ok(text.includes(copyright), name);
    for (const id of license.split(/ AND | WITH /)) assert.match(text, new RegExp(`^-+\\n${id}\\n\\n.{10}`, 'm'), name);
  }
  assert.match(text, /GNU LIBRARY GENERAL PUBLIC LICENSE\n +Version 2, June 1991/);
  assert.match(text, /GNU LESSER GENERAL PUBLIC LICENSE\n +Version 2.1, February 1999/);
});

test('lists exactly the parts that the pinned Bun names', { timeout: 120_000 }, async t => {
  const { stdout } = await run(await bunOf(hostTarget(), await temporaryFolder(t)), [
    '-p',
    'JSON.stringify(process.versions)',
  ]);
  const reported = JSON.parse(stdout) as Record<string, string>;
  const versions = BUN_PARTS.flatMap(({ version }) => (version === undefined ? [] : [version]));
  for (const [key, version] of versions) assert.equal(version, reported[key], key);
  // What Bun says that it is like, of what it is built, and the data in ICU and in its type stripper.
  const noPart = ['node', 'bun', 'openssl', 'zig', 'v8', 'napi', 'unicode', 'typescript', 'modules'];
  assert.deepEqual([...versions.map(([key]) => key), ...noPart].sort(), Object.keys(reported).sort());
});
