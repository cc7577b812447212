import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import pjson from '../../../package.json' with { type: 'json' };
import { KREW_TARGETS, krewManifest } from '../../../scripts/package/krew.ts';
import { artifactHubProblems, krewProblems, npmProblems } from '../../../scripts/package/listing.ts';
import { mainManifest } from '../../../scripts/package/npm-manifest.ts';
import { programOf, TARGETS } from '../../../scripts/package/targets.ts';
import { ROOT } from '../../../scripts/root.ts';

const CHART = join(ROOT, 'charts/kubectl-nodepool');
const chart = readFileSync(join(CHART, 'Chart.yaml'), 'utf8');
const chartFiles = globSync('*', { cwd: CHART });
const krew = krewManifest(TARGETS.map(target => ({ target, sha256: 'a'.repeat(64) })));
const archived = [...TARGETS.map(programOf), 'LICENSE'];
const npm = mainManifest(TARGETS);
const packed = ['README.md', 'LICENSE', ...Object.values(npm.bin)];

test('krew-index, Artifact Hub and npm accept the project', () => {
  assert.deepEqual(
    krewProblems(krew, () => archived),
    [],
  );
  assert.deepEqual(artifactHubProblems(chart, chartFiles), []);
  assert.deepEqual(npmProblems(npm, packed), []);
});

const KREW: Record<string, [from: string | RegExp, to: string]> = {
  'metadata.name is the name of the file': ['name: nodepool', 'name: node-pool'],
  'metadata.name is in kebab-case': ['name: nodepool', 'name: nodePool'],
  'metadata.name does not begin with kube': ['name: nodepool', 'name: kubectl-nodepool'],
  'spec.version is a semantic version with a v': [`version: v${pjson.version}`, `version: '${pjson.version}'`],
  'spec.homepage is an https URL': ['homepage: https:', 'homepage: http:'],
  'spec.shortDescription has at most 50 characters': [/shortDescription: ".*"/, `shortDescription: ${'a'.repeat(51)}`],
  'spec.description is longer than spec.shortDescription': [/ {2}description:[\s\S]*? {2}caveats/, '  caveats'],
  'spec.platforms selects each platform once': ['arch: arm64', 'arch: amd64'],
  'is https, and a .tar.gz or .zip': ['linux-amd64.tar.gz', 'linux-amd64.tar.xz'],
  'has its SHA-256': [`sha256: ${'a'.repeat(64)}`, 'sha256: none'],
  'contains kubectl-np': ['bin: kubectl-nodepool', 'bin: kubectl-np'],
};

test('checks each rule of krew-index', () => {
  for (const [rule, [from, to]] of Object.entries(KREW)) {
    const problems = krewProblems(krew.replace(from, to), () => archived);
    assert.ok(
      problems.some(problem => problem.includes(rule)),
      `${rule}: ${problems}`,
    );
  }
  const unlicensed = krewProblems(krew, () => TARGETS.map(programOf));
  assert.equal(unlicensed.filter(problem => problem.endsWith('contains a licence')).length, KREW_TARGETS.length);
});

const ARTIFACT_HUB: Record<string, [from: string | RegExp, to: string]> = {
  'name is in kebab-case': ['name: kubectl-nodepool', 'name: NodePool'],
  'version is a semantic version': [/^version: .*$/m, 'version: latest'],
  'description is there': [/^description: .*$/m, ''],
  'home is an https URL': [/^home: .*$/m, ''],
  'license is that of package.json': ['license: Apache-2.0', 'license: MIT'],
  'category is one of Artifact Hub': ['integration-delivery', 'other'],
  'operator is a boolean': ['operator: "true"', 'operator: "yes"'],
  'images have the version as tag': [`kubectl-nodepool:${pjson.version}`, 'kubectl-nodepool:latest'],
  'images are named': [/ {2}artifacthub.io\/images: \|\n( {4}.*\n)+/, ''],
  'crds have kind, version and name': ['      name: nodepools.nodes.lailin.xyz\n', ''],
  'crdsExamples are of these kinds': ['kind: NodePool\n      metadata', 'kind: Pool\n      metadata'],
  'links are https URLs with a name': ['url: https://github.com/lailin-xyz/kubectl-nodepool/tree', 'url: docs'],
  'links have support': ['name: support', 'name: help'],
};

test('checks each rule of Artifact Hub', () => {
  for (const [rule, [from, to]] of Object.entries(ARTIFACT_HUB))
    assert.ok(artifactHubProblems(chart.replace(from, to), chartFiles).includes(rule), rule);
  assert.deepEqual(artifactHubProblems(chart, []), [
    'the package has a README',
    'the package has a schema of its values',
  ]);
});

test('checks each rule of npm', () => {
  const empty = {
    ...npm,
    name: '@a/B',
    version: '1',
    description: '',
    license: 'Apache',
    homepage: 'a',
    keywords: [],
  };
  const other = { ...empty, publishConfig: { access: 'public', provenance: false }, dependencies: {} };
  assert.equal(npmProblems(other, []).length, 11);
  for (const optionalDependencies of [{}, { ...npm.optionalDependencies, '@kubectl-nodepool/linux-x64': '0.0.1' }])
    assert.deepEqual(npmProblems({ ...npm, optionalDependencies }, packed), [
      'the package has no dependencies but the executables',
    ]);
});
