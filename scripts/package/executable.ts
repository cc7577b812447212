/** Builds the executable of a platform: the bundle and manifests/, compiled with Bun's runtime for that platform. */
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
  // Each command's chunk stays a separate module, whose bytecode is read only when the command runs.
  '--splitting',
  '--bytecode',
  // Most commands end before more compiled code would pay: bin/executable.ts has the rest.
  '--compile-jit-policy=30',
  // Does not read .env and similar files of the working directory.
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
  // With an argument of its own, whichever it is, it also starts in a deleted working directory (oven-sh/bun#40372).
  '--compile-exec-argv=--no-deprecation',
  '--asset=manifests',
];

/**
 * Writes dist/bin/OS-ARCH/kubectl-nodepool[.exe] and returns its path. Equal sources give equal bytes in any folder:
 * Bun only reads a temporary copy, by relative paths.
 */
export async function buildExecutable(target: Target): Promise<string> {
  const host = hostTarget();
  const path = executablePath(target);
  const work = await mkdtemp(join(tmpdir(), 'nodepool-build-'));
  // Bun reads everything in its folder, so the runtimes are in another one.
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
    // A running program cannot be overwritten, but it can be replaced.
    const ready = `${path}.${process.pid}`;
    await cp(join(work, programOf(target)), ready);
    await rename(ready, path);
  } finally {
    for (const folder of [work, runtimes]) await rm(folder, { recursive: true, force: true });
  }
  return path;
}

/** Bun 1.4.5 signs executables for Apple silicon, but leaves its runtime's outdated signature in those for Intel. */
async function sign(path: string): Promise<void> {
  const file = await readFile(path);
  if (signatureFault(file) !== undefined) await writeFile(path, signAdHoc(file));
}
