/** The image of the controller: its contents, a run with the settings of the Deployment, and a push to a registry. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { extract, list } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { IMAGE_NAME, IMAGE_TARGETS, writeImage } from '../../scripts/image/image.ts';
import { archiveLayout, type Descriptor } from '../../scripts/image/layout.ts';
import { PackageUnavailable } from '../../scripts/package/debian.ts';
import { buildExecutable } from '../../scripts/package/executable.ts';
import { copyGlibc } from '../../scripts/package/glibc.ts';
import { executablePath, hostTarget } from '../../scripts/package/targets.ts';
import { run } from '../cluster/run.ts';
import { temporaryFolder } from './copy.ts';
import { neededBy } from './elf.ts';
import { startRegistry } from './registry.ts';

const BUILD_MS = 600_000;
const SBOM = '{"bomFormat":"CycloneDX"}\n';
const parts = {
  executable: async (target: (typeof IMAGE_TARGETS)[number]) => executablePath(target),
  licenses: 'theirs\n',
  sbom: SBOM,
};

interface Manifest {
  config: Descriptor;
  layers: Descriptor[];
  subject?: Descriptor;
  artifactType?: string;
}

const folder = await temporaryFolder({ after });
let digest = '';

const blob = (of: string) => readFile(join(folder, 'blobs', 'sha256', of.replace('sha256:', '')));
const json = async <T>(of: string) => JSON.parse((await blob(of)).toString()) as T;
const platforms = async () => (await json<{ manifests: Descriptor[] }>(digest)).manifests;

/** The manifest of the platform's image. */
async function manifestOf(arch: string): Promise<Manifest> {
  const found = (await platforms()).find(({ platform }) => platform?.architecture === arch);
  return json<Manifest>(found?.digest ?? '');
}

const libc = await temporaryFolder({ after });
/** Why there is no image here; a release fails then. */
const skip = await Promise.all(IMAGE_TARGETS.map(({ arch }) => copyGlibc(arch, join(libc, arch)))).then(
  () => false,
  (error: unknown) => {
    if (error instanceof PackageUnavailable) return error.message;
    throw error;
  },
);

before(
  async () => {
    if (skip) return;
    for (const target of IMAGE_TARGETS) await buildExecutable(target);
    digest = await writeImage(folder, parts);
  },
  { timeout: BUILD_MS },
);

test('the same files produce the same image in another folder', { skip, timeout: BUILD_MS }, async t => {
  assert.equal(await writeImage(await temporaryFolder(t), parts), digest);
});

test('the same image produces the same archive with any umask', { skip }, async t => {
  const [layout, out] = [await temporaryFolder(t), await temporaryFolder(t)];
  const archive = async (from: string) => {
    const file = join(out, 'image.tar');
    await archiveLayout(from, file);
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  };
  const usual = await archive(folder);
  await cp(folder, layout, { recursive: true });
  for (const name of await readdir(layout, { recursive: true })) await chmod(join(layout, name), 0o700);
  assert.equal(await archive(layout), usual);
});

for (const { arch } of IMAGE_TARGETS)
  test(`${arch}: the image has only the program, its C library, two user names and licences`, {
    skip,
  }, async () => {
    const entries: string[] = [];
    const onReadEntry = ({
      path,
      mode,
      uid,
      gid,
      type,
    }: {
      path: string;
      mode?: number;
      uid?: number;
      gid?: number;
      type: string;
    }) => {
      if (type !== 'Directory') entries.push(`${path} ${type} ${mode?.toString(8)} ${uid ?? 0}:${gid ?? 0}`);
    };
    const { layers } = await manifestOf(arch);
    for (const layer of layers) await list({ file: join(folder, 'blobs/sha256', layer.digest.slice(7)), onReadEntry });
    const [triplet, loader] =
      arch === 'amd64'
        ? ['x86_64-linux-gnu', 'lib64/ld-linux-x86-64.so.2']
        : ['aarch64-linux-gnu', 'lib/ld-linux-aarch64.so.1'];
    const libraries = ['libc.so.6', 'libdl.so.2', 'libm.so.6', 'libpthread.so.0'].map(name => `lib/${triplet}/${name}`);
    const papers = ['libc6/copyright', 'kubectl-nodepool/LICENSE', 'kubectl-nodepool/THIRD-PARTY-LICENSES'];
    assert.deepEqual(
      entries.sort(),
      [
        ...['kubectl-nodepool', loader].map(path => `${path} File 755 0:0`),
        ...['etc/group', 'etc/passwd', ...libraries, ...papers.map(paper => `usr/share/doc/${paper}`)].map(
          path => `${path} File 644 0:0`,
        ),
      ].sort(),
    );
    const target = IMAGE_TARGETS.find(one => one.arch === arch);
    assert.ok(target);
    const needed = neededBy(await readFile(executablePath(target)));
    assert.equal(needed.loader, `/${loader}`);
    const names = [...libraries, loader].map(path => basename(path));
    assert.deepEqual(
      needed.libraries.filter(name => !names.includes(name)),
      [],
    );
  });

test('runs as the user of the Deployment, with labels of the version', { skip }, async () => {
  const controller = await readFile(new URL('../../manifests/controller.yaml', import.meta.url), 'utf8');
  for (const { platform, digest } of await platforms()) {
    const { config: configured } = await json<Manifest>(digest);
    const { architecture, config } = await json<{
      architecture: string;
      config: { User: string; Entrypoint: string[]; Cmd: string[]; Labels: Record<string, string> };
    }>(configured.digest);
    assert.equal(architecture, platform?.architecture);
    const [user, group] = config.User.split(':');
    assert.ok(controller.includes(`runAsUser: ${user}`) && controller.includes(`runAsGroup: ${group}`));
    assert.deepEqual([config.Entrypoint, config.Cmd], [['/kubectl-nodepool'], ['reconcile', '--watch']]);
    assert.equal(config.Labels['org.opencontainers.image.version'], pjson.version);
  }
});

test('runs without root on a read-only filesystem', {
  skip:
    skip ||
    (process.platform === 'linux' && process.getuid?.() === 0 ? false : 'needs root on Linux, for chroot and mounts'),
}, async t => {
  const root = await temporaryFolder(t);
  const { layers } = await manifestOf(hostTarget().arch);
  for (const layer of layers) await extract({ file: join(folder, 'blobs/sha256', layer.digest.slice(7)), cwd: root });
  for (const mounted of ['proc', 'dev']) await mkdir(join(root, mounted));
  await chmod(root, 0o755);
  // The mounts are seen by this process alone, and end with it.
  const script = `mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && mount -t proc proc "$1/proc" &&
    mount --rbind /dev "$1/dev" && shift && exec chroot --userspec=65532:65532 "$@"`;
  const inside = (...args: string[]) =>
    run('unshare', ['--mount', '--pid', '--fork', 'sh', '-ec', script, 'sh', root, root, ...args]);
  const version = await inside('/kubectl-nodepool', 'version', '--client');
  assert.deepEqual(version, { code: 0, stdout: `Client Version: ${pjson.version}\n`, stderr: '' });
  const watch = await inside('/kubectl-nodepool', 'reconcile', '--watch');
  assert.match(watch.stderr, /^error: no kubeconfig found/);
  assert.equal((await inside('/bin/sh', '-c', 'true')).code, 127);
});

test('a registry accepts all platforms and the bill of materials', { skip }, async t => {
  const work = await temporaryFolder(t);
  const archive = join(work, 'image.tar');
  await archiveLayout(folder, archive);
  const { address, oras } = await startRegistry(t);
  const to = `${address}/${IMAGE_NAME.slice(IMAGE_NAME.indexOf('/') + 1)}:${pjson.version}`;
  const copied = await oras(
    'copy',
    '--recursive',
    '--from-oci-layout',
    `${archive}:${pjson.version}`,
    '--to-plain-http',
    to,
  );
  assert.equal(copied.code, 0, copied.stderr);
  const resolved = await oras('resolve', '--plain-http', to);
  assert.equal(resolved.stdout.trim(), digest);
  const discovered = await oras('discover', '--plain-http', '--format', 'json', to);
  const { referrers } = JSON.parse(discovered.stdout) as { referrers: { reference: string }[] };
  assert.equal(referrers.length, 1);
  const pulled = await oras('pull', '--plain-http', '--output', work, referrers[0]?.reference ?? '');
  assert.equal(pulled.code, 0, pulled.stderr);
  assert.equal(await readFile(join(work, `${pjson.name}-v${pjson.version}.cdx.json`), 'utf8'), SBOM);
});
