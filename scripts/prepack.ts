/** What `npm pack` and `npm publish` run first: the bundle, and the licences of what is in it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPackage } from './build.ts';
import { ROOT } from './package/bundle.ts';
import { bundleLicenses, LICENSES_FILE } from './package/licenses.ts';
import { bundledPackages } from './package/packages.ts';

await buildPackage();
await writeFile(join(ROOT, 'dist', 'npm', LICENSES_FILE), await bundleLicenses(await bundledPackages('src/main.ts')));
