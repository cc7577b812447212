/** What `npm pack` and `npm publish` run first: the bundle, and the licences of what is in it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPackage } from './build.ts';
import { bundleLicenses, LICENSES_FILE } from './package/licenses.ts';
import { packagesOf } from './package/packages.ts';
import { ROOT } from './root.ts';

const packages = await packagesOf(await buildPackage());
await writeFile(join(ROOT, 'dist', 'npm', LICENSES_FILE), await bundleLicenses(packages));
