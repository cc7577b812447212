/** Packs the packages for npm. */
import { chmod, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extract } from 'tar';
import { ROOT } from '../root.ts';
import { LICENSES_FILE } from './licenses.ts';
import { mustRun } from './must-run.ts';
import { mainManifest, platformManifest, platformPackage, platformProgram } from './npm-manifest.ts';
import { TARGETS, type Target } from './targets.ts';

export interface Packed {
  /** The tarball. */
  path: string;
  /** The packed files, sorted. */
  files: string[];
}

/** The main package: what `npm pack` packs here, after package.json's prepack has built the bundle, and the launchers. */
export function packNpm(folder: string, targets: readonly Target[] = TARGETS): Promise<Packed> {
  return packed(folder, async into => {
    const { path } = await npmPack('.', into);
    await extract({ file: path, cwd: into, strip: 1 });
    await rm(path);
    await cp(join(ROOT, 'bin', 'launcher'), join(into, 'bin', 'launcher'), { recursive: true });
    const manifest = mainManifest(targets);
    await writeFile(join(into, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    return Object.values(manifest.bin);
  });
}

/**
 * The package of the platform.
 * @param program path of the executable
 * @param licenses the text of THIRD-PARTY-LICENSES
 */
export function packPlatform(target: Target, program: string, licenses: string, folder: string): Promise<Packed> {
  return packed(folder, async into => {
    const manifest = platformManifest(target);
    await mkdir(join(into, 'bin'));
    await cp(program, join(into, platformProgram(target)));
    await cp(join(ROOT, 'LICENSE'), join(into, 'LICENSE'));
    await writeFile(join(into, LICENSES_FILE), licenses);
    await writeFile(join(into, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    const text = `The executable of [kubectl-nodepool](${manifest.homepage}), which installs this package where it belongs.`;
    await writeFile(join(into, 'README.md'), `# ${platformPackage(target)}\n\n${text}\n`);
    return [platformProgram(target)];
  });
}

/**
 * Creates the tarball of a package in `folder`.
 * @param what a folder, or NAME@VERSION of the registry
 */
export async function npmPack(what: string, folder: string): Promise<Packed> {
  const said = await mustRun('npm', ['pack', what, '--json', '--pack-destination', folder], { cwd: ROOT });
  // The output of prepack comes first.
  const [packed] = JSON.parse(said.slice(said.indexOf('[\n'))) as { filename: string; files: { path: string }[] }[];
  if (packed === undefined) throw new Error(`npm pack ${what} made no file`);
  return { path: join(folder, packed.filename), files: packed.files.map(({ path }) => path).sort() };
}

/** @param fill writes the files of the package into a folder, and returns those that are programs */
async function packed(folder: string, fill: (into: string) => Promise<readonly string[]>): Promise<Packed> {
  const work = await mkdtemp(join(tmpdir(), 'nodepool-npm-'));
  try {
    const programs = await fill(work);
    // npm packs the modes of the files, which depend on the umask.
    for (const entry of await readdir(work, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile()) await chmod(path, programs.includes(path.slice(work.length + 1)) ? 0o755 : 0o644);
    }
    return await npmPack(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
