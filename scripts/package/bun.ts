/** Downloads Bun, the runtime of the executables, from the npm registry; there is one package for each platform. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../../test/cluster/binaries.ts';
import { mustRun } from './must-run.ts';
import { npmPack } from './npm.ts';
import { BUN_VERSION, type Target } from './targets.ts';

/**
 * Unpacks Bun for that platform into the folder and returns its path. The package stays in the user's cache and is
 * hashed at every use, because a modified one would be in every executable. Throws when the registry cannot be reached,
 * or when the package is not the pinned one.
 */
export async function bunOf(target: Target, folder: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const cached = cachedPackage(target, env);
  const found = await readFile(cached).catch(() => undefined);
  const bytes = found === undefined ? await download(target, cached) : checked(found, target, cached);
  const into = join(folder, target.bun);
  await mkdir(into);
  // Not read from the cache again: it may have changed since it was hashed.
  await writeFile(join(into, 'package.tgz'), bytes);
  await mustRun('tar', ['-xzf', 'package.tgz'], { cwd: into });
  const path = join(into, 'package', 'bin', target.os === 'windows' ? 'bun.exe' : 'bun');
  await chmod(path, 0o755);
  return path;
}

/** The path of the package in the cache. */
export function cachedPackage({ bun }: Target, env: NodeJS.ProcessEnv): string {
  return join(cacheFolder(env), 'bun', BUN_VERSION, `${bun}.tgz`);
}

async function download(target: Target, cached: string): Promise<Buffer> {
  const name = `@oven/bun-${target.bun}@${BUN_VERSION}`;
  await mkdir(dirname(cached), { recursive: true });
  const work = await mkdtemp(join(dirname(cached), 'new-'));
  try {
    const { path } = await npmPack(name, work);
    const bytes = checked(await readFile(path), target, name);
    await rename(path, cached);
    return bytes;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function checked(bytes: Buffer, { integrity }: Target, name: string): Buffer {
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (found !== integrity) throw new Error(`${name} is not the package that is pinned: its hash is ${found}`);
  return bytes;
}
