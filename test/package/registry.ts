/** A registry of images on loopback, and oras, which copies images into it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ensureBinaries } from '../cluster/binaries.ts';
import { type RunResult, run } from '../cluster/run.ts';

export const REGISTRY_BINARIES = ['oras', 'registry'] as const;

export interface Registry {
  /** HOST:PORT. */
  address: string;
  oras(...args: string[]): Promise<RunResult>;
}

/** The registry ends with the test. */
export async function startRegistry(t: { after(end: () => unknown): void }): Promise<Registry> {
  const { oras, registry } = await ensureBinaries(REGISTRY_BINARIES);
  const child = spawn(registry, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.stdin.end());
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { address: line.trim(), oras: (...args) => run(oras, args) };
}
