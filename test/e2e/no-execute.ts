/** A pool `web` with `noExecute: Drain`, without kubelets and controllers. */

import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { cli } from '../cluster/harness.ts';
import type { PodSpec, Pods } from './draining.ts';
import { role, type TestEnv, taintsOf } from './test-env.ts';

export const WEB = { app: 'web' };
export const TAINT = { key: 'dedicated', value: 'x', effect: 'NoExecute' as const };
export const SPEC: NodePoolSpec = { noExecute: 'Drain', taints: [TAINT] };
export const STAND_IN = 'dedicated=x:NoSchedule';
export const DONE = 'dedicated=x:NoExecute';
export const HELD = 'waits for PodDisruptionBudget default/web: needs 2 healthy pods and has 2 currently';

/** @param pods of poolsWithPods() */
export function nodesToDrain(testEnv: TestEnv, pods: Pods) {
  const audit = () => readAudit(testEnv.cluster());
  return {
    nodes: (...names: string[]) => testEnv.nodes(...names.map(name => ({ name, labels: role('web') }))),
    taints: async (...names: string[]) =>
      Promise.all(names.map(async name => taintsOf(await testEnv.node(name)).join())),
    /** Without a kubelet, only such pods are gone when they are evicted. */
    pod: (name: string, node: string, more: Partial<PodSpec> = {}) =>
      pods.pod({ name, node, graceSeconds: 0, ...more }),
    reconcile: (...args: string[]) => cli(testEnv.cluster(), ['reconcile', 'web', '--yes', ...args]),
    audited: async () => (await audit()).length,
    /** Those that were asked for since, dry runs excluded. */
    evictions: async (since: number) =>
      (await audit())
        .slice(since)
        .filter(({ resource, uri }) => resource === 'pods/eviction' && !uri.includes('dryRun')),
  };
}
