/** Packs the npm package as `npm publish` would; package.json's prepack builds the bundle first. */
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { mustRun } from './must-run.ts';

export interface Packed {
  /** The tarball. */
  path: string;
  /** The packed files, sorted. */
  files: string[];
}

export function packNpm(folder: string): Promise<Packed> {
  return npmPack('.', folder);
}

/**
 * Creates the tarball of a package in `folder`.
 * @param what a folder below the project's root, or NAME@VERSION of the registry
 */
export async function npmPack(what: string, folder: string): Promise<Packed> {
  const said = await mustRun('npm', ['pack', what, '--json', '--pack-destination', folder], { cwd: ROOT });
  // The output of prepack comes first.
  const [packed] = JSON.parse(said.slice(said.indexOf('[\n'))) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error(`npm pack ${what} made no file`);
  return { path: join(folder, packed.filename), files: packed.files.map(({ path }) => path).sort() };
}
