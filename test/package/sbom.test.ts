import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GLIBC_VERSION } from '../../scripts/package/glibc.ts';
import { bundledPackages } from '../../scripts/package/packages.ts';
import { sbom } from '../../scripts/package/sbom.ts';
import { BUN_VERSION, TARGETS } from '../../scripts/package/targets.ts';

interface Component {
  'bom-ref': string;
  name: string;
  version: string;
  licenses: { license?: { id?: string }; expression?: string }[];
  hashes?: { content: string }[];
  components?: Component[];
}

const packages = await bundledPackages('bin/executable.ts');
const text = await sbom(packages);
const bom = JSON.parse(text) as {
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
  metadata: { component: { 'bom-ref': string } };
};

test('lists bundled packages with licence and hash, Bun and the C library', () => {
  const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
  const bundled = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  assert.deepEqual(listed, [...bundled, `bun@${BUN_VERSION}`, `libc6@${GLIBC_VERSION}`]);
  for (const { name, licenses, hashes } of bom.components) {
    assert.ok(licenses[0]?.license?.id ?? licenses[0]?.expression, name);
    if (name !== 'bun' && name !== 'libc6') assert.match(hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/, name);
  }
  const bun = bom.components.find(({ name }) => name === 'bun');
  const runtimes = bun?.components?.filter(({ name }) => name.startsWith('@oven/bun-')) ?? [];
  assert.equal(runtimes.length, TARGETS.length);
  // Scanners do not understand a name instead of an id or an expression.
  for (const part of bun?.components ?? []) {
    assert.ok(part.licenses[0]?.license?.id ?? part.licenses[0]?.expression, part.name);
  }
  for (const { name, hashes } of runtimes) assert.match(hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/, name);
});

test('has a component for every reference, and dependencies that match the imports', () => {
  const root = bom.metadata.component['bom-ref'];
  const refs = [root, ...bom.components.map(component => component['bom-ref'])];
  assert.deepEqual(
    bom.dependencies.map(({ ref }) => ref),
    refs,
  );
  assert.equal(new Set(refs).size, refs.length);
  for (const { dependsOn = [] } of bom.dependencies) for (const ref of dependsOn) assert.ok(refs.includes(ref), ref);
  const direct = bom.dependencies[0]?.dependsOn?.map(ref => ref.slice(0, ref.lastIndexOf('@')));
  for (const name of ['%40oclif/core', 'js-yaml', 'bun']) assert.ok(direct?.includes(`pkg:npm/${name}`), name);
});

test('resolves the nested of two versions of a package', () => {
  const ora = bom.dependencies.find(({ ref }) => ref.startsWith('pkg:npm/ora@'));
  const chalks = bom.components.filter(({ name }) => name === 'chalk').map(({ version }) => version);
  assert.equal(chalks.length, 2);
  const direct = bom.dependencies[0]?.dependsOn?.find(ref => ref.startsWith('pkg:npm/chalk@'));
  const nested = ora?.dependsOn?.find(ref => ref.startsWith('pkg:npm/chalk@'));
  assert.notEqual(direct, nested);
});

test('contains no random values and no time', async () => {
  assert.equal(await sbom(packages), text);
  assert.doesNotMatch(text, /serialNumber|timestamp/);
});
