/** Runs before `npm pack` and `npm publish`: builds the bundle and its licences, and sets the modes of packed files. */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPackage } from './build.ts';
import { bundleLicenses, LICENSES_FILE } from './package/licenses.ts';
import { packagesOf } from './package/packages.ts';
import { projectFiles, ROOT } from './root.ts';

const packages = await packagesOf(await buildPackage());
await writeFile(join(ROOT, 'dist', 'npm', LICENSES_FILE), await bundleLicenses(packages));
// npm packs the modes of the files, which depend on the umask of the checkout.
for (const path of projectFiles(['*.{json,md}', 'LICENSE', 'bin/*.js', 'dist/npm/*', 'manifests/*'])) {
  await chmod(join(ROOT, path), path.startsWith('bin') ? 0o755 : 0o644);
}
