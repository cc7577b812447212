/** Runs apply() on a fake server that stores the writes. */
import { type ApplyOptions, apply } from '../../../../../src/commands/shared/reconcile/apply.ts';
import { systemClock } from '../../../../../src/controller/clock.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import type { Node, NodePool, RuntimeClass } from '../../../../../src/nodepool/types.ts';
import type { Intent } from '../../../../../src/reconciler/plan/intent.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { type Overrides, override } from '../../../../override.ts';
import { role, server } from '../fake-server.ts';

/** A move of n1 from a to b, and its intent. */
export const MOVED = { pool: 'b', to: 'b', labels: () => ({ 'node-role.kubernetes.io/a': null, ...role('b') }) };
export const move: Intent = { pools: ['b'], changes: new Map([['n1', MOVED]]) };

interface More {
  options?: Partial<ApplyOptions>;
  pods?: ReadonlyMap<string, number>;
  port?: (cluster: ClusterPort) => Overrides;
  classes?: RuntimeClass[];
}

export async function applied(
  pools: NodePool[],
  nodes: Node[],
  intent: Intent,
  { options, pods, port, classes = [] }: More = {},
) {
  const { cluster, live, known, writes } = server(pools, nodes);
  const state = new ClusterState(pools, nodes, classes);
  const all: ApplyOptions = {
    cluster: override(cluster, port?.(cluster) ?? {}),
    now: () => new Date('2026-01-01T00:00:00Z'),
    clock: systemClock,
    sleep: async () => {},
    warn: () => {},
    concurrency: 4,
    ...options,
  };
  const result = await apply(state, intent, all, pods);
  return { ...result, state, live, known, writes };
}

export const names = (results: { pool: string }[]) => results.map(each => each.pool);
export const statusesIn = (writes: string[]) => writes.filter(write => write.startsWith('status '));
