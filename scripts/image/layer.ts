/** A layer of an image: the files of a folder, packed so that equal files give equal bytes. */
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { create } from 'tar';
import { type Layer, sha256 } from './layout.ts';

const TIME = new Date('2000-01-01T00:00:00Z');

/**
 * Packs the folder. Owners (root), times and modes are fixed, and gzip records neither time nor system.
 * @param programs the paths of the files to be executable; all others are readable alone
 */
export async function packLayer(folder: string, programs: readonly string[]): Promise<Layer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map(entry => ({ entry, path: join(entry.parentPath, entry.name).slice(folder.length + 1) }));
  paths.sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { entry, path } of paths)
    await chmod(join(folder, path), entry.isDirectory() || programs.includes(path) ? 0o755 : 0o644);
  const out = await mkdtemp(join(tmpdir(), 'nodepool-layer-'));
  try {
    const file = join(out, 'layer.tar.gz');
    const options = { file, cwd: folder, gzip: true, portable: true, mtime: TIME, noDirRecurse: true };
    await create(
      options,
      paths.map(({ path }) => path),
    );
    const bytes = await readFile(file);
    return { bytes, diffId: `sha256:${sha256(gunzipSync(bytes))}` };
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
