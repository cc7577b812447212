/** Runs `npm run demo`. */
import { mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { cacheFolder } from '../cluster/binaries.ts';
import { type RunResult, run } from '../cluster/run.ts';

const SETUP = join(ROOT, 'scripts', 'setup.mjs');
const MAX_MS = 240_000;

/** Runs it with its own home and TMPDIR; returns the files it left there. */
export async function demo(
  t: TestContext,
  args: string[] = [],
  more: NodeJS.ProcessEnv = {},
): Promise<RunResult & { left: string[] }> {
  const home = await mkdtemp(join(tmpdir(), 'nodepool-demo-'));
  t.after(() => rm(home, { recursive: true }));
  const folder = join(home, 'tmp');
  mkdirSync(folder);
  const env = {
    ...process.env,
    HOME: home,
    TMPDIR: folder,
    XDG_CACHE_HOME: dirname(cacheFolder(process.env)),
    NO_COLOR: '1',
    ...more,
  };
  const result = await run(process.execPath, [SETUP, 'scripts/demo.ts', ...args], { env, timeoutMs: MAX_MS });
  // Node's compile cache stays for the next run of the bundle.
  const left = [...readdirSync(folder), ...readdirSync(home)].filter(
    file => !['tmp', 'node-compile-cache'].includes(file),
  );
  return { ...result, left };
}
