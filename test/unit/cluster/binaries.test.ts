import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ensureBinaries, findBinary } from '../../cluster/binaries.ts';
import { OLDER, VERSIONS, type Wanted } from '../../cluster/programs.ts';

const folder = await mkdtemp(join(tmpdir(), 'binaries-test-'));
after(() => rm(folder, { recursive: true, force: true }));

const silent = { write: () => {} };

async function executable(path: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, '#!/bin/sh\n', { mode: 0o755 });
  return path;
}

test('prefers its own variable, then KUBEBUILDER_ASSETS, then the cache', async () => {
  const own = await executable(join(folder, 'own', 'my-apiserver'));
  const assets = await executable(join(folder, 'assets', 'kube-apiserver'));
  const platform = `${process.platform}-${process.arch}`;
  const version = VERSIONS['kube-apiserver'];
  const cached = await executable(join(folder, 'cache', 'kubectl-nodepool', platform, version, 'kube-apiserver'));
  const env: NodeJS.ProcessEnv = { XDG_CACHE_HOME: join(folder, 'cache') };
  assert.equal(await findBinary('kube-apiserver', env), cached);
  env.KUBEBUILDER_ASSETS = join(folder, 'assets');
  assert.equal(await findBinary('kube-apiserver', env), assets);
  assert.equal(await findBinary('etcd', env), undefined);
  env.TEST_ASSET_KUBE_APISERVER = own;
  assert.equal(await findBinary('kube-apiserver', env), own);
  env.TEST_ASSET_KUBE_APISERVER = join(folder, 'nowhere');
  await assert.rejects(findBinary('kube-apiserver', env), /TEST_ASSET_KUBE_APISERVER names .*nowhere/);
});

test('looks for an older minor version under its own names', async () => {
  const env: NodeJS.ProcessEnv = { XDG_CACHE_HOME: join(folder, 'older') };
  const platform = `${process.platform}-${process.arch}`;
  // By its plain name: a kubectl that is called kubectl-1.30 takes itself for a plugin.
  const cached = await executable(join(folder, 'older', 'kubectl-nodepool', platform, OLDER['1.30'], 'kubectl'));
  assert.equal(await findBinary('kubectl-1.30', env), cached);
  assert.equal(await findBinary('kubectl', env), undefined);
  env.TEST_ASSET_KUBECTL_1_30 = await executable(join(folder, 'own', 'old-kubectl'));
  assert.equal(await findBinary('kubectl-1.30', env), env.TEST_ASSET_KUBECTL_1_30);
});

test('builds each older minor version from the modules of that patch', async () => {
  for (const [minor, version] of Object.entries(OLDER)) {
    const modules = await readFile(new URL(`../../cluster/go/kubernetes/${minor}.mod`, import.meta.url), 'utf8');
    assert.match(modules, new RegExp(`^(require |\\t)k8s.io/kubernetes ${version}( |$)`, 'm'));
    assert.match(modules, new RegExp(`k8s.io/apiserver => k8s.io/apiserver ${version.replace('v1', 'v0')}$`, 'm'));
  }
});

test('uses a cache in the home directory without XDG_CACHE_HOME', async () => {
  const platform = `${process.platform}-${process.arch}`;
  const path = join(folder, 'home', '.cache', 'kubectl-nodepool', platform, VERSIONS.etcd, 'etcd');
  await executable(path);
  assert.equal(await findBinary('etcd', { HOME: join(folder, 'home') }), path);
});

test('asks a second provider only for binaries that the first lacks', async () => {
  const asked: string[][] = [];
  const provider = (makes: readonly string[]) => async (wanted: readonly Wanted[]) => {
    asked.push(wanted.map(({ name }) => name));
    for (const { name, path } of wanted) if (makes.includes(name)) await executable(path);
  };
  const options = {
    env: { XDG_CACHE_HOME: join(folder, 'two') },
    progress: silent,
    providers: [provider(['etcd']), provider(['kubectl', 'etcd'])],
  };
  const paths = await ensureBinaries(['etcd', 'kubectl'], options);
  assert.deepEqual(asked, [['etcd', 'kubectl'], ['kubectl']]);
  assert.match(paths.kubectl, /kubectl$/);
  await ensureBinaries(['etcd', 'kubectl'], options);
  assert.equal(asked.length, 2);
});

test('reports missing binaries in one error that names what to set', async () => {
  const options = { env: { XDG_CACHE_HOME: join(folder, 'none') }, progress: silent, providers: [] };
  await assert.rejects(ensureBinaries(['kube-apiserver', 'etcd'], options), {
    message: /^kube-apiserver, etcd not found.*KUBEBUILDER_ASSETS.*TEST_ASSET_KUBE_APISERVER, TEST_ASSET_ETCD/,
  });
});

test('builds a program once when two processes need it', async () => {
  const log = join(folder, 'makes');
  await writeFile(log, '');
  const script = `
    import { appendFile, writeFile } from 'node:fs/promises';
    import { setTimeout as sleep } from 'node:timers/promises';
    const { ensureBinaries } = await import(process.argv[1]);
    const make = async wanted => {
      await appendFile(${JSON.stringify(log)}, 'made\\n');
      await sleep(300);
      for (const { path } of wanted) await writeFile(path, '', { mode: 0o755 });
    };
    await ensureBinaries(['etcd'], { providers: [make] });`;
  const module = new URL('../../cluster/binaries.ts', import.meta.url).href;
  const env = { ...process.env, XDG_CACHE_HOME: join(folder, 'once'), TEST_ASSET_ETCD: '', KUBEBUILDER_ASSETS: '' };
  const runs = [1, 2].map(() => {
    const args = ['--input-type=module', '-e', script, module];
    return once(spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'ignore'] }), 'exit');
  });
  assert.deepEqual(
    (await Promise.all(runs)).map(([code]) => code),
    [0, 0],
  );
  assert.equal(await readFile(log, 'utf8'), 'made\n');
});
