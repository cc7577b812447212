/** Makes the executable of a platform: the bundle and manifests/, compiled together with Bun's runtime for it. */
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../root.ts';
import { bunOf } from './bun.ts';
import { bundle } from './bundle.ts';
import { mustRun } from './must-run.ts';
import { signAdHoc, signatureFault } from './signature.ts';
import { executablePath, hostTarget, programOf, type Target } from './targets.ts';

const FLAGS = [
  '--compile',
  '--format=esm',
  // Each verb's chunk stays a module of its own, whose bytecode is read when the verb runs.
  '--splitting',
  '--bytecode',
  // Files of the folder it happens to be started in are none of its business.
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
  '--asset=manifests',
];

/**
 * Writes dist/bin/OS-ARCH/kubectl-nodepool[.exe] and gives its path. The same sources give the same bytes, in whatever
 * folder they are: Bun sees nothing but what is copied into a folder of its own, by relative paths.
 */
export async function buildExecutable(target: Target): Promise<string> {
  const host = hostTarget();
  const path = executablePath(target);
  const work = await mkdtemp(join(tmpdir(), 'nodepool-build-'));
  // Bun sees all that is in its own folder.
  const runtimes = await mkdtemp(join(tmpdir(), 'nodepool-bun-'));
  try {
    const compiler = await bunOf(host, runtimes);
    const runtime = host === target ? compiler : await bunOf(target, runtimes);
    await bundle(['bin/executable.ts'], work);
    await cp(join(ROOT, 'manifests'), join(work, 'manifests'), { recursive: true });
    const goal = [`--target=bun-${target.bun}`, `--compile-executable-path=${runtime}`, '--outfile', programOf(target)];
    await mustRun(compiler, ['build', ...FLAGS, ...goal, 'executable.js'], { cwd: work });
    if (target.os === 'darwin') await sign(join(work, programOf(target)));
    await mkdir(dirname(path), { recursive: true });
    // A program that runs cannot be written over, but replaced.
    const ready = `${path}.${process.pid}`;
    await cp(join(work, programOf(target)), ready);
    await rename(ready, path);
  } finally {
    for (const folder of [work, runtimes]) await rm(folder, { recursive: true, force: true });
  }
  return path;
}

/** Bun 1.4.5 signs what it makes for Apple's processors, and leaves its own runtime's signature in what it makes for Intel's. */
async function sign(path: string): Promise<void> {
  const file = await readFile(path);
  if (signatureFault(file) !== undefined) await writeFile(path, signAdHoc(file));
}
