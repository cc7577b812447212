/** The platforms with an executable, named as by Go and krew. */
import { fileURLToPath } from 'node:url';

export interface Target {
  os: 'linux' | 'darwin' | 'windows';
  arch: 'amd64' | 'arm64';
  /** Bun's name of the platform, in `--target=bun-…` and in its npm package. */
  bun: string;
  /** Of Bun's npm package, from the registry. */
  integrity: string;
}

export const BUN_VERSION = '1.4.5';

export const TARGETS: readonly Target[] = [
  {
    os: 'linux',
    arch: 'amd64',
    bun: 'linux-x64',
    integrity: 'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
  },
  {
    os: 'linux',
    arch: 'arm64',
    bun: 'linux-aarch64',
    integrity: 'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
  },
  {
    os: 'darwin',
    arch: 'amd64',
    bun: 'darwin-x64',
    integrity: 'sha512-qkLPMGHZM9NI6CeHTWwVezzmlo6cC4Ta7yUAjYIWXS366qQcOlcp75t2uZyiuVRBMPS0h9qE0tCcvCHGaFqjJg==',
  },
  {
    os: 'darwin',
    arch: 'arm64',
    bun: 'darwin-aarch64',
    integrity: 'sha512-4MIFXHmctH2EhAxLXm2/qxNtv17dFtLJylvaOCsrgq6KSqHTs6eW5YSrJjRbJxYUJaR901fsN8JfZOa+CsWpWQ==',
  },
  {
    os: 'windows',
    arch: 'amd64',
    bun: 'windows-x64',
    integrity: 'sha512-FNvply651vcE/GHgNWz6mZvhmkwBuu8Hw54oNzA+CQog+HW+542rXQmZqNHRkFxazD9L3xi+iTtvO3engAgJfw==',
  },
];

export function nameOf({ os, arch }: Target): string {
  return `${os}-${arch}`;
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
  const host = TARGETS.find(target => target.os === os && target.arch === arch);
  if (host === undefined) throw new Error(`no executable is made for ${process.platform}-${process.arch}`);
  return host;
}
