/** The program and the image of an earlier version, built from its sources with the packages of this checkout. */
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { IMAGE_NAME } from '../../scripts/image/image.ts';
import { archiveLayout } from '../../scripts/image/layout.ts';
import { mustRun } from '../../scripts/package/must-run.ts';
import { ROOT } from '../../scripts/root.ts';

/** What the upgrade starts from: the last commit without rollouts and startup taints. After a release, its tag (docs/release.md). */
export const FORMER = '59446041b5d1bc485141cc508e4ceef4e42fbf38';

/** Not the tag of this version, which the former sources may have, too. */
export const FORMER_IMAGE = `${IMAGE_NAME}:former`;

export interface Former {
  /** The path of its `kubectl-nodepool`. */
  executable: string;
  /** Its image as an OCI archive, by the name FORMER_IMAGE. */
  archive: string;
}

/** Why it cannot be built here; undefined if it can. */
export async function formerObstacle(): Promise<string | undefined> {
  return git('cat-file', '-e', `${FORMER}^{commit}`).then(
    () => undefined,
    () => `an upgrade needs ${FORMER} in the history of this checkout: git fetch --unshallow --tags`,
  );
}

/** Builds in the folder, which exists. */
export async function buildFormer(folder: string): Promise<Former> {
  const [sources, layout, archive] = [join(folder, 'sources'), join(folder, 'layout'), join(folder, 'image.tar')];
  for (const each of [sources, layout]) await mkdir(each);
  const packed = join(folder, 'sources.tar');
  await git('archive', `--output=${packed}`, FORMER);
  await mustRun('tar', ['-xf', packed], { cwd: sources });
  await symlink(join(ROOT, 'node_modules'), join(sources, 'node_modules'));
  const program = join(sources, 'build-former.ts');
  await writeFile(program, PROGRAM);
  // Large files are written on the way, so TMPDIR is a folder that is removed even if this is interrupted.
  const TMPDIR = await mkdtemp(join(folder, 'tmp-'));
  const executable = await mustRun('env', [`TMPDIR=${TMPDIR}`, process.execPath, program, layout], { cwd: sources });
  await rename(layout);
  await archiveLayout(layout, archive);
  return { executable: executable.trim(), archive };
}

/** Runs among the former sources, which build themselves. */
const PROGRAM = `
import { writeImage } from './scripts/image/image.ts';
import { buildExecutable } from './scripts/package/executable.ts';
import { hostTarget } from './scripts/package/targets.ts';

const path = await buildExecutable(hostTarget());
await writeImage(process.argv[2], { executable: async () => path, licenses: '', sbom: '{}' }, [hostTarget()]);
console.log(path);
`;

/** The index of a layout is in no digest, so this leaves the image as it was built. */
async function rename(layout: string): Promise<void> {
  const file = join(layout, 'index.json');
  const index = JSON.parse(await readFile(file, 'utf8')) as { manifests: { annotations?: Record<string, string> }[] };
  for (const { annotations } of index.manifests)
    if (annotations?.['io.containerd.image.name'] !== undefined) annotations['io.containerd.image.name'] = FORMER_IMAGE;
  await writeFile(file, JSON.stringify(index));
}

// The checkout may belong to another user than root, who runs the tests on real nodes.
const git = (...args: string[]) => mustRun('git', ['-c', 'safe.directory=*', ...args], { cwd: ROOT });
