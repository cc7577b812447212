/** The product as a kubectl plugin: an executable kubectl-nodepool in a folder of PATH. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Product, productCommand, productUnderTest } from './product.ts';

/** Creates the folder beside the control plane's files; returns its path, for PATH. */
export async function pluginFolder(cluster: { dir: string }, product: Product = productUnderTest()): Promise<string> {
  const folder = join(cluster.dir, `plugins-${product}`);
  const launcher = join(folder, 'kubectl-nodepool');
  const quoted = productCommand(product).map(word => `'${word.replaceAll("'", `'\\''`)}'`);
  await mkdir(folder, { recursive: true });
  await writeFile(launcher, `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`);
  await chmod(launcher, 0o755);
  return folder;
}
