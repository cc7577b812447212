/** Runs a command that keeps printing, and waits for its output. */
import { spawn } from 'node:child_process';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { eventually } from './watching.ts';

export interface Following {
  stdout(): string;
  stderr(): string;
  /** The lines of stdout so far. */
  lines(): string[];
  /** Waits until stdout has so many lines. */
  has(lines: number): Promise<void>;
  /** Sends the signal, by default SIGINT, and resolves with the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts a command that does not end by itself, against the cluster. It ends with the test. */
export function start(
  t: { after(fn: () => unknown): void },
  { kubeconfig }: Pick<ControlPlane, 'kubeconfig'>,
  [program, ...args]: readonly [string, ...string[]],
): Following {
  const env = { ...process.env, KUBECONFIG: kubeconfig, NO_COLOR: '1' };
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // Ended by SIGINT, which a shell reports as 130.
  const closed = new Promise<number | null>(resolve =>
    child.once('close', (code, signal) => resolve(signal === 'SIGINT' ? 130 : code)),
  );
  t.after(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  const lines = () => stdout.split('\n').slice(0, -1);
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    lines,
    has: count => eventually(`${count} lines`, () => lines().length >= count),
    end(signal = 'SIGINT') {
      child.kill(signal);
      return closed;
    },
  };
}
