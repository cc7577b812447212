/**
 * Packages of Debian 12, from the machine's own sources and without installing them. They stay in the user's cache and
 * are hashed at every use.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { cacheFolder } from '../../test/cluster/binaries.ts';
import { mustRun } from './must-run.ts';

/** Where sources do not answer, apt-get tries each of them. */
const DOWNLOAD_MS = 180_000;

export interface DebianPackage {
  name: string;
  version: string;
  arch: 'amd64' | 'arm64' | 'all';
  /** As Debian's signed index has it. */
  sha256: string;
}

/** The package is not cached, and apt-get did not fetch it: no Debian 12, no network, or Debian has a newer version. */
export class PackageUnavailable extends Error {
  constructor(wanted: DebianPackage, cause: unknown) {
    const remedy = `run this on Debian 12, or put the package into ${dirname(cachedPackage(wanted))}`;
    super(`${wanted.name} ${wanted.version} for ${wanted.arch} cannot be downloaded; next: ${remedy}`, { cause });
  }
}

/**
 * Unpacks its files into the folder.
 * @throws PackageUnavailable, or an error when the package is not the pinned one
 */
export async function unpackDebian(wanted: DebianPackage, folder: string): Promise<void> {
  const cached = cachedPackage(wanted);
  if (!existsSync(cached)) await download(wanted, cached);
  const found = createHash('sha256')
    .update(await readFile(cached))
    .digest('hex');
  if (found !== wanted.sha256) throw new Error(`${cached} is not the pinned package: its SHA-256 is ${found}`);
  await mustRun('dpkg-deb', ['--extract', cached, folder], { cwd: folder });
}

async function download(wanted: DebianPackage, cached: string): Promise<void> {
  const { name, version, arch } = wanted;
  await mkdir(dirname(cached), { recursive: true });
  const work = await mkdtemp(join(dirname(cached), 'apt-'));
  // An index of its own, because the machine's may lack this architecture, and only root may write it.
  for (const folder of ['lists/partial', 'cache/archives/partial'])
    await mkdir(join(work, folder), { recursive: true });
  const system = arch === 'all' ? 'amd64' : arch;
  const settings = {
    'APT::Architecture': system,
    'APT::Architectures': system,
    'APT::Sandbox::User': '',
    'Acquire::Retries': '0',
    'Acquire::http::Timeout': '20',
    'Dir::State::lists': join(work, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(work, 'cache'),
  };
  const flags = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const options = { cwd: work, timeout: DOWNLOAD_MS };
  try {
    await mustRun('apt-get', [...flags, '--quiet', 'update'], options);
    await mustRun('apt-get', [...flags, '--quiet', 'download', `${name}=${version}`], options);
    await rename(join(work, basename(cached)), cached);
  } catch (error) {
    throw new PackageUnavailable(wanted, error);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Named as apt-get names it. */
function cachedPackage({ name, version, arch }: DebianPackage): string {
  return join(cacheFolder(process.env), 'debian', `${name}_${version.replace(':', '%3a')}_${arch}.deb`);
}
