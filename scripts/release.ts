/** `npm run release` builds all release files of this version in dist/release, and npm's packages of the platforms in dist/platforms. */
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { buildImage } from './image/build.ts';
import { writeArchive } from './package/archive.ts';
import { packChart } from './package/chart.ts';
import { checksums, sha256Of } from './package/checksums.ts';
import { buildExecutable } from './package/executable.ts';
import { KREW_FILE, krewManifest } from './package/krew.ts';
import { executableLicenses } from './package/licenses.ts';
import { checkListing } from './package/listing.ts';
import { packNpm, packPlatform } from './package/npm.ts';
import { bundledPackages } from './package/packages.ts';
import { SBOM_FILE, sbom } from './package/sbom.ts';
import { jsonSchema, SCHEMA_FILE } from './package/schema.ts';
import { executablePath, TARGETS, type Target } from './package/targets.ts';
import { ROOT } from './root.ts';

const [folder, platforms] = [join(ROOT, 'dist', 'release'), join(ROOT, 'dist', 'platforms')];
for (const each of [folder, platforms]) {
  await rm(each, { recursive: true, force: true });
  await mkdir(each, { recursive: true });
}

const packages = await bundledPackages('bin/executable.ts');
const licenses = await executableLicenses(packages);
const archives = [];
for (const target of TARGETS) {
  const program = await buildExecutable(target);
  const path = await writeArchive(target, program, licenses, folder);
  const platform = await packPlatform(target, program, licenses, platforms);
  for (const made of [path, platform.path])
    console.log(`${relative(ROOT, made)} ${((await stat(made)).size / 1024 ** 2).toFixed(0)} MiB`);
  archives.push({ target, path, sha256: await sha256Of(path) });
}
const npm = await packNpm(folder);
const chart = await packChart(folder);
const bill = await sbom(packages);
const executable = async (target: Target) => executablePath(target);
const image = await buildImage(folder, { executable, licenses, sbom: bill });
const krew = krewManifest(archives);
await checkListing({
  krew,
  archives: archives.map(({ path }) => path),
  chart: { yaml: await readFile(join(ROOT, 'charts', 'kubectl-nodepool', 'Chart.yaml'), 'utf8'), path: chart },
  npm,
});
await writeFile(join(folder, KREW_FILE), krew);
await writeFile(join(folder, SBOM_FILE), bill);
await writeFile(join(folder, SCHEMA_FILE), jsonSchema());
const files = [
  ...archives.map(({ path }) => path),
  npm.path,
  chart,
  image.archive,
  join(folder, KREW_FILE),
  join(folder, SBOM_FILE),
  join(folder, SCHEMA_FILE),
];
await writeFile(join(folder, 'SHA256SUMS'), await checksums(files));
console.log(
  `${[npm.path, chart, image.archive, KREW_FILE, SBOM_FILE, SCHEMA_FILE].map(path => basename(path)).join(', ')}, SHA256SUMS`,
);
