/** Runs `npm run demo`. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { cacheFolder } from '../cluster/binaries.ts';
import { type RunResult, run } from '../cluster/run.ts';
import { eventually } from './watching.ts';

const SETUP = join(ROOT, 'scripts', 'setup.mjs');
const MAX_MS = 240_000;

/** Runs it with its own home and TMPDIR; returns the files it left there. */
export async function demo(
  t: TestContext,
  args: string[] = [],
  more: NodeJS.ProcessEnv = {},
): Promise<RunResult & { left: string[] }> {
  const { env, left } = await surroundings(t);
  const options = { env: { ...env, ...more }, timeoutMs: MAX_MS };
  const result = await run(process.execPath, [SETUP, 'scripts/demo.ts', ...args], options);
  return { ...result, left: left() };
}

export interface RunningDemo {
  /** Both streams so far. */
  shown(): string;
  /** Ends it as Ctrl-C does; resolves with its exit code and the files that it left. */
  interrupt(): Promise<{ code: number | null; left: string[] }>;
}

/** Starts a demo that does not end by itself. Resolves when it has shown the text. */
export async function startDemo(t: TestContext, args: string[], text: string): Promise<RunningDemo> {
  const { env, left } = await surroundings(t);
  const child = spawn(process.execPath, [SETUP, 'scripts/demo.ts', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let shown = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => {
      shown += more;
    });
  const exit = new Promise<number | null>(resolve => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGTERM');
    await exit;
  });
  await eventually(`it shows ${text}`, () => shown.includes(text) || child.exitCode !== null, MAX_MS);
  assert.equal(child.exitCode, null, shown.slice(-2000));
  return {
    shown: () => shown,
    async interrupt() {
      child.kill('SIGINT');
      return { code: await exit, left: left() };
    },
  };
}

async function surroundings(t: TestContext): Promise<{ env: NodeJS.ProcessEnv; left(): string[] }> {
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
  };
  // Node's compile cache stays for the next run of the bundle.
  const isKept = (file: string) => ['tmp', 'node-compile-cache'].includes(file);
  return { env, left: () => [...readdirSync(folder), ...readdirSync(home)].filter(file => !isKept(file)) };
}
