/** `npm run image` builds the image of the controller: docs/in-cluster.md says how it gets into a registry. */
import { stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { buildImage, IMAGE_LAYOUT } from './image/build.ts';
import { imagePlatforms } from './image/image.ts';
import { buildExecutable } from './package/executable.ts';
import { executableLicenses } from './package/licenses.ts';
import { bundledPackages } from './package/packages.ts';
import { sbom } from './package/sbom.ts';
import { ROOT } from './root.ts';

const packages = await bundledPackages('bin/executable.ts');
const [licenses, bill] = await Promise.all([executableLicenses(packages), sbom(packages)]);
const { archive, digest } = await buildImage(join(ROOT, 'dist'), { executable: buildExecutable, licenses, sbom: bill });
const size = `${((await stat(archive)).size / 1024 ** 2).toFixed(0)} MiB`;
console.log(`${relative(ROOT, IMAGE_LAYOUT)} ${imagePlatforms()}, ${digest}`);
console.log(`${relative(ROOT, archive)} ${size}`);
