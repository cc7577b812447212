/** The archive of an executable, which krew unpacks: the program, its licence and those of others; nothing else. */
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { completionScript } from '../../src/cli/completion/scripts.ts';
import { ROOT } from '../root.ts';
import { LICENSES_FILE } from './licenses.ts';
import { nameOf, programOf, type Target } from './targets.ts';

/** What kubectl's completion looks for on the PATH. */
export const KUBECTL_COMPLETE = 'kubectl_complete-nodepool';

/** The same for every file of every release, so that the same contents are the same bytes. */
const TIME = new Date('2000-01-01T00:00:00Z');

export function archiveName(target: Target): string {
  return `${pjson.name}-v${pjson.version}-${nameOf(target)}.tar.gz`;
}

/**
 * Writes it into `folder` and gives its path. The same contents give the same bytes: order, times, modes and owners are
 * fixed, and gzip notes neither a time nor a system.
 * @param program path of the executable
 * @param licenses the text of THIRD-PARTY-LICENSES
 */
export async function writeArchive(target: Target, program: string, licenses: string, folder: string): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'nodepool-archive-'));
  const file = join(folder, archiveName(target));
  // krew links the program alone; who unpacks the archive has both. Windows has no scripts of this kind.
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
