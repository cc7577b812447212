/** Runs a controller of examples/ as a process, with its manifests applied. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { kubectl } from '../cluster/harness.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url);

export interface Example {
  child: ChildProcess;
  /** What it has written to stderr. */
  log(): string;
  /** Sends SIGINT; resolves with the exit code. */
  end(): Promise<number | null>;
}

export function pathIn(name: string, file: string): string {
  return fileURLToPath(new URL(`${name}/${file}`, EXAMPLES));
}

/** Starts it; it ends with the test at the latest. */
export function startExample(
  t: { after(fn: () => unknown): void },
  name: string,
  kubeconfig: string,
  ...flags: string[]
): Example {
  const child = spawn(process.execPath, [pathIn(name, 'main.ts'), ...flags], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    log += text;
  });
  const exit = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return {
    child,
    log: () => log,
    async end() {
      child.kill('SIGINT');
      const [code]: (number | null)[] = await exit;
      return code ?? null;
    },
  };
}

/** Runs kubectl, which must succeed; returns its output. */
export async function kubectlOk(cluster: ControlPlane, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl(cluster, args);
  assert.equal(code, 0, stderr);
  return stdout;
}
