/** krew with its own root folder. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../cluster/binaries.ts';
import { type RunResult, run } from '../cluster/run.ts';

export const KREW_BINARIES = ['krew', 'validate-krew-manifest'] as const;

export interface Krew {
  /** What its users add to their PATH. */
  bin: string;
  root: string;
  run(args: readonly string[], env?: Record<string, string>): Promise<RunResult>;
}

/** @param root is created, and holds all files of krew */
export async function krewIn(root: string): Promise<Krew> {
  const { krew } = await ensureBinaries(['krew']);
  const bin = join(root, 'bin');
  // An index without plugins: krew uninstalls nothing where there is no index at all.
  await mkdir(join(root, 'index', 'default', '.git'), { recursive: true });
  const base = { PATH: bin, HOME: root, KREW_ROOT: root, KREW_NO_UPGRADE_CHECK: '1', TMPDIR: process.env.TMPDIR };
  return { bin, root, run: (args, env) => run(krew, args, { env: { ...base, ...env } }) };
}

/** krew's own check of a manifest, without the downloads. */
export async function validateManifest(path: string): Promise<RunResult> {
  const { 'validate-krew-manifest': validate } = await ensureBinaries(['validate-krew-manifest']);
  return run(validate, ['-skip-install', '-manifest', path]);
}
