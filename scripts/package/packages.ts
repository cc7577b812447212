/** The npm packages whose code is in a bundle. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { ROOT } from '../root.ts';
import { bundle } from './bundle.ts';

export interface Package {
  name: string;
  version: string;
  /** The SPDX expression of its package.json. */
  license: string;
  /** The names of its dependencies. */
  dependencies: readonly string[];
  /** Relative to the project's root, as in package-lock.json. */
  folder: string;
  /** The size of its code in the bundle. */
  bytes: number;
}

interface PackageJson {
  name: string;
  version: string;
  license: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const OF_PACKAGE = /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** The packages in the bundle of `entry`. */
export async function bundledPackages(entry: string): Promise<Package[]> {
  const folder = await mkdtemp(join(tmpdir(), 'nodepool-packages-'));
  return packagesOf(await bundle([entry], folder).finally(() => rm(folder, { recursive: true, force: true })));
}

/** The packages with at least one byte in the bundle, by name. */
export async function packagesOf({ outputs }: Metafile): Promise<Package[]> {
  const bytes = new Map<string, number>();
  for (const [path, { bytesInOutput }] of Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs))) {
    const from = OF_PACKAGE.exec(path)?.[1];
    if (from !== undefined) bytes.set(from, (bytes.get(from) ?? 0) + bytesInOutput);
  }
  const packages = [...bytes].filter(([, size]) => size > 0).map(([from, size]) => readPackage(from, size));
  const key = ({ name, version }: Package) => `${name}@${version}`;
  return (await Promise.all(packages)).sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

async function readPackage(folder: string, bytes: number): Promise<Package> {
  const text = await readFile(join(ROOT, folder, 'package.json'), 'utf8');
  const { name, version, license, dependencies, optionalDependencies } = JSON.parse(text) as PackageJson;
  const asked = Object.keys({ ...dependencies, ...optionalDependencies });
  return { name, version, license, dependencies: asked, folder, bytes };
}
