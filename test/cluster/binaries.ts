/**
 * Finds or makes the programs of a control plane. Each is looked up as envtest does: its TEST_ASSET_ variable,
 * KUBEBUILDER_ASSETS, the user's cache; what is missing is downloaded, else built from the pinned Go modules.
 */
import { access, constants, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buildFromSource } from './build.ts';
import { downloadRelease } from './download.ts';
import { withLock } from './lock.ts';
import { type Binary, type Provider, programOf, versionOf, type Wanted } from './programs.ts';
import type { ProgressStream } from './progress.ts';

export interface BinaryOptions {
  env?: NodeJS.ProcessEnv;
  progress?: ProgressStream;
  /** Tried in order while something is missing. Default: download, then build. */
  providers?: readonly Provider[];
}

/** The paths of these programs, which are downloaded or built first. Throws an error that names what to set. */
export async function ensureBinaries<B extends Binary>(
  names: readonly B[],
  options: BinaryOptions = {},
): Promise<Record<B, string>> {
  const { env = process.env, progress = process.stderr, providers = [downloadRelease, buildFromSource] } = options;
  let missing = await lookUp(names, env);
  if (missing.length > 0) {
    const waiting = () => progress.write(`waiting for another run that is preparing ${list(missing)} …\n`);
    await withLock(
      join(cacheFolder(env), 'lock'),
      async () => {
        for (const provide of providers) {
          missing = await lookUp(names, env);
          if (missing.length > 0) await provide(missing, progress);
        }
        missing = await lookUp(names, env);
      },
      waiting,
    );
  }
  if (missing.length > 0) {
    const variables = missing.map(({ name }) => assetVariable(name)).join(', ');
    throw new Error(
      `${list(missing)} not found, not downloadable and, without Go 1.26 in the PATH, not buildable: install Go, ` +
        `set KUBEBUILDER_ASSETS to a folder with the programs, or set ${variables} to their paths`,
    );
  }
  const entries = await Promise.all(names.map(async name => [name, (await findBinary(name, env)) ?? ''] as const));
  return Object.fromEntries(entries) as Record<B, string>;
}

/** The existing path of the program, if any. Throws when a variable names a missing file. */
export async function findBinary(name: Binary, env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const asset = env[assetVariable(name)];
  if (asset) {
    if (await isExecutable(asset)) return asset;
    throw new Error(`${assetVariable(name)} names ${asset}, which is not an executable file`);
  }
  const assets = env.KUBEBUILDER_ASSETS;
  const candidates = [...(assets ? [join(assets, name)] : []), cachedPath(name, env)];
  for (const path of candidates) if (await isExecutable(path)) return path;
  return undefined;
}

async function lookUp(names: readonly Binary[], env: NodeJS.ProcessEnv): Promise<Wanted[]> {
  const missing: Wanted[] = [];
  for (const name of names) {
    if ((await findBinary(name, env)) !== undefined) continue;
    const path = cachedPath(name, env);
    await mkdir(join(path, '..'), { recursive: true });
    missing.push({ name, version: versionOf(name), path });
  }
  return missing;
}

/** kube-apiserver -> TEST_ASSET_KUBE_APISERVER, kubectl-1.30 -> TEST_ASSET_KUBECTL_1_30. */
function assetVariable(name: Binary): string {
  return `TEST_ASSET_${name.toUpperCase().replaceAll(/[-.]/g, '_')}`;
}

/** The cache of downloaded and built programs. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'kubectl-nodepool');
}

function cachedPath(name: Binary, env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), `${process.platform}-${process.arch}`, versionOf(name), programOf(name).program);
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

const list = (wanted: readonly Wanted[]) => wanted.map(({ name }) => name).join(', ');
