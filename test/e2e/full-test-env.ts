/** A test environment that schedules and runs pods: with kube-controller-manager, kube-scheduler, and kwok as the kubelets. */

import { after, before } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../cluster/controllers.ts';
import type { ClusterOptions } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { type TestEnv, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

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

/** Call it while the nodes are there: on those of the next test, the pods would run again. */
export async function deleteWorkloads(cluster: ControlPlane): Promise<void> {
  const api = raw(cluster);
  for (const kind of ['deployments', 'daemonsets'])
    await api.expect('DELETE', `/apis/apps/v1/namespaces/default/${kind}?propagationPolicy=Background`);
  await api.expect('DELETE', '/apis/policy/v1/namespaces/default/poddisruptionbudgets');
  await eventually(
    'no pods are left',
    async () => ((await api.expect('GET', '/api/v1/pods')) as { items: unknown[] }).items.length === 0,
    60_000,
  );
}
