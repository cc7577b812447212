/** What `npm pack` and `npm publish` run first: the bundle, the licences of what is in it, and the modes of all that is packed. */
import { globSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPackage } from './build.ts';
import { bundleLicenses, LICENSES_FILE } from './package/licenses.ts';
import { packagesOf } from './package/packages.ts';
import { ROOT } from './root.ts';

const packages = await packagesOf(await buildPackage());
await writeFile(join(ROOT, 'dist', 'npm', LICENSES_FILE), await bundleLicenses(packages));
// npm packs the modes that it finds, which come from the umask of whoever checked the files out.
for (const path of globSync(['*.{json,md}', 'LICENSE', 'bin/*', 'dist/npm/*', 'manifests/*'], { cwd: ROOT })) {
  await chmod(join(ROOT, path), path.startsWith('bin') ? 0o755 : 0o644);
}
