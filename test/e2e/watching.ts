/** Runs `reconcile --watch` as a process, and waits for what it does. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { productCommand } from '../cluster/product.ts';

export interface Watching {
  child: ChildProcess;
  /** What it has written to stderr. */
  log(): string;
  /** Sends the signal and resolves with the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Resolves once its caches have synced. It ends with the test. */
export async function startWatching(
  t: { after(fn: () => unknown): void },
  cluster: ControlPlane,
  ...flags: string[]
): Promise<Watching> {
  const [program, ...args] = productCommand();
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NO_COLOR: '1' };
  const child = spawn(program, [...args, 'reconcile', '--watch', ...flags], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', text => {
    log += text;
  });
  const exit = new Promise<number | null>(resolve => child.once('exit', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  await eventually('the caches sync', () => /caches have synced/.test(log) || child.exitCode !== null);
  assert.equal(child.exitCode, null, log);
  return {
    child,
    log: () => log,
    end(signal = 'SIGINT') {
      child.kill(signal);
      return exit;
    },
  };
}

/** Polls until `check` is true; fails after `ms` with `what`, and with what `seen` returns then, if given. */
export async function eventually(what: string, check: () => unknown, ms = 40_000, seen?: () => unknown): Promise<void> {
  const end = performance.now() + ms;
  while (!(await check())) {
    if (performance.now() >= end) {
      const found = seen === undefined ? '' : `; found ${JSON.stringify(await seen())}`;
      assert.fail(`not within ${ms / 1000} s: ${what}${found}`);
    }
    await sleep(25);
  }
}
