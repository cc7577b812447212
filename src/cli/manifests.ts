import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import type { ManifestObject } from '../kube/resources/manifests.ts';
import { NodepoolError } from '../nodepool/errors.ts';

export interface Manifest {
  /** Includes the file's comments. */
  text: string;
  object: Record<string, unknown>;
}

export interface Manifests {
  text: string;
  objects: ManifestObject[];
}

/** The line with the image of this version in the manifest. */
const IMAGE_LINE = /image: ghcr\.io\/\S+/;
/** The last argument of the controller in every variant. */
const LAST_ARGUMENT = /^( +- )--log-format=json$/m;
/** Marks the lines that only pod counts need. */
const FOR_POD_COUNTS = /^( +)#\+ /gm;
/** Marks the lines that only pools with `noExecute: Drain` need. */
const FOR_EVICTIONS = /^( +)#\+evictions /gm;
/** A loose check, because the container runtime checks the name; none of these characters ends the YAML string. */
const IMAGE = /^[A-Za-z0-9][\w.:/@-]*$/;

/** The CRD that this version installs, read from the package's manifests/. */
export async function readCrd(root: string): Promise<Manifest> {
  const text = await readFile(join(root, 'manifests', 'nodepools.nodes.lailin.xyz.yaml'), 'utf8');
  return { text, object: load(text) as Record<string, unknown> };
}

/** Admission policies that keep kubelets from changing records and membership, even without the controller. */
export async function readPolicies(root: string): Promise<Manifests> {
  const files = ['protect-records.yaml', 'protect-membership.yaml'];
  const texts = await Promise.all(files.map(file => readFile(join(root, 'manifests', file), 'utf8')));
  return parse(texts.join('---\n'));
}

/** The admission policy that gives nodes their pool's labels and taints at registration, and its binding. */
export async function readBornInPool(root: string): Promise<Manifests> {
  return parse(await readFile(join(root, 'manifests', 'born-in-pool.yaml'), 'utf8'));
}

/** The controller's objects in the cluster, in the order of creation. */
export async function readController(root: string): Promise<Manifests> {
  return parse(await readFile(join(root, 'manifests', 'controller.yaml'), 'utf8'));
}

/** Like readController(), with `image`, if given, and what the flags add. Throws NodepoolError for an invalid image. */
export async function readControllerWith(
  root: string,
  image: string | undefined,
  {
    podCounts,
    evictions,
    transientKeys = [],
  }: { podCounts: boolean; evictions: boolean; transientKeys?: readonly string[] | undefined },
): Promise<Manifests> {
  if (image !== undefined && !IMAGE.test(image)) {
    throw new NodepoolError(
      'usage',
      `--image "${image}" is not an image name`,
      'write it like registry.example.com/name:tag',
    );
  }
  const { text } = await readController(root);
  const counting = podCounts ? text.replaceAll(FOR_POD_COUNTS, '$1') : text;
  const evicting = evictions ? counting.replaceAll(FOR_EVICTIONS, '$1') : counting;
  const keys = JSON.stringify(`--transient-keys=${transientKeys.join(',')}`);
  const chosen = transientKeys.length === 0 ? evicting : evicting.replace(LAST_ARGUMENT, `$&\n$1${keys}`);
  return parse(image === undefined ? chosen : chosen.replace(IMAGE_LINE, () => `image: ${JSON.stringify(image)}`));
}

function parse(text: string): Manifests {
  return { text, objects: loadAll(text) as ManifestObject[] };
}
