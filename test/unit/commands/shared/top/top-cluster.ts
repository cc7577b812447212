/** Pools, nodes, pod requests and node usage as the ports return them, for `top` and its output. */
import { type TopDeps, type TopOptions, type TopResult, top } from '../../../../../src/commands/shared/top/top.ts';
import { systemClock } from '../../../../../src/controller/clock.ts';
import type { NodeUsage, PodLoad, PodUsage } from '../../../../../src/kube/resources/pods.ts';
import { parseQuantity, type Quantity } from '../../../../../src/nodepool/quantity/quantity.ts';
import type { NodeLoad } from '../../../../../src/nodepool/quantity/resource-usage.ts';
import type { Node, NodePool, ResourceList } from '../../../../../src/nodepool/types.ts';
import { aNode, aPool } from '../../../nodepool/fixtures.ts';

export interface TopCluster {
  pools: NodePool[];
  nodes: Node[];
  demand: Record<string, NodeLoad>;
  usage: NodeUsage;
  pods?: PodLoad[];
  podUsage?: PodUsage;
}

export function demandOf(pods: number, requests: ResourceList, limits: ResourceList = {}): NodeLoad {
  const amounts = (list: ResourceList) =>
    new Map(Object.entries(list).map(([name, text]): [string, Quantity] => [name, parseQuantity(text)]));
  return { pods, requests: amounts(requests), limits: amounts(limits) };
}

const of = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
const small = { cpu: '4', memory: '3064520Ki', pods: '110' };
const big = { cpu: '15820m', memory: '64Gi', pods: '110', 'nvidia.com/gpu': '4', 'hugepages-1Gi': '0' };

/** Two pools with nodes of every state, one without nodes, and a node of no pool. */
export function topCluster(more: Partial<TopCluster> = {}): TopCluster {
  return {
    pools: ['worker', 'gpu', 'empty'].map(name => aPool({}, { name, uid: name, labels: { team: name } })),
    nodes: [
      aNode({ name: 'w2', labels: of('worker'), allocatable: small }),
      aNode({ name: 'w1', labels: of('worker'), allocatable: small }),
      aNode({ name: 'w3', labels: of('worker'), allocatable: small, unschedulable: true }),
      aNode({ name: 'g1', labels: of('gpu'), allocatable: big }),
      aNode({ name: 'g2', labels: of('gpu'), allocatable: big, ready: false }),
      aNode({ name: 'cp', allocatable: small }),
    ],
    demand: {
      w1: demandOf(12, { cpu: '3900m', memory: '1Gi' }, { cpu: '6', memory: '2Gi' }),
      // More than allocatable: the node was resized under its pods.
      w2: demandOf(3, { cpu: '5', memory: '100Mi' }),
      w3: demandOf(1, { cpu: '1' }),
      g1: demandOf(4, { cpu: '8', memory: '60Gi', 'nvidia.com/gpu': '3' }, { 'nvidia.com/gpu': '3' }),
      gone: demandOf(1, { cpu: '1000' }),
    },
    usage: { kind: 'absent' },
    ...more,
  };
}

export function depsOf({ pools, nodes, demand, usage, pods = [], podUsage }: TopCluster): TopDeps {
  return {
    cluster: {
      pools: { listCoerced: async () => pools },
      nodes: { list: async () => nodes, serverTime: () => new Date() },
    },
    pods: { demand: async () => ({ byNode: new Map(Object.entries(demand)), problems: [], pods }) },
    nodeUsage: async () => usage,
    podUsage: async () => podUsage ?? { kind: 'absent' },
    clock: systemClock,
  };
}

/** `top` without a flag. */
export const PLAIN: TopOptions = {
  names: [],
  selector: undefined,
  pods: true,
  nodes: false,
  eachPod: false,
  resources: 'usual',
  sortBy: 'name',
};

export function topOf(cluster: TopCluster, options: Partial<TopOptions> = {}): Promise<TopResult> {
  return top({ ...PLAIN, ...options }, depsOf(cluster));
}
