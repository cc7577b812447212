/** Builds the image of this version as an OCI layout in dist/image, and as an archive of that layout. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pjson from '../../package.json' with { type: 'json' };
import { ROOT } from '../root.ts';
import { type ImageParts, writeImage } from './image.ts';
import { archiveLayout } from './layout.ts';

export const IMAGE_LAYOUT = join(ROOT, 'dist', 'image');

/** Builds both; the archive is written into `folder`. */
export async function buildImage(folder: string, parts: ImageParts): Promise<{ archive: string; digest: string }> {
  await rm(IMAGE_LAYOUT, { recursive: true, force: true });
  await mkdir(IMAGE_LAYOUT, { recursive: true });
  const digest = await writeImage(IMAGE_LAYOUT, parts);
  const archive = join(folder, `${pjson.name}-v${pjson.version}-image.tar`);
  await archiveLayout(IMAGE_LAYOUT, archive);
  return { archive, digest };
}
