/** Clients with some methods replaced, for tests that answer themselves. */
import type { ClusterPort } from '../src/reconciler/ports.ts';

export interface Overrides {
  nodes?: Partial<ClusterPort['nodes']>;
  pools?: Partial<ClusterPort['pools']>;
  runtimeClasses?: Partial<ClusterPort['runtimeClasses']>;
  createEvent?: ClusterPort['createEvent'];
}

export function override(cluster: ClusterPort, { nodes, pools, runtimeClasses, ...rest }: Overrides): ClusterPort {
  return {
    ...cluster,
    ...rest,
    nodes: { ...cluster.nodes, ...nodes },
    pools: { ...cluster.pools, ...pools },
    runtimeClasses: { ...cluster.runtimeClasses, ...runtimeClasses },
  };
}
