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
import { type Descriptor, INDEX_TYPE, indexOf, Layout, MANIFEST_TYPE } from './layout.ts';

export const IMAGE_TARGETS: readonly Target[] = TARGETS.filter(({ libc }) => libc === 'glibc');

/** Without the registry's tag: manifests/ and the chart name the same. */
export const IMAGE_NAME = 'ghcr.io/lailin-xyz/kubectl-nodepool';

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
}

/** Writes the layout into the folder, which exists and is empty. Equal parts give equal bytes. Returns the digest of the image. */
export async function writeImage(
  folder: string,
  parts: ImageParts,
  targets: readonly Target[] = IMAGE_TARGETS,
): Promise<string> {
  const layout = await Layout.create(folder);
  const platforms: Descriptor[] = [];
  for (const target of targets) platforms.push(await addPlatform(layout, target, parts));
  const image = await layout.addJson(INDEX_TYPE, { ...indexOf(platforms), annotations: LABELS });
  const bill = await addSbom(layout, image, parts.sbom);
  // The first annotation is the layout's name of the image, the second is the one under which containerd imports it.
  const names = {
    'org.opencontainers.image.ref.name': pjson.version,
    'io.containerd.image.name': `${IMAGE_NAME}:${pjson.version}`,
  };
  await layout.finish([{ ...image, annotations: names }, bill]);
  return image.digest;
}

async function addPlatform(layout: Layout, target: Target, parts: ImageParts): Promise<Descriptor> {
  const work = await mkdtemp(join(tmpdir(), 'nodepool-image-'));
  try {
    // The C library changes less often than the program, so it is a layer of its own.
    const [base, program] = [join(work, 'base'), join(work, 'program')];
    await fillBase(target, base);
    await fillProgram(target, program, parts);
    const layers = [await packLayer(base, [GLIBC[target.arch].loader]), await packLayer(program, [programOf(target)])];
    const config = {
      User: `${USER}:${USER}`,
      Entrypoint: [`/${programOf(target)}`],
      Cmd: ['reconcile', '--watch'],
      WorkingDir: '/',
      Labels: LABELS,
    };
    return await layout.addImage({ os: target.os, architecture: target.arch }, config, layers, LABELS);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function fillBase({ arch }: Target, root: string): Promise<void> {
  await mkdir(join(root, 'etc'), { recursive: true });
  await copyGlibc(arch, root);
  await writeFile(join(root, 'etc', 'passwd'), `root:x:0:0:root:/:/\nnonroot:x:${USER}:${USER}:nonroot:/:/\n`);
  await writeFile(join(root, 'etc', 'group'), `root:x:0:\nnonroot:x:${USER}:\n`);
}

async function fillProgram(target: Target, root: string, { executable, licenses }: ImageParts): Promise<void> {
  const papers = join(root, 'usr/share/doc', pjson.name);
  await mkdir(papers, { recursive: true });
  await cp(await executable(target), join(root, programOf(target)));
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
