/** Builds the image of this version as an OCI layout in dist/image, and as an archive of that layout. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { create } from 'tar';
import pjson from '../../package.json' with { type: 'json' };
import { buildExecutable } from '../package/executable.ts';
import { executableLicenses } from '../package/licenses.ts';
import { bundledPackages } from '../package/packages.ts';
import { sbom } from '../package/sbom.ts';
import { ROOT } from '../root.ts';
import { writeImage } from './image.ts';

export const IMAGE_LAYOUT = join(ROOT, 'dist', 'image');
export const IMAGE_ARCHIVE = `${pjson.name}-v${pjson.version}-image.tar`;

/**
 * Builds both; the archive is written into `folder`.
 * @param executable makes the executable of a platform, or names one that exists
 */
export async function buildImage(
  folder: string,
  executable = buildExecutable,
): Promise<{ archive: string; digest: string }> {
  await rm(IMAGE_LAYOUT, { recursive: true, force: true });
  await mkdir(IMAGE_LAYOUT, { recursive: true });
  const packages = await bundledPackages('bin/executable.ts');
  const licenses = await executableLicenses(packages);
  const digest = await writeImage(IMAGE_LAYOUT, { executable, licenses, sbom: await sbom(packages) });
  const archive = join(folder, IMAGE_ARCHIVE);
  const files = await readdir(IMAGE_LAYOUT);
  await create({ file: archive, cwd: IMAGE_LAYOUT, portable: true, mtime: new Date(0) }, files.sort());
  return { archive, digest };
}
