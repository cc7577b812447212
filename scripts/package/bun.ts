/** Brings Bun, the runtime inside the executables, from the npm registry, one package for each platform. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, isExecutable } from '../../test/cluster/binaries.ts';
import { mustRun } from './must-run.ts';
import { npmPack } from './npm.ts';
import { BUN_VERSION, type Target } from './targets.ts';

/**
 * The path of that platform's Bun, brought into the user's cache if it is not there. Throws when the registry cannot be
 * reached or gives another package than the one that is pinned.
 */
export async function bunOf(target: Target): Promise<string> {
  const program = target.os === 'windows' ? 'bun.exe' : 'bun';
  const folder = join(cacheFolder(process.env), 'bun', BUN_VERSION);
  const path = join(folder, target.bun, 'bin', program);
  if (await isExecutable(path)) return path;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, 'new-'));
  try {
    await download(target, work);
    await chmod(join(work, 'package', 'bin', program), 0o755);
    await rename(join(work, 'package'), join(folder, target.bun)).catch(async (error: Error) => {
      // Another run was quicker.
      if (!(await isExecutable(path))) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return path;
}

async function download(target: Target, folder: string): Promise<void> {
  const name = `@oven/bun-${target.bun}@${BUN_VERSION}`;
  const { path } = await npmPack(name, folder);
  const integrity = `sha512-${createHash('sha512')
    .update(await readFile(path))
    .digest('base64')}`;
  if (integrity !== target.integrity) throw new Error(`${name} is not the package that is pinned: ${integrity}`);
  await mustRun('tar', ['-xzf', path], { cwd: folder });
}
