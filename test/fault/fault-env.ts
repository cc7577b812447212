/** The test environment with a proxy between the product and the API server, and a model of the cluster. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import type { ClusterOptions } from '../cluster/harness.ts';
import { type TestEnv, useTestEnv } from '../e2e/test-env.ts';
import { isReconcileWrite } from './asked.ts';
import { type Child, startChild } from './child.ts';
import { differences } from './expected.ts';
import { Model } from './model.ts';
import { type FaultProxy, startProxy } from './proxy.ts';

export interface Test {
  after(fn: () => unknown): void;
}

export interface FaultEnv extends TestEnv {
  cluster(): ControlPlane;
  /** An empty model; use one per test. */
  model(): Model;
  /** A proxy before the API server; it ends with the test. */
  proxy(t: Test): Promise<FaultProxy>;
}

/** Without a write for this long the product is quiet. */
const QUIET_MS = 300;
const POLL_MS = 100;

/** useTestEnv with an audit log. */
export function useFaultEnv(options: ClusterOptions = {}): FaultEnv {
  const testEnv = useTestEnv({ audit: true, ...options });
  return {
    ...testEnv,
    model: () => new Model(testEnv.cluster),
    async proxy(t) {
      const proxy = await startProxy(testEnv.cluster(), testEnv.cluster().dir);
      t.after(() => proxy.stop());
      return proxy;
    },
  };
}

/**
 * Resolves when the cluster is in the state of the model and the product has written nothing for a while.
 * Fails after `ms` with the differences.
 */
export async function converged(model: Model, proxy: FaultProxy, ms = 60_000): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    // An API server that has just started may not serve the pools yet.
    const wrong = await differences(model).catch((error: unknown) => [String(error)]);
    if (wrong.length === 0 && isQuiet(proxy)) return;
    const what = wrong.length > 0 ? wrong.slice(0, 10).join('\n') : 'it goes on writing';
    assert.ok(performance.now() < end, `not converged within ${ms / 1000} s:\n${what}`);
    await sleep(POLL_MS);
  }
}

function isQuiet({ requests }: FaultProxy): boolean {
  const last = requests.findLast(isReconcileWrite);
  return last === undefined || performance.now() - (last.answeredAt ?? last.at) > QUIET_MS;
}

export { type Child, startChild };
