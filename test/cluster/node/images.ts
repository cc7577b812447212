/** The image of the process that holds a pod's namespaces, as an OCI archive. */
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { packLayer } from '../../../scripts/image/layer.ts';
import { archiveLayout, Layout } from '../../../scripts/image/layout.ts';
import { PAUSE_IMAGE } from './config.ts';

/**
 * @param program a static executable
 * @param folder is created
 */
export async function pauseImage(program: string, arch: string, folder: string): Promise<string> {
  const [root, out] = [join(folder, 'root'), join(folder, 'layout')];
  for (const each of [root, out]) await mkdir(each, { recursive: true });
  await cp(program, join(root, 'pause'));
  const layout = await Layout.create(out);
  const config = { Entrypoint: ['/pause'], User: '65535:65535' };
  const layer = await packLayer(root, ['pause']);
  const image = await layout.addImage({ os: 'linux', architecture: arch }, config, [layer]);
  await layout.finish([{ ...image, annotations: { 'io.containerd.image.name': PAUSE_IMAGE } }]);
  const file = join(folder, 'pause.tar');
  await archiveLayout(out, file);
  return file;
}
