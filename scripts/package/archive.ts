/** The archive of an executable, which krew unpacks: the program, its licence and the licences of third parties. */
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { completionScript } from '../../src/commands/completion/scripts.ts';
import { ROOT } from '../root.ts';
import { LICENSES_FILE } from './licenses.ts';
import { nameOf, programOf, type Target } from './targets.ts';

/** The name that kubectl's completion looks up on the PATH. */
const KUBECTL_COMPLETE = 'kubectl_complete-nodepool';

/** A fixed time for every file, so that equal contents give equal bytes. */
export const TIME = new Date('2000-01-01T00:00:00Z');

export function archiveName(target: Target): string {
  return `${pjson.name}-v${pjson.version}-${nameOf(target)}.tar.gz`;
}

/**
 * Writes the archive into `folder` and returns its path. Equal contents give equal bytes: order, times, modes and
 * owners are fixed, and gzip records neither time nor system.
 * @param program path of the executable
 * @param licenses the text of THIRD-PARTY-LICENSES
 */
export async function writeArchive(target: Target, program: string, licenses: string, folder: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'nodepool-archive-'));
  const file = join(folder, archiveName(target));
  // krew links only the program; the other file is for users who unpack the archive. Windows cannot run such scripts.
  const programs = target.os === 'windows' ? [programOf(target)] : [programOf(target), KUBECTL_COMPLETE];
  const names = [...programs, 'LICENSE', LICENSES_FILE];
  try {
    await cp(program, join(work, programOf(target)));
    if (programs.includes(KUBECTL_COMPLETE)) {
      await writeFile(join(work, KUBECTL_COMPLETE), completionScript('kubectl'));
    }
    await cp(join(ROOT, 'LICENSE'), join(work, 'LICENSE'));
    await writeFile(join(work, LICENSES_FILE), licenses);
    for (const name of names) await chmod(join(work, name), programs.includes(name) ? 0o755 : 0o644);
    await create({ file, cwd: work, gzip: true, portable: true, mtime: TIME }, names);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return file;
}
