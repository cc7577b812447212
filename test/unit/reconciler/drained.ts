/** A node whose pool has noExecute: Drain, and the pods on it, for tests of drains by the node writer. */

import type { EvictionsClient, RemovalResult } from '../../../src/kube/cluster.ts';
import type { Budget } from '../../../src/nodepool/drain/budgets.ts';
import type { DrainPod } from '../../../src/nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { FINALIZER, type NodePoolSpec } from '../../../src/nodepool/types.ts';
import type { EvictionEvent } from '../../../src/reconciler/evict/evictor.ts';
import type { ReconcilerOptions } from '../../../src/reconciler/options.ts';
import { aNode, aPool, taint } from '../nodepool/fixtures.ts';
import { begin, role } from './node-server.ts';

export const SPEC: NodePoolSpec = { noExecute: 'Drain', taints: [taint('dedicated=x:NoExecute')] };
export const pool = (more: NodePoolSpec = {}) => aPool({ ...SPEC, ...more }, { finalizers: [FINALIZER] });
export const BUDGET: RemovalResult = {
  kind: 'budget',
  budget: 'web',
  message: 'needs 2 healthy pods and has 2 currently',
};

export const pod = (name: string, more: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'ns',
  name,
  uid: `uid-${name}`,
  phase: 'Running',
  labels: {},
  isReady: true,
  isMirror: false,
  creationTimestamp: '2026-01-01T00:00:00Z',
  hasEmptyDir: false,
  placement: { nodeSelector: {}, nodeTerms: undefined, tolerations: [] },
  ...more,
});

/** A member with pods; an accepted eviction marks the pod, and the test removes it. */
export function drained(
  pods: DrainPod[],
  more: Partial<ReconcilerOptions> = {},
  by = pool(),
  node = aNode({ labels: role('worker') }),
) {
  const events: string[] = [];
  const on = new Map(pods.map(each => [each.name, each]));
  const answers = new Map<string, RemovalResult | NodepoolError>();
  const onEviction = (event: EvictionEvent) => void events.push(`${event.kind} ${event.pod}`);
  const begun = begin(node, [by], { onEviction, ...more });
  const { server, writer, clock, state } = begun;
  const budgets: Budget[] = [];
  const client: EvictionsClient = {
    async budgets() {
      server.requests.push('budgets');
      return budgets;
    },
    async podsOn() {
      server.requests.push('list');
      return [...on.values()];
    },
    hasDaemonSet: async () => false,
    async evict(one) {
      server.requests.push(`evict ${one.name}`);
      const answer = answers.get(one.name) ?? { kind: 'accepted' };
      if (answer instanceof NodepoolError) throw answer;
      if (answer.kind === 'accepted') on.set(one.name, { ...one, deletionTimestamp: '2026-01-01T00:00:00Z' });
      return answer;
    },
  };
  Object.assign(server.port, { evictions: async () => client });
  /** Writes once, and says what was sent to the server and to pods since. */
  const write = async () => {
    server.requests.length = 0;
    await writer.write('n1');
    return [...server.requests];
  };
  const taints = () => (server.live?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  return {
    ...begun,
    evictions: client,
    calls: server.requests,
    events,
    on,
    answers,
    budgets,
    write,
    taints,
    clock,
    state,
  };
}
