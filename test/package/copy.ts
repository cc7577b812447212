/** The project in another folder. */
import { cpSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../scripts/root.ts';

const MODULES = join(ROOT, 'node_modules');
/** Files that are no sources of the packages. */
const MADE = [MODULES, ...['dist', '.git', 'site'].map(name => join(ROOT, name))];
/** Large packages that no build needs. */
const UNUSED = ['.bin', '@biomejs', '@typescript', 'node'].map(name => join(MODULES, name));

/** @param t of the test, or of the file: the folder is removed after it */
export async function temporaryFolder(t: { after(remove: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'nodepool-package-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** @param packages `link`: the same node_modules; `copy`: nothing outside of the folder is used */
export async function copyProject(folder: string, packages: 'link' | 'copy'): Promise<void> {
  // cpSync, since cp takes nine times as long.
  cpSync(ROOT, folder, { recursive: true, verbatimSymlinks: true, filter: path => !MADE.includes(path) });
  if (packages === 'link') await symlink(MODULES, join(folder, 'node_modules'));
  else cpSync(MODULES, join(folder, 'node_modules'), { recursive: true, filter: path => !UNUSED.includes(path) });
}
