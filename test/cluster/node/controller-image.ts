/** The image of the controller on a node: built from these sources like a release, but only for this platform. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeImage } from '../../../scripts/image/image.ts';
import { archiveLayout } from '../../../scripts/image/layout.ts';
import { buildExecutable } from '../../../scripts/package/executable.ts';
import { hostTarget } from '../../../scripts/package/targets.ts';
import { startWatcher } from '../daemon.ts';
import type { RealNode } from './start.ts';

/** Builds the image and imports it, with the name and tag of this version. */
export async function importController(nodes: readonly RealNode[]): Promise<void> {
  const usual = tmpdir();
  const work = await mkdtemp(join(usual, 'nodepool-image-'));
  const watcher = startWatcher(work);
  // Large files are written on the way. In the folder that is watched, they do not outlive a build that is interrupted.
  process.env.TMPDIR = work;
  try {
    const layout = join(work, 'layout');
    await mkdir(layout);
    await writeImage(layout, { executable: buildExecutable, licenses: '', sbom: '{}' }, [hostTarget()]);
    const archive = join(work, 'image.tar');
    await archiveLayout(layout, archive);
    for (const node of nodes) await node.importImage(archive);
  } finally {
    process.env.TMPDIR = usual;
    await watcher.release();
    await rm(work, { recursive: true, force: true });
  }
}
