/** The cluster of a benchmark: N realistic nodes in M pools, selected by an existing label. */
import { API_VERSION, type NodePool } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { createNodes } from '../cluster/nodes.ts';

/** The label that the pools select by. */
export const POOL_LABEL = 'bench.example.com/pool';

export function nodeName(index: number): string {
  return `node-${String(index).padStart(6, '0')}`;
}

/** Typical pools: three labels, a taint and a handler each. */
export function benchPools(count: number): NodePool[] {
  return Array.from({ length: count }, (_, index): NodePool => {
    const name = `pool-${index}`;
    return {
      apiVersion: API_VERSION,
      kind: 'NodePool',
      metadata: { name },
      spec: {
        nodeSelector: { [POOL_LABEL]: name },
        labels: { 'example.com/team': `team-${index % 7}`, 'example.com/tier': 'gold', 'example.com/pool': name },
        taints: [{ key: 'dedicated', value: name, effect: 'NoSchedule' }],
        handler: 'runc',
      },
    };
  });
}

/** @param from the number of existing nodes */
export async function createBenchNodes(cluster: ControlPlane, nodes: number, pools: number, from = 0): Promise<void> {
  const specs = Array.from({ length: nodes - from }, (_, index) => {
    return { name: nodeName(from + index), labels: { [POOL_LABEL]: `pool-${(from + index) % pools}` } };
  });
  await createNodes(cluster, specs);
}
