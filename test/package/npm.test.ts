/** The main package for npm without an executable: packed, installed as a user would, and used through kubectl. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { bundleLicenses } from '../../scripts/package/licenses.ts';
import type { Packed } from '../../scripts/package/npm.ts';
import { bundledPackages } from '../../scripts/package/packages.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { useCluster } from '../cluster/harness.ts';
import { run } from '../cluster/run.ts';
import { temporaryFolder } from './copy.ts';
import { PACK_MS, packMain } from './npm-main.ts';
import { npmIn, startNpmRegistry } from './npm-registry.ts';

const cluster = useCluster();
const folder = await temporaryFolder({ after });
const registry = await startNpmRegistry({ after });
const prefix = join(folder, 'prefix');
const installed = join(prefix, 'lib', 'node_modules', 'kubectl-nodepool');
let packed: Packed;

before(
  async () => {
    packed = await packMain(folder, 'first');
    // A system that no executable is made for: the registry has none.
    await registry.publish(packed.path);
    const install = await npmIn(folder, registry, ['install', '--global', '--prefix', prefix, 'kubectl-nodepool']);
    assert.equal(install.code, 0, install.stderr);
  },
  { timeout: 2 * PACK_MS },
);

test('packs only needed files', () => {
  const chunk = /^dist\/npm\/[\w.-]+\.js$/;
  assert.deepEqual(
    packed.files.filter(path => !chunk.test(path)),
    [
      'LICENSE',
      'README.md',
      'bin/kubectl-nodepool.js',
      'bin/kubectl_complete-nodepool.js',
      'bin/launcher/executable.js',
      'bin/launcher/install.js',
      'bin/launcher/kubectl-nodepool',
      'bin/launcher/kubectl_complete-nodepool',
      'bin/launcher/launch.js',
      'bin/launcher/package.json',
      'dist/npm/THIRD-PARTY-LICENSES',
      'manifests/born-in-pool.yaml',
      'manifests/controller.yaml',
      'manifests/kustomization.yaml',
      'manifests/nodepools.nodes.lailin.xyz.yaml',
      'manifests/protect-membership.yaml',
      'manifests/protect-records.yaml',
      'package.json',
    ],
  );
  assert.ok(packed.files.includes('dist/npm/main.js'));
});

test('packs the same sources to the same bytes with any umask', async () => {
  const again = await packMain(folder, 'again', 0o077);
  assert.ok((await readFile(packed.path)).equals(await readFile(again.path)));
});

test('packs the licences of all bundled packages', async () => {
  const text = await readFile(join(installed, 'dist', 'npm', 'THIRD-PARTY-LICENSES'), 'utf8');
  assert.equal(text, await bundleLicenses(await bundledPackages('src/main.ts')));
});

test('installs no other package', () => {
  assert.ok(existsSync(join(installed, 'package.json')));
  assert.ok(!existsSync(join(installed, 'node_modules')));
});

test('runs on Node through kubectl on a cluster', async () => {
  const { kubectl } = await ensureBinaries(['kubectl']);
  // The Node that runs this: the package needs 22.21, and the machine may have an older one.
  const path = [join(prefix, 'bin'), dirname(process.execPath), dirname(kubectl), process.env.PATH].join(delimiter);
  const env = { PATH: path, HOME: folder, KUBECONFIG: cluster().kubeconfig, NO_COLOR: '1' };
  const nodepool = (...args: string[]) => run(kubectl, ['nodepool', ...args], { cwd: folder, env });
  const created = 'customresourcedefinition.apiextensions.k8s.io/nodepools.nodes.lailin.xyz created\n';
  assert.deepEqual(await nodepool('install'), { code: 0, stdout: created, stderr: '' });
  const pool = { code: 0, stdout: 'nodepool.nodes.lailin.xyz/gpu created\n', stderr: '' };
  assert.deepEqual(await nodepool('create', 'gpu', '--label', 'tier=gold'), pool);
  const completed = await run(kubectl, ['__complete', 'nodepool', 'describe', ''], { cwd: folder, env });
  assert.equal(completed.stdout, 'gpu\n:4\n');
  const { code, stdout, stderr } = await nodepool('get');
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.match(stdout, /^NAME +STATUS .*\ngpu +Pending /);
});
