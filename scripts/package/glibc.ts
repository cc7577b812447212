/**
 * The C library that the executables are linked to, from Debian's package of it. apt-get fetches it from the machine's
 * own sources, so this runs on Debian 12, or in a container of it, alone.
 */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../../test/cluster/binaries.ts';
import { mustRun } from './must-run.ts';
import type { Target } from './targets.ts';

export const GLIBC_VERSION = '2.36-9+deb12u14';

export interface Glibc {
  /** Debian's name of the multiarch folder. */
  triplet: string;
  /** The path that the executable names as its interpreter. */
  loader: string;
  /** SHA-256 of the package, as Debian's signed index has it. */
  sha256: string;
}

export const GLIBC: Readonly<Record<Target['arch'], Glibc>> = {
  amd64: {
    triplet: 'x86_64-linux-gnu',
    loader: 'lib64/ld-linux-x86-64.so.2',
    sha256: 'ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf',
  },
  arm64: {
    triplet: 'aarch64-linux-gnu',
    loader: 'lib/ld-linux-aarch64.so.1',
    sha256: '01f4330719fd4f65580e16ea5a0527f372fca750e8f588d26deaf09f2d3b1cf4',
  },
};

/** What Bun's runtime is linked to, and the two parts of it that glibc still has as files of their own. */
const LIBRARIES = ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2'];

/**
 * Copies the libraries, their loader and their licence into the folder, which becomes the root of the image.
 * @throws when the package cannot be had, or is not the pinned one
 */
export async function copyGlibc(arch: Target['arch'], root: string): Promise<void> {
  const { triplet, loader } = GLIBC[arch];
  const work = await mkdtemp(join(await mkdirs(cachedPackage(arch), '..'), 'unpack-'));
  try {
    await mustRun('dpkg-deb', ['--extract', await packageOf(arch), work], { cwd: work });
    const files = LIBRARIES.map(name => join('lib', triplet, name));
    // The loader is a link to the file in the multiarch folder: the file itself is enough.
    for (const file of [...files, loader, 'usr/share/doc/libc6/copyright']) {
      await mkdir(dirname(join(root, file)), { recursive: true });
      await cp(join(work, file), join(root, file), { dereference: true });
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The path of the package; hashed at every use, because a modified one would be in every image. */
async function packageOf(arch: Target['arch']): Promise<string> {
  const cached = cachedPackage(arch);
  const isCached = await readFile(cached).then(
    bytes => check(bytes, arch, cached),
    () => false,
  );
  if (!isCached) await download(arch, cached);
  return cached;
}

async function download(arch: Target['arch'], cached: string): Promise<void> {
  const work = await mkdtemp(join(await mkdirs(cached, '..'), 'apt-'));
  // An index of its own, because the machine's may lack this architecture, and only root may write it.
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(work, folder), { recursive: true });
  const settings = {
    'APT::Architecture': arch,
    'APT::Architectures': arch,
    'APT::Sandbox::User': '',
    'Dir::State::lists': join(work, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(work, 'cache'),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  try {
    await mustRun('apt-get', [...options, '--quiet', 'update'], { cwd: work });
    await mustRun('apt-get', [...options, '--quiet', 'download', `libc6=${GLIBC_VERSION}`], { cwd: work });
    const file = join(work, `libc6_${GLIBC_VERSION}_${arch}.deb`);
    check(await readFile(file), arch, file);
    await rename(file, cached);
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(
      `libc6 ${GLIBC_VERSION} for ${arch} is not to be had: Debian 12 is needed, with its updates; ${why}`,
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function check(bytes: Buffer, arch: Target['arch'], what: string): true {
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== GLIBC[arch].sha256)
    throw new Error(`${what} is not the package that is pinned: its SHA-256 is ${found}`);
  return true;
}

function cachedPackage(arch: Target['arch']): string {
  return join(cacheFolder(process.env), 'debian', `libc6_${GLIBC_VERSION}_${arch}.deb`);
}

/** Makes the folder of the path and returns it. */
async function mkdirs(...path: string[]): Promise<string> {
  const folder = join(...path);
  await mkdir(folder, { recursive: true });
  return folder;
}
