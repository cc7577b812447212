/** Packs the npm package as `npm publish` would: the bundle is made anew, by package.json's prepack. */
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { mustRun } from './must-run.ts';

export interface Packed {
  /** Of the tarball. */
  path: string;
  /** The files in it, sorted. */
  files: string[];
}

export function packNpm(folder: string): Promise<Packed> {
  return npmPack('.', folder);
}

/**
 * The tarball of a package, in `folder`.
 * @param what a folder below the project's, or NAME@VERSION of the registry
 */
export async function npmPack(what: string, folder: string): Promise<Packed> {
  const said = await mustRun('npm', ['pack', what, '--json', '--pack-destination', folder], { cwd: ROOT });
  // Before it stands what prepack says.
  const [packed] = JSON.parse(said.slice(said.indexOf('[\n'))) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error(`npm pack ${what} made no file`);
  return { path: join(folder, packed.filename), files: packed.files.map(({ path }) => path).sort() };
}
