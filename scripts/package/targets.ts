/** The platforms with an executable, named as by Go and krew. */
import { fileURLToPath } from 'node:url';
// Nothing installs this package: npm's advisories and update bots know a version only by such files.
import bunPackage from './bun/package.json' with { type: 'json' };
import bunLock from './bun/package-lock.json' with { type: 'json' };

export interface Target {
  os: 'linux' | 'darwin' | 'windows';
  arch: 'amd64' | 'arm64';
  /** Of linux alone: the C library that the executable is linked to. */
  libc?: 'glibc' | 'musl';
  /** Bun's name of the platform, in `--target=bun-…` and in its npm package. */
  bun: string;
  /** Of Bun's npm package, from the registry. */
  integrity: string;
}

export const BUN_VERSION = bunPackage.devDependencies.bun;

const PLATFORMS: readonly Omit<Target, 'integrity'>[] = [
  { os: 'linux', arch: 'amd64', libc: 'glibc', bun: 'linux-x64' },
  { os: 'linux', arch: 'arm64', libc: 'glibc', bun: 'linux-aarch64' },
  { os: 'linux', arch: 'amd64', libc: 'musl', bun: 'linux-x64-musl' },
  { os: 'linux', arch: 'arm64', libc: 'musl', bun: 'linux-aarch64-musl' },
  { os: 'darwin', arch: 'amd64', bun: 'darwin-x64' },
  { os: 'darwin', arch: 'arm64', bun: 'darwin-aarch64' },
  { os: 'windows', arch: 'amd64', bun: 'windows-x64' },
  { os: 'windows', arch: 'arm64', bun: 'windows-aarch64' },
];

const locked = bunLock.packages as Record<string, { integrity?: string }>;

export const TARGETS: readonly Target[] = PLATFORMS.map(platform => ({
  ...platform,
  integrity: locked[`node_modules/@oven/bun-${platform.bun}`]?.integrity ?? '',
}));

export function nameOf({ os, arch, libc }: Target): string {
  return `${os}-${arch}${libc === 'musl' ? '-musl' : ''}`;
}

export function programOf({ os }: Target): string {
  return os === 'windows' ? 'kubectl-nodepool.exe' : 'kubectl-nodepool';
}

/** The output path of the build. */
export function executablePath(target: Target): string {
  return fileURLToPath(new URL(`../../dist/bin/${nameOf(target)}/${programOf(target)}`, import.meta.url));
}

/** The current platform. Throws when it is not supported. */
export function hostTarget(): Target {
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const libc = os === 'linux' ? libcOf(process.report.getReport()) : undefined;
  const host = TARGETS.find(target => target.os === os && target.arch === arch && target.libc === libc);
  if (host === undefined) throw new Error(`no executable is made for ${process.platform}-${process.arch}`);
  return host;
}

/** @param report of the process: only glibc has a version there */
function libcOf(report: object): Target['libc'] {
  const { header } = report as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}
