/** The main package for npm. */
import assert from 'node:assert/strict';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Packed } from '../../scripts/package/npm.ts';
import { run } from '../cluster/run.ts';
import { copyProject } from './copy.ts';

export const PACK_MS = 120_000;

/** Packs it in a copy of the project, whose own dist/npm is in use. The copy is the folder `name` in `folder`. */
export async function packMain(folder: string, name: string, umask = 0o022): Promise<Packed> {
  const copy = join(folder, name);
  await mkdir(join(copy, 'packed'), { recursive: true });
  await copyProject(copy, 'link');
  await chmod(join(copy, 'LICENSE'), 0o666 & ~umask);
  const script = `
    import { packNpm } from './scripts/package/npm.ts';
    process.umask(${umask});
    console.log(JSON.stringify(await packNpm('packed')));`;
  const { code, stdout, stderr } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: copy,
    timeoutMs: PACK_MS,
  });
  assert.equal(code, 0, stderr);
  const { path, files } = JSON.parse(stdout);
  return { path: join(copy, path), files };
}
