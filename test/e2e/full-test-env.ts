/** A test environment that schedules and runs pods: with kube-controller-manager, kube-scheduler, and kwok as the kubelets. */

import { after, before } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../cluster/controllers.ts';
import type { ClusterOptions } from '../cluster/harness.ts';
import { type TestEnv, useTestEnv } from './test-env.ts';

const START_MS = 900_000;

/** Call it in a suite: root hooks do not wait for each other. */
export function useFullTestEnv(options: ClusterOptions = {}): TestEnv {
  let controllers: Controllers | undefined;
  // Hooks run in the order in which they are written: this one before the control plane's end.
  after(async () => controllers?.stop());
  const testEnv = useTestEnv({ own: true, ...options });
  before(
    async () => {
      await ensureBinaries(CONTROLLER_BINARIES);
      // After the CRD: the garbage collector discovers new kinds every 30 s only.
      controllers = await startControllers(testEnv.cluster());
    },
    { timeout: START_MS },
  );
  return testEnv;
}
