import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';

export interface Manifest {
  /** The file as it is, comments included. */
  text: string;
  object: Record<string, unknown>;
}

/** The NodePool definition that this version installs, from the package's manifests/. */
export async function readDefinition(root: string): Promise<Manifest> {
  const text = await readFile(join(root, 'manifests', 'nodepools.nodes.lailin.xyz.yaml'), 'utf8');
  return { text, object: load(text) as Record<string, unknown> };
}
