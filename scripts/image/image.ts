/**
 * The image of the controller: the executable, the C library that it is linked to, and their licences. No shell, no
 * package manager, no root. As a multi-platform OCI layout with the bill of materials attached, made without a daemon.
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pjson from '../../package.json' with { type: 'json' };
import { copyGlibc, GLIBC } from '../package/glibc.ts';
import { LICENSES_FILE } from '../package/licenses.ts';
import { nameOf, programOf, TARGETS, type Target } from '../package/targets.ts';
import { ROOT } from '../root.ts';
import { packLayer } from './layer.ts';
import { type Descriptor, INDEX_TYPE, indexOf, Layout } from './layout.ts';

export const IMAGE_TARGETS: readonly Target[] = TARGETS.filter(({ os }) => os === 'linux');

/** Without the registry's tag: manifests/ and the chart name the same. */
export const IMAGE_NAME = 'ghcr.io/lailin-xyz/kubectl-nodepool';

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json';
const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar+gzip';
const EMPTY_TYPE = 'application/vnd.oci.empty.v1+json';
const SBOM_TYPE = 'application/vnd.cyclonedx+json';

/** Also the user and group of manifests/controller.yaml. */
const USER = 65532;

const LABELS = {
  'org.opencontainers.image.title': pjson.name,
  'org.opencontainers.image.description': pjson.description,
  'org.opencontainers.image.version': pjson.version,
  'org.opencontainers.image.licenses': pjson.license,
  'org.opencontainers.image.source': pjson.homepage,
  'org.opencontainers.image.documentation': `${pjson.homepage}/blob/v${pjson.version}/docs/in-cluster.md`,
};

export interface ImageParts {
  /** The path of the executable for a platform. */
  executable(target: Target): Promise<string>;
  /** The text of THIRD-PARTY-LICENSES. */
  licenses: string;
  /** CycloneDX, as JSON. */
  sbom: string;
  /** Default: the version. */
  tag?: string;
}

/** Writes the layout into the folder, which exists and is empty. Equal parts give equal bytes. Returns the digest of the image. */
export async function writeImage(folder: string, parts: ImageParts): Promise<string> {
  const layout = await Layout.create(folder);
  const platforms: Descriptor[] = [];
  for (const target of IMAGE_TARGETS) platforms.push(await addPlatform(layout, target, parts));
  const image = await layout.addJson(INDEX_TYPE, { ...indexOf(platforms), annotations: LABELS });
  const bill = await addSbom(layout, image, parts.sbom);
  const { tag = pjson.version } = parts;
  // The first annotation is the layout's name of the image, the second is the one under which containerd imports it.
  const names = {
    'org.opencontainers.image.ref.name': tag,
    'io.containerd.image.name': `${IMAGE_NAME}:${tag}`,
  };
  await layout.finish([{ ...image, annotations: names }, bill]);
  return image.digest;
}

async function addPlatform(layout: Layout, target: Target, parts: ImageParts): Promise<Descriptor> {
  const work = await mkdtemp(join(tmpdir(), 'nodepool-image-'));
  try {
    // The C library changes less often than the program, so it is a layer of its own.
    const base = await addLayer(layout, join(work, 'base'), [GLIBC[target.arch].loader], root =>
      fillBase(target, root),
    );
    const program = await addLayer(layout, join(work, 'program'), [programOf(target)], root =>
      fillProgram(target, root, parts),
    );
    const platform = { os: target.os, architecture: target.arch };
    const config = await layout.addJson(CONFIG_TYPE, {
      ...platform,
      config: {
        User: `${USER}:${USER}`,
        Entrypoint: [`/${programOf(target)}`],
        Cmd: ['reconcile', '--watch'],
        WorkingDir: '/',
        Labels: LABELS,
      },
      rootfs: { type: 'layers', diff_ids: [base.diffId, program.diffId] },
    });
    const layers = [base.descriptor, program.descriptor];
    const manifest = { schemaVersion: 2, mediaType: MANIFEST_TYPE, config, layers, annotations: LABELS };
    return { ...(await layout.addJson(MANIFEST_TYPE, manifest)), platform };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function addLayer(
  layout: Layout,
  root: string,
  programs: readonly string[],
  fill: (root: string) => Promise<void>,
): Promise<{ descriptor: Descriptor; diffId: string }> {
  await mkdir(root);
  await fill(root);
  const { bytes, diffId } = await packLayer(root, programs);
  return { descriptor: await layout.add(LAYER_TYPE, bytes), diffId };
}

async function fillBase({ arch }: Target, root: string): Promise<void> {
  await copyGlibc(arch, root);
  await mkdir(join(root, 'etc'));
  await writeFile(join(root, 'etc', 'passwd'), `root:x:0:0:root:/:/\nnonroot:x:${USER}:${USER}:nonroot:/:/\n`);
  await writeFile(join(root, 'etc', 'group'), `root:x:0:\nnonroot:x:${USER}:\n`);
}

async function fillProgram(target: Target, root: string, { executable, licenses }: ImageParts): Promise<void> {
  await cp(await executable(target), join(root, programOf(target)));
  const papers = join(root, 'usr/share/doc', pjson.name);
  await mkdir(papers, { recursive: true });
  await cp(join(ROOT, 'LICENSE'), join(papers, 'LICENSE'));
  await writeFile(join(papers, LICENSES_FILE), licenses);
}

/** As a referrer of the image: registries list it with the image, and `oras copy --recursive` takes it along. */
async function addSbom(layout: Layout, subject: Descriptor, sbom: string): Promise<Descriptor> {
  const { mediaType, digest, size } = subject;
  const manifest = await layout.addJson(MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    artifactType: SBOM_TYPE,
    config: await layout.addJson(EMPTY_TYPE, {}),
    layers: [
      {
        ...(await layout.add(SBOM_TYPE, Buffer.from(sbom))),
        annotations: { 'org.opencontainers.image.title': `${pjson.name}-v${pjson.version}.cdx.json` },
      },
    ],
    subject: { mediaType, digest, size },
  });
  return { ...manifest, artifactType: SBOM_TYPE };
}

/** The names of the platforms, for messages. */
export const imagePlatforms = (): string => IMAGE_TARGETS.map(nameOf).join(', ');
