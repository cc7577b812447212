/** An older executable, to measure beside that of the working tree. */
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { extract } from 'tar';
import { mustRun } from '../../scripts/package/must-run.ts';
import { ROOT } from '../../scripts/root.ts';
import { type ProgressStream, step } from '../cluster/progress.ts';
import type { Command } from './race.ts';

/** @param commit as git knows it; undefined: there is no older one to measure */
export async function buildOld(commit: string | undefined, progress: ProgressStream): Promise<Command | undefined> {
  return commit === undefined ? undefined : [await step(progress, `building ${commit}`, () => build(commit))];
}

/** With the dependencies of the working tree. Returns the path of the executable. */
async function build(commit: string): Promise<string> {
  const folder = join(ROOT, 'dist', 'bench', 'old');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const archive = join(folder, 'sources.tar');
  await mustRun('git', ['archive', '--output', archive, commit], { cwd: ROOT });
  await extract({ file: archive, cwd: folder });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  // In a process of its own: two builds in one unpack the runtime to the same place.
  const script = `
    import { buildExecutable } from './scripts/package/executable.ts';
    import { hostTarget } from './scripts/package/targets.ts';
    console.log(await buildExecutable(hostTarget()));`;
  const said = await mustRun(process.execPath, ['--input-type=module', '-e', script], { cwd: folder });
  const path = said.trim().split('\n').at(-1);
  if (!path) throw new Error(`the build of ${commit} names no executable`);
  return path;
}
