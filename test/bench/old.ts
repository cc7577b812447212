/** An older executable, to measure beside that of the working tree. */
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { extract } from 'tar';
import { mustRun } from '../../scripts/package/must-run.ts';
import { ROOT } from '../../scripts/root.ts';
import type { Command } from './race.ts';

/**
 * Builds it with the dependencies of the working tree.
 * @param commit as git knows it
 */
export async function buildOld(commit: string): Promise<Command> {
  const folder = join(ROOT, 'dist', 'bench', 'old');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const archive = join(folder, 'sources.tar');
  await mustRun('git', ['archive', '--output', archive, commit], { cwd: ROOT });
  await extract({ file: archive, cwd: folder });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const script = `
    import { buildExecutable } from './scripts/package/executable.ts';
    import { hostTarget } from './scripts/package/targets.ts';
    console.log(await buildExecutable(hostTarget()));`;
  const said = await mustRun(process.execPath, ['--input-type=module', '-e', script], { cwd: folder });
  const path = said.trim().split('\n').at(-1);
  if (!path) throw new Error(`the build of ${commit} names no executable`);
  return [path];
}
