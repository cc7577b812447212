/** The image of the process that holds a pod's namespaces, as an OCI archive. */
import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { create } from 'tar';
import { packLayer } from '../../../scripts/image/layer.ts';
import { Layout } from '../../../scripts/image/layout.ts';
import { PAUSE_IMAGE } from './config.ts';

/**
 * @param program a static executable
 * @param folder is created
 */
export async function pauseImage(program: string, arch: string, folder: string): Promise<string> {
  const [root, out] = [join(folder, 'root'), join(folder, 'layout')];
  for (const each of [root, out]) await mkdir(each, { recursive: true });
  await cp(program, join(root, 'pause'));
  const { bytes, diffId } = await packLayer(root, ['pause']);
  const layout = await Layout.create(out);
  const type = (kind: string) => `application/vnd.oci.image.${kind}`;
  const config = await layout.addJson(type('config.v1+json'), {
    os: 'linux',
    architecture: arch,
    config: { Entrypoint: ['/pause'], User: '65535:65535' },
    rootfs: { type: 'layers', diff_ids: [diffId] },
  });
  const layers = [await layout.add(type('layer.v1.tar+gzip'), bytes)];
  const mediaType = type('manifest.v1+json');
  const manifest = await layout.addJson(mediaType, { schemaVersion: 2, mediaType, config, layers });
  await layout.finish([{ ...manifest, annotations: { 'io.containerd.image.name': PAUSE_IMAGE } }]);
  const file = join(folder, 'pause.tar');
  await create({ file, cwd: out, portable: true }, await readdir(out));
  return file;
}
