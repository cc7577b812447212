import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';

export async function sha256Of(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** The input of `sha256sum --check`: a line for each path, sorted by name. */
export async function checksums(paths: readonly string[]): Promise<string> {
  const lines = await Promise.all(paths.map(async path => `${await sha256Of(path)}  ${basename(path)}\n`));
  return lines.sort((a, b) => (a.slice(64) < b.slice(64) ? -1 : 1)).join('');
}
