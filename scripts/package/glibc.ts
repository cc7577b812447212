/**
 * The C library that the executables are linked to, from Debian's package of it. apt-get fetches it from the machine's
 * own sources, so that this needs Debian 12, or the package in the user's cache.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
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
const LICENSE = 'usr/share/doc/libc6/copyright';

/** The package is not cached, and apt-get did not fetch it: no Debian 12, no network, or Debian has a newer version. */
export class GlibcUnavailable extends Error {
  constructor(arch: Target['arch'], cause: unknown) {
    const remedy = `run this on Debian 12, or put the package into ${dirname(cachedPackage(arch))}`;
    super(`libc6 ${GLIBC_VERSION} for ${arch} cannot be downloaded; next: ${remedy}`, { cause });
  }
}

/**
 * Copies the libraries, their loader and their licence into the folder, which becomes the root of the image.
 * @throws GlibcUnavailable, or an error when the package is not the pinned one
 */
export async function copyGlibc(arch: Target['arch'], root: string): Promise<void> {
  const { triplet, loader } = GLIBC[arch];
  const work = await mkdtemp(join(tmpdir(), 'nodepool-glibc-'));
  // The loader's own path is a link, which may be absolute, to the file among the libraries.
  const sources = [...LIBRARIES, basename(loader)].map(name => join('lib', triplet, name));
  const files = [...sources.slice(0, -1), loader, LICENSE];
  try {
    await mustRun('dpkg-deb', ['--extract', await packageOf(arch), work], { cwd: work });
    for (const [index, file] of files.entries()) {
      await mkdir(dirname(join(root, file)), { recursive: true });
      await cp(join(work, [...sources, LICENSE][index] ?? file), join(root, file));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The path of the package; hashed at every use, because a modified one would be in every image. */
async function packageOf(arch: Target['arch']): Promise<string> {
  const cached = cachedPackage(arch);
  if (!existsSync(cached)) await download(arch, cached);
  const found = createHash('sha256')
    .update(await readFile(cached))
    .digest('hex');
  if (found === GLIBC[arch].sha256) return cached;
  throw new Error(`${cached} is not the package that is pinned: its SHA-256 is ${found}`);
}

async function download(arch: Target['arch'], cached: string): Promise<void> {
  await mkdir(dirname(cached), { recursive: true });
  const work = await mkdtemp(join(dirname(cached), 'apt-'));
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
    await rename(join(work, basename(cached)), cached);
  } catch (error) {
    throw new GlibcUnavailable(arch, error);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Named as apt-get names it. */
function cachedPackage(arch: Target['arch']): string {
  return join(cacheFolder(process.env), 'debian', `libc6_${GLIBC_VERSION}_${arch}.deb`);
}
