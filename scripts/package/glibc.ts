/** The C library that the executables are linked to, from Debian's package of it. */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { unpackDebian } from './debian.ts';
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

/**
 * Copies the libraries, their loader and their licence into the folder, which becomes the root of the image.
 * @throws PackageUnavailable, or an error when the package is not the pinned one
 */
export async function copyGlibc(arch: Target['arch'], root: string): Promise<void> {
  const { triplet, loader, sha256 } = GLIBC[arch];
  const work = await mkdtemp(join(tmpdir(), 'nodepool-glibc-'));
  const folder = join('lib', triplet);
  // The loader's own path is a link, which may be absolute, to the file among the libraries.
  const same = [...LIBRARIES.map(name => join(folder, name)), LICENSE];
  const copies = new Map([[join(folder, basename(loader)), loader], ...same.map(path => [path, path] as const)]);
  try {
    await unpackDebian({ name: 'libc6', version: GLIBC_VERSION, arch, sha256 }, work);
    for (const [from, to] of copies) {
      await mkdir(dirname(join(root, to)), { recursive: true });
      await cp(join(work, from), join(root, to));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
