import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { NodepoolError } from '../nodepool/errors.ts';
import type { ManifestObject } from '../operations/ports.ts';

export interface Manifest {
  /** The file as it is, comments included. */
  text: string;
  object: Record<string, unknown>;
}

export interface Manifests {
  text: string;
  objects: ManifestObject[];
}

/** What stands in the manifest where the image belongs. */
const IMAGE_LINE = 'image: kubectl-nodepool';
/** The mark of lines that are for pod counts alone. */
const FOR_POD_COUNTS = /^( +)#\+ /gm;
/** Loosely: the container runtime knows the rules, and no character here can leave the YAML string. */
const IMAGE = /^[A-Za-z0-9][\w.:/@-]*$/;

/** The NodePool definition that this version installs, from the package's manifests/. */
export async function readCrd(root: string): Promise<Manifest> {
  const text = await readFile(join(root, 'manifests', 'nodepools.nodes.lailin.xyz.yaml'), 'utf8');
  return { text, object: load(text) as Record<string, unknown> };
}

/** Policies that keep kubelets from what pools rely on. They work without the controller too. */
export async function readPolicies(root: string): Promise<Manifests> {
  const files = ['protect-records.yaml', 'protect-membership.yaml'];
  const texts = await Promise.all(files.map(file => readFile(join(root, 'manifests', file), 'utf8')));
  return parse(texts.join('---\n'));
}

/** All that the controller in the cluster consists of, in the order of its creation. */
export async function readController(root: string): Promise<Manifests> {
  return parse(await readFile(join(root, 'manifests', 'controller.yaml'), 'utf8'));
}

/** The same, running this image, counting pods or not. Throws NodepoolError when that cannot be an image. */
export async function readControllerWith(root: string, image: string, podCounts: boolean): Promise<Manifests> {
  if (!IMAGE.test(image)) {
    throw new NodepoolError(
      'usage',
      `--image "${image}" is not an image`,
      'write it like registry.example.com/name:tag',
    );
  }
  const { text } = await readController(root);
  const chosen = podCounts ? text.replaceAll(FOR_POD_COUNTS, '$1') : text;
  return parse(chosen.replace(IMAGE_LINE, () => `image: ${JSON.stringify(image)}`));
}

function parse(text: string): Manifests {
  return { text, objects: loadAll(text) as ManifestObject[] };
}
