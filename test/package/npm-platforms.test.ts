/** The packages of the platforms: npm installs the one of its machine, and its executable is what users start. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import pjson from '../../package.json' with { type: 'json' };
import { buildExecutable } from '../../scripts/package/executable.ts';
import { packPlatform } from '../../scripts/package/npm.ts';
import { mainManifest, platformManifest, platformOf } from '../../scripts/package/npm-manifest.ts';
import { hostTarget, TARGETS } from '../../scripts/package/targets.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { run } from '../cluster/run.ts';
import { temporaryFolder } from './copy.ts';
import { PACK_MS, packMain } from './npm-main.ts';
import { type NpmRegistry, npmIn, startNpmRegistry } from './npm-registry.ts';

const host = hostTarget();
const folder = await temporaryFolder({ after });
const VERSION = { code: 0, stdout: `Client Version: ${pjson.version}\n`, stderr: '' };
const COMPLETED = { code: 0, stdout: 'get\tList pools with their nodes, resources and taints.\n:4\n', stderr: '' };
/** A registry with a stand-in for each platform, and one with the real executable of this one alone. */
const [standIns, real] = [await startNpmRegistry({ after }), await startNpmRegistry({ after })];

before(
  async () => {
    const [program, here] = [join(folder, 'stand-in'), join(folder, 'here')];
    await mkdir(here);
    await writeFile(program, '#!/bin/sh\necho stand-in\n');
    const executable = await buildExecutable(host);
    const [main, packedHere, ...packed] = await Promise.all([
      packMain(folder, 'main'),
      packPlatform(host, executable, 'theirs\n', here),
      ...TARGETS.map(target => packPlatform(target, program, 'theirs\n', folder)),
    ]);
    await real.publish(main.path, packedHere.path);
    await standIns.publish(main.path, ...packed.map(({ path }) => path));
  },
  { timeout: 3 * PACK_MS },
);

/** A project with the package installed. Returns its node_modules. */
async function install(name: string, registry: NpmRegistry, ...flags: string[]): Promise<string> {
  const project = join(folder, name);
  const args = ['install', 'kubectl-nodepool', '--prefix', project, ...flags];
  const { code, stderr } = await npmIn(folder, registry, args);
  assert.equal(code, 0, stderr);
  return join(project, 'node_modules');
}

const inodeOf = async (path: string) => (await stat(path)).ino;
const withNode = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), HOME: folder };

test('each platform has a package with its system, processor and C library', () => {
  const found = TARGETS.map(platformManifest).map(({ name, os, cpu, libc }) => [name, os, cpu, libc]);
  assert.deepEqual(found, [
    ['@kubectl-nodepool/linux-x64', ['linux'], ['x64'], ['glibc']],
    ['@kubectl-nodepool/linux-arm64', ['linux'], ['arm64'], ['glibc']],
    ['@kubectl-nodepool/linux-x64-musl', ['linux'], ['x64'], ['musl']],
    ['@kubectl-nodepool/linux-arm64-musl', ['linux'], ['arm64'], ['musl']],
    ['@kubectl-nodepool/darwin-x64', ['darwin'], ['x64'], undefined],
    ['@kubectl-nodepool/darwin-arm64', ['darwin'], ['arm64'], undefined],
    ['@kubectl-nodepool/win32-x64', ['win32'], ['x64'], undefined],
    ['@kubectl-nodepool/win32-arm64', ['win32'], ['arm64'], undefined],
  ]);
  const { optionalDependencies } = mainManifest(TARGETS);
  assert.deepEqual(optionalDependencies, Object.fromEntries(found.map(([name]) => [name, pjson.version])));
});

test('npm installs only the package of the platform', { timeout: PACK_MS }, async () => {
  for (const target of TARGETS) {
    const { os, cpu, libc = [] } = platformManifest(target);
    const flags = [`--os=${os}`, `--cpu=${cpu}`, ...libc.map(one => `--libc=${one}`), '--ignore-scripts'];
    const modules = await install(platformOf(target), standIns, ...flags);
    assert.deepEqual(await readdir(join(modules, '@kubectl-nodepool')), [platformOf(target)]);
  }
});

test('npm installs both programs as the executable, without needing Node', async () => {
  const prefix = join(folder, 'prefix');
  const args = ['install', '--global', '--prefix', prefix, 'kubectl-nodepool'];
  const { code, stderr } = await npmIn(folder, real, args);
  assert.equal(code, 0, stderr);
  const installed = join(prefix, 'lib', 'node_modules', 'kubectl-nodepool');
  const executable = join(installed, 'node_modules', '@kubectl-nodepool', platformOf(host), 'bin', 'kubectl-nodepool');
  for (const name of Object.keys(pjson.bin))
    assert.equal(await inodeOf(join(prefix, 'bin', name)), await inodeOf(executable), name);
  assert.deepEqual(await readdir(join(installed, 'bin', 'launcher')), [
    'executable.js',
    'install.js',
    'kubectl-nodepool',
    'kubectl_complete-nodepool',
    'launch.js',
    'package.json',
  ]);
  const { kubectl } = await ensureBinaries(['kubectl']);
  const env = { PATH: [join(prefix, 'bin'), dirname(kubectl)].join(delimiter), HOME: folder };
  assert.deepEqual(await run(kubectl, ['nodepool', 'version', '--client'], { env }), VERSION);
  const completed = await run(kubectl, ['__complete', 'nodepool', 'ge'], { env });
  assert.equal(completed.stdout, COMPLETED.stdout);
});

test('KUBECTL_NODEPOOL_RUNTIME=node runs the bundle after any kind of npm install', async () => {
  const wanted = { KUBECTL_NODEPOOL_RUNTIME: 'node' };
  const prefix = join(folder, 'runtime');
  const installGlobally = async (extra: Record<string, string>, ...flags: string[]) => {
    const args = ['install', '--global', '--prefix', prefix, 'kubectl-nodepool', ...flags];
    const { code, stderr } = await npmIn(folder, real, args, folder, extra);
    assert.equal(code, 0, stderr);
  };
  const modules = join(prefix, 'lib', 'node_modules', 'kubectl-nodepool', 'node_modules');
  const executable = join(modules, '@kubectl-nodepool', platformOf(host), 'bin', 'kubectl-nodepool');
  // In place of what such an installation left.
  await installGlobally({});
  for (const [extra, atStart, flags] of [
    [wanted, {}, []],
    [{}, wanted, ['--ignore-scripts']],
  ] as const) {
    await installGlobally(extra, ...flags);
    await rm(executable);
    await writeFile(executable, '#!/bin/sh\necho the executable ran\n', { mode: 0o755 });
    const start = (name: string, ...args: string[]) =>
      run(join(prefix, 'bin', name), args, { env: { ...withNode, ...atStart } });
    assert.deepEqual(await start('kubectl-nodepool', 'version', '--client'), VERSION);
    assert.deepEqual(await start('kubectl_complete-nodepool', 'ge'), COMPLETED);
  }
});

test('npx runs the plugin, even after npm runs the install script again', async () => {
  const modules = await install('npx', real);
  const again = await npmIn(folder, real, ['rebuild'], dirname(modules));
  assert.equal(again.code, 0, again.stderr);
  const executable = join(modules, '@kubectl-nodepool', platformOf(host), 'bin', 'kubectl-nodepool');
  assert.equal(await inodeOf(join(modules, '.bin', 'kubectl-nodepool')), await inodeOf(executable));
  const ran = await npmIn(folder, real, ['exec', '--', 'kubectl-nodepool', 'version', '--client'], dirname(modules));
  assert.deepEqual({ code: ran.code, stdout: ran.stdout }, { code: 0, stdout: VERSION.stdout });
});

test('without install scripts, the launchers start the executable', async () => {
  const modules = await install('no-scripts', real, '--ignore-scripts');
  const start = (name: string, ...args: string[]) => run(join(modules, '.bin', name), args, { env: withNode });
  // The bundle would need it.
  await writeFile(join(modules, 'kubectl-nodepool', 'dist', 'npm', 'main.js'), "throw new Error('not this');\n");
  assert.match(await readFile(join(modules, '.bin', 'kubectl-nodepool'), 'utf8'), /^#!\/usr\/bin\/env node\n/);
  assert.deepEqual(await start('kubectl-nodepool', 'version', '--client'), VERSION);
  assert.deepEqual(await start('kubectl_complete-nodepool', 'ge'), COMPLETED);
  assert.equal((await start('kubectl-nodepool', 'no-such-command')).code, 2);
});

test('the bundle on Node replaces an executable that does not start', async () => {
  const modules = await install('broken', standIns, '--foreground-scripts');
  const start = (name: string, ...args: string[]) => run(join(modules, '.bin', name), args, { env: withNode });
  assert.deepEqual(await start('kubectl-nodepool', 'version', '--client'), VERSION);
  assert.deepEqual(await start('kubectl_complete-nodepool', 'ge'), COMPLETED);
});

test('without an executable, the bundle runs on Node', async () => {
  for (const flags of [[], ['--ignore-scripts']]) {
    const modules = await install(`bundle-${flags.length}`, real, '--omit=optional', ...flags);
    const start = (name: string, ...args: string[]) => run(join(modules, '.bin', name), args, { env: withNode });
    assert.deepEqual(await readdir(modules), ['.bin', '.package-lock.json', 'kubectl-nodepool']);
    assert.deepEqual(await start('kubectl-nodepool', 'version', '--client'), VERSION);
    assert.deepEqual(await start('kubectl_complete-nodepool', 'ge'), COMPLETED);
  }
});
