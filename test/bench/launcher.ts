/**
 * Runs one program to its end and writes what it took as JSON to stdout. Bun runs this file: its spawnSync gives what
 * the kernel counted for the child (wait4), which Node's does not. A child begins with the memory of the process that it
 * was forked from in its peak, so a peak below this one's own 25 MB cannot be seen; nothing that is measured is so small.
 */
import { readFileSync } from 'node:fs';

export interface Order {
  command: readonly string[];
  env: Record<string, string>;
  /** A file for its stdin. Default: none. */
  stdin?: string;
}

export interface Took {
  /** Null when a signal ended it. */
  code: number | null;
  stderr: string;
  seconds: number;
  /** Seconds of CPU, of the user's and the system's. */
  cpu: number;
  /** Peak resident memory, in MB (of a million bytes). */
  rss: number;
}

/** The part of Bun's API that is used here. */
declare const Bun: {
  file(path: string): object;
  spawnSync(
    command: readonly string[],
    options: { env: Record<string, string>; stdin: object | 'ignore'; stdout: 'ignore'; stderr: 'pipe' },
  ): {
    exitCode: number | null;
    stderr: Uint8Array;
    /** In bytes, and in microseconds. */
    resourceUsage: { maxRSS: number; cpuTime: { total: bigint } };
  };
};

const { command, env, stdin }: Order = JSON.parse(readFileSync(0, 'utf8'));
const input = stdin === undefined ? 'ignore' : Bun.file(stdin);
const start = performance.now();
const child = Bun.spawnSync(command, { env, stdin: input, stdout: 'ignore', stderr: 'pipe' });
const took: Took = {
  seconds: (performance.now() - start) / 1000,
  code: child.exitCode,
  stderr: new TextDecoder().decode(child.stderr),
  cpu: Number(child.resourceUsage.cpuTime.total) / 1e6,
  rss: child.resourceUsage.maxRSS / 1e6,
};
process.stdout.write(JSON.stringify(took));
