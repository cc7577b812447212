/** The npm package: packed, installed from its tarball as a user would, and used through kubectl. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { bundleLicenses } from '../../scripts/package/licenses.ts';
import type { Packed } from '../../scripts/package/npm.ts';
import { bundledPackages } from '../../scripts/package/packages.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { useCluster } from '../cluster/harness.ts';
import { type RunResult, run } from '../cluster/run.ts';
import { copyProject, temporaryFolder } from './copy.ts';

const PACK_MS = 120_000;
const cluster = useCluster();
const folder = await temporaryFolder({ after });
const prefix = join(folder, 'prefix');
const installed = join(prefix, 'lib', 'node_modules', 'kubectl-nodepool');
let packed: Packed;

before(
  async () => {
    packed = await pack('first', 0o022);
    const install = await npm(['install', '--global', '--prefix', prefix, packed.path]);
    assert.equal(install.code, 0, install.stderr);
  },
  { timeout: 2 * PACK_MS },
);

/** Not in the project's folder, whose dist/npm is in use. */
async function pack(name: string, umask: number): Promise<Packed> {
  const copy = join(folder, name);
  await mkdir(join(copy, 'packed'), { recursive: true });
  await copyProject(copy, 'link');
  await chmod(join(copy, 'LICENSE'), 0o666 & ~umask);
  const script = `
    import { packNpm } from './scripts/package/npm.ts';
    process.umask(${umask});
    console.log(JSON.stringify(await packNpm('packed')));`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: copy,
    timeoutMs: PACK_MS,
  });
  assert.equal(code, 0, stderr);
  const { path, files } = JSON.parse(stdout);
  return { path: join(copy, path), files };
}

/** npm as on a new machine: with an empty home and cache, and without settings of this run. */
function npm(args: readonly string[]): Promise<RunResult> {
  const home = join(folder, 'home');
  const kept = Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_'));
  return run('npm', args, {
    cwd: folder,
    env: { ...Object.fromEntries(kept), HOME: home, npm_config_cache: join(home, 'cache') },
  });
}

test('packs only needed files', () => {
  const chunk = /^dist\/npm\/[\w.-]+\.js$/;
  assert.deepEqual(
    packed.files.filter(path => !chunk.test(path)),
    [
      'LICENSE',
      'README.md',
      'bin/kubectl-nodepool.js',
      'bin/kubectl_complete-nodepool.js',
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

test('packs the same sources to the same bytes, whatever the umask', async () => {
  const again = await pack('again', 0o077);
  assert.ok((await readFile(packed.path)).equals(await readFile(again.path)));
});

test('packs the licences of all bundled packages', async () => {
  const text = await readFile(join(installed, 'dist', 'npm', 'THIRD-PARTY-LICENSES'), 'utf8');
  assert.equal(text, await bundleLicenses(await bundledPackages('src/main.ts')));
});

test('installs no dependencies', () => {
  assert.ok(existsSync(join(installed, 'package.json')));
  assert.ok(!existsSync(join(installed, 'node_modules')));
});

test('runs through kubectl on a cluster', async () => {
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
