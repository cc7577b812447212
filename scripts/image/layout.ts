/** An OCI image layout: a folder of blobs named by their SHA-256, and an index that names the first of them. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create } from 'tar';

/** Names a blob, as in the image specification. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
  platform?: { os: string; architecture: string };
  annotations?: Record<string, string>;
}

/** Of packLayer(). */
export interface Layer {
  bytes: Buffer;
  /** The digest before compression, which the image's configuration names. */
  diffId: string;
}

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json';
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar+gzip';

export class Layout {
  private readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** An empty layout in a folder that exists. */
  static async create(folder: string): Promise<Layout> {
    await mkdir(join(folder, 'blobs', 'sha256'), { recursive: true });
    await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    return new Layout(folder);
  }

  async add(mediaType: string, bytes: Uint8Array): Promise<Descriptor> {
    const hash = sha256(bytes);
    await writeFile(join(this.folder, 'blobs', 'sha256', hash), bytes);
    return { mediaType, digest: `sha256:${hash}`, size: bytes.length };
  }

  addJson(mediaType: string, value: object): Promise<Descriptor> {
    return this.add(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /**
   * Adds the image of one platform.
   * @param config as containers run it: Entrypoint, User and others
   */
  async addImage(
    platform: { os: string; architecture: string },
    config: object,
    layers: readonly Layer[],
    annotations?: Record<string, string>,
  ): Promise<Descriptor> {
    const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) };
    const added: Descriptor[] = [];
    for (const { bytes } of layers) added.push(await this.add(LAYER_TYPE, bytes));
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: await this.addJson(CONFIG_TYPE, { ...platform, config, rootfs }),
      layers: added,
      ...(annotations !== undefined && { annotations }),
    };
    return { ...(await this.addJson(MANIFEST_TYPE, manifest)), platform };
  }

  /** Writes the index of the layout, which names what is in it. */
  async finish(manifests: readonly Descriptor[]): Promise<void> {
    await writeFile(join(this.folder, 'index.json'), JSON.stringify(indexOf(manifests)));
  }
}

/** Writes the layout in the folder as an archive, which containerd and docker import. Equal layouts give equal bytes. */
export async function archiveLayout(folder: string, file: string): Promise<void> {
  // The archive has the modes, which depend on the user's umask.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  await create({ file, cwd: folder, portable: true, mtime: new Date(0) }, ['blobs', 'index.json', 'oci-layout']);
}

export const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';

export function indexOf(manifests: readonly Descriptor[]): object {
  return { schemaVersion: 2, mediaType: INDEX_TYPE, manifests };
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
