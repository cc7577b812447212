/** Downloads the release that setup-envtest uses (kube-apiserver, etcd and kubectl in one archive) and checks its SHA-512. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { programOf, type Wanted } from './programs.ts';
import { type ProgressStream, step } from './progress.ts';

/** The pinned version of the index, and its hash, as the programs that it names are run by the tests. */
const INDEX_COMMIT = '2b2bbdfb5ed4d62cf0c665425c2a424223c46df8';
const INDEX_SHA512 =
  'ad9b963c3f8c154641771a1e5eef247189ddc4d28a5104f6e0414b15a748d36b98c020478f2a2426208859c6684a8600497444edcd14eac82590c93c19a92c7a';
const INDEX_URL = `https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/${INDEX_COMMIT}/envtest-releases.yaml`;
const IN_ARCHIVE: readonly string[] = ['kube-apiserver', 'etcd', 'kubectl'];
/** How long the index may take to answer: many machines cannot reach it. */
const PROBE_MS = 2_000;
const DOWNLOAD_MS = 600_000;

/** Release -> archive name -> where it is and its hash. */
export interface ReleaseIndex {
  releases: Record<string, Record<string, { hash: string; selfLink: string }>>;
}

let unreachable = false;

/** Provides nothing if the index is unreachable or lacks the release, or if the hash differs. */
export async function downloadRelease(wanted: readonly Wanted[], progress: ProgressStream): Promise<void> {
  const here = wanted.filter(({ name }) => IN_ARCHIVE.includes(programOf(name).program));
  const kubernetes = here.find(({ name }) => name !== 'etcd')?.version;
  // One attempt per process, and none for etcd alone, whose version the index does not name.
  if (kubernetes === undefined || unreachable) return;
  const index = await readIndex();
  if (index === undefined) {
    unreachable = true;
    progress.write('the release download cannot be reached from here\n');
    return;
  }
  const archive = chooseArchive(index, kubernetes, process.platform, process.arch);
  if (archive === undefined) return;
  const names = here.map(({ name }) => name).join(', ');
  try {
    await step(progress, `downloading ${names} of Kubernetes ${archive.release}`, () => fetchInto(archive, here));
  } catch (error) {
    progress.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
}

/** The archive for this platform: the wanted release, else the newest patch of its minor version. */
export function chooseArchive(
  index: ReleaseIndex,
  version: string,
  platform: string,
  arch: string,
): { release: string; url: string; sha512: string } | undefined {
  const os = platform === 'win32' ? 'windows' : platform;
  const machine = arch === 'x64' ? 'amd64' : arch;
  const minor = version.slice(0, version.lastIndexOf('.') + 1);
  const patch = (release: string) => Number(release.slice(minor.length));
  const releases = Object.keys(index.releases)
    .filter(release => release.startsWith(minor) && /^\d+$/.test(release.slice(minor.length)))
    .sort((a, b) => Number(b === version) - Number(a === version) || patch(b) - patch(a));
  for (const release of releases) {
    const found = index.releases[release]?.[`envtest-${release}-${os}-${machine}.tar.gz`];
    if (found !== undefined) return { release, url: found.selfLink, sha512: found.hash };
  }
  return undefined;
}

async function readIndex(): Promise<ReleaseIndex | undefined> {
  try {
    const response = await fetch(INDEX_URL, { signal: AbortSignal.timeout(PROBE_MS) });
    return response.ok ? readPinned(await response.text()) : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined unless the text is the pinned one. */
export function readPinned(index: string, sha512 = INDEX_SHA512): ReleaseIndex | undefined {
  return createHash('sha512').update(index).digest('hex') === sha512 ? (load(index) as ReleaseIndex) : undefined;
}

async function fetchBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

async function fetchInto(archive: { url: string; sha512: string }, wanted: readonly Wanted[]): Promise<void> {
  const bytes = await fetchBytes(archive.url);
  const sha512 = createHash('sha512').update(bytes).digest('hex');
  if (sha512 !== archive.sha512) {
    throw new Error(`${archive.url} has the SHA-512 ${sha512}, not ${archive.sha512} as its index says`);
  }
  const [first] = wanted;
  if (first === undefined) return;
  const folder = await mkdtemp(`${dirname(first.path)}.download-`);
  try {
    const file = join(folder, 'archive.tar.gz');
    await writeFile(file, bytes);
    await promisify(execFile)('tar', ['-xzf', file, '--strip-components=2', '-C', folder]);
    for (const { name, path } of wanted) {
      await chmod(join(folder, programOf(name).program), 0o755);
      await rename(join(folder, programOf(name).program), path);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
