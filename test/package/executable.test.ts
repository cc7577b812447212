/** The archive of this platform's executable: made twice, and installed by krew as a user would. */
import assert from 'node:assert/strict';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { extract, list } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { writeArchive } from '../../scripts/package/archive.ts';
import { sha256Of } from '../../scripts/package/checksums.ts';
import { buildExecutable } from '../../scripts/package/executable.ts';
import { KREW_FILE, KREW_TARGETS, krewManifest } from '../../scripts/package/krew.ts';
import { executablePath, hostTarget, programOf, TARGETS, type Target } from '../../scripts/package/targets.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { run } from '../cluster/run.ts';
import { copyProject, temporaryFolder } from './copy.ts';
import { krewIn, validateManifest } from './krew.ts';

const BUILD_MS = 300_000;
const LICENSES = 'the licences of others\n';
const host = hostTarget();
const folder = await temporaryFolder({ after });
let archive = '';

before(
  async () => {
    archive = await writeArchive(host, await buildExecutable(host), LICENSES, folder);
  },
  { timeout: BUILD_MS },
);

/** The manifest of a release in which every platform has this archive. */
async function manifest(into: string, path: string, targets: readonly Target[] = TARGETS): Promise<string> {
  const sha256 = await sha256Of(path);
  const file = join(into, KREW_FILE);
  await writeFile(file, krewManifest(targets.map(target => ({ target, sha256 }))));
  return file;
}

test('builds the same archive from the same sources in another folder', { timeout: BUILD_MS }, async t => {
  const copy = await temporaryFolder(t);
  await copyProject(copy, 'copy');
  const script = `
    import { writeArchive } from './scripts/package/archive.ts';
    import { buildExecutable } from './scripts/package/executable.ts';
    import { hostTarget } from './scripts/package/targets.ts';
    const path = await buildExecutable(hostTarget());
    console.log(await writeArchive(hostTarget(), path, ${JSON.stringify(LICENSES)}, '.'));`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: copy,
    timeoutMs: BUILD_MS,
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.equal(await sha256Of(join(copy, stdout.trim())), await sha256Of(archive));
});

test('packs the program, its licence and third-party licences', async () => {
  const entries: string[] = [];
  await list({
    file: archive,
    onReadEntry: ({ path, mode, mtime, uid, uname, type }) => {
      entries.push([path, mode?.toString(8), mtime?.toISOString(), uid ?? '', uname ?? '', type].join(' '));
    },
  });
  const rest = '2000-01-01T00:00:00.000Z   File';
  assert.deepEqual(entries, [
    `${programOf(host)} 755 ${rest}`,
    `kubectl_complete-nodepool 755 ${rest}`,
    `LICENSE 644 ${rest}`,
    `THIRD-PARTY-LICENSES 644 ${rest}`,
  ]);
  // The time and the system of gzip's header.
  assert.deepEqual([...(await readFile(archive)).subarray(4, 10)], [0, 0, 0, 0, 0, 255]);
});

test('reads no settings from the current folder', async t => {
  const cwd = await temporaryFolder(t);
  await writeFile(join(cwd, 'evil.js'), "console.log('EVIL');\n");
  await writeFile(join(cwd, 'bunfig.toml'), 'preload = ["./evil.js"]\n');
  // The program would read this kubeconfig.
  await writeFile(join(cwd, '.env'), `KUBECONFIG=${join(cwd, 'evil')}\nBUN_OPTIONS=--preload=./evil.js\n`);
  await writeFile(join(cwd, 'evil'), '{contexts: [{name: evil, context: {}}]}');
  const start = (...args: string[]) => run(executablePath(host), args, { cwd, env: { HOME: cwd } });
  assert.match((await start('version', '--client')).stdout, /^Client Version: [\d.]+\n$/);
  assert.equal((await start('__complete', 'get', '--context', '')).stdout, ':4\n');
});

test('completes under the name that kubectl looks for, and by the script beside it', async t => {
  const path = await temporaryFolder(t);
  const link = join(path, 'kubectl_complete-nodepool');
  await symlink(executablePath(host), link);
  const answer = {
    code: 0,
    stdout: 'get\tList pools with their nodes, resources and taints.\n:4\n',
    stderr: '',
  };
  assert.deepEqual(await run(link, ['ge']), answer);
  const unpacked = await temporaryFolder(t);
  await extract({ file: archive, cwd: unpacked });
  const env = { PATH: [unpacked, process.env.PATH].join(delimiter), HOME: path };
  assert.deepEqual(await run(join(unpacked, 'kubectl_complete-nodepool'), ['ge'], { env }), answer);
});

test('krew accepts the manifest of all platforms', async () => {
  const { code, stderr } = await validateManifest(await manifest(folder, archive));
  assert.equal(code, 0, stderr);
  assert.match(stderr, /structural validation OK/);
});

test('krew refuses a broken manifest', async t => {
  const file = await manifest(await temporaryFolder(t), archive);
  await writeFile(file, (await readFile(file, 'utf8')).replace('name: nodepool', 'name: other'));
  const { code, stderr } = await validateManifest(file);
  assert.notEqual(code, 0);
  assert.match(stderr, /plugin should be named "nodepool"/);
});

test('krew installs it, kubectl runs it, krew uninstalls it', async t => {
  const krew = await krewIn(await temporaryFolder(t));
  const installed = await krew.run([
    'install',
    `--manifest=${await manifest(folder, archive)}`,
    `--archive=${archive}`,
  ]);
  assert.equal(installed.code, 0, installed.stderr);
  const { kubectl } = await ensureBinaries(['kubectl']);
  const version = () =>
    run(kubectl, ['nodepool', 'version', '--client'], {
      env: { PATH: [krew.bin, dirname(kubectl)].join(delimiter), HOME: krew.root },
    });
  assert.deepEqual(await version(), { code: 0, stdout: `Client Version: ${pjson.version}\n`, stderr: '' });
  const uninstalled = await krew.run(['uninstall', 'nodepool']);
  assert.equal(uninstalled.code, 0, uninstalled.stderr);
  assert.equal((await version()).code, 1);
});

test('krew refuses an archive whose hash differs from the manifest', async t => {
  const krew = await krewIn(await temporaryFolder(t));
  const other = join(krew.root, 'other.tar.gz');
  await writeFile(other, (await readFile(archive)).fill(0, 1000, 1001));
  const { code, stderr } = await krew.run([
    'install',
    `--manifest=${await manifest(folder, archive)}`,
    `--archive=${other}`,
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /checksum/);
});

test('krew finds the .exe on Windows', async t => {
  const windows = KREW_TARGETS.filter(({ os }) => os === 'windows');
  for (const target of windows) {
    const krew = await krewIn(await temporaryFolder(t));
    // The content does not matter, as it is not run.
    const path = await writeArchive(target, join(folder, KREW_FILE), LICENSES, krew.root);
    const args = ['install', `--manifest=${await manifest(krew.root, path, windows)}`, `--archive=${path}`];
    const { code, stderr } = await krew.run(args, { KREW_OS: target.os, KREW_ARCH: target.arch });
    assert.equal(code, 0, stderr);
    const linked = await readFile(join(krew.bin, 'kubectl-nodepool.exe'), 'utf8');
    assert.equal(linked, await readFile(join(folder, KREW_FILE), 'utf8'));
  }
  assert.deepEqual(
    windows.map(({ arch }) => arch),
    ['amd64', 'arm64'],
  );
});
