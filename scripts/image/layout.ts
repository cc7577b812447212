/** An OCI image layout: a folder of blobs named by their SHA-256, and an index that names the first of them. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Names a blob, as in the image specification. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
  platform?: { os: string; architecture: string };
  annotations?: Record<string, string>;
}

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

  /** Writes the index of the layout, which names what is in it. */
  async finish(manifests: readonly Descriptor[]): Promise<void> {
    await writeFile(join(this.folder, 'index.json'), JSON.stringify(indexOf(manifests)));
  }
}

export const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';

export function indexOf(manifests: readonly Descriptor[]): object {
  return { schemaVersion: 2, mediaType: INDEX_TYPE, manifests };
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
