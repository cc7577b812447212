/** Packs the npm package as `npm publish` would: the bundle is made anew, by package.json's prepack. */
import { join } from 'node:path';
import { ROOT } from './bundle.ts';
import { mustRun } from './must-run.ts';

export interface Packed {
  /** Of the tarball. */
  path: string;
  /** The files in it, sorted. */
  files: string[];
}

export async function packNpm(folder: string): Promise<Packed> {
  const said = await mustRun('npm', ['pack', '--json', '--pack-destination', folder], { cwd: ROOT });
  // Before it stands what prepack says.
  const [packed] = JSON.parse(said.slice(said.indexOf('[\n'))) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error('npm pack made no file');
  return { path: join(folder, packed.filename), files: packed.files.map(({ path }) => path).sort() };
}
