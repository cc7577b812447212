/** Realistic pools and nodes, for tests of output. */
import type { Condition, Node, NodePool } from '../../../src/nodepool/types.ts';
import { makeStyle } from '../../../src/print/style.ts';

export const NOW = new Date('2026-11-21T09:00:00Z');
export const plain = makeStyle(false);
export const colored = makeStyle(true);

export function condition(type: Condition['type'], holds: boolean, reason: string, message: string): Condition {
  return { type, status: holds ? 'True' : 'False', reason, message, lastTransitionTime: '2026-11-21T08:55:00Z' };
}

/** The sample of the earlier operator, reconciled. */
export function workerPool(): NodePool {
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name: 'worker', uid: 'u1', creationTimestamp: '2026-11-19T06:00:00Z', labels: { team: 'a' } },
    spec: {
      labels: { 'node-pool': 'worker', tier: 'batch' },
      taints: [
        { key: 'node-pool', value: 'worker', effect: 'NoSchedule' },
        { key: 'dedicated', effect: 'NoExecute' },
      ],
      handler: 'gvisor',
    },
    status: {
      status: 200,
      nodeCount: 2,
      readyNodeCount: 2,
      unschedulableNodeCount: 0,
      allocatable: {
        cpu: '8',
        'ephemeral-storage': '184026512Ki',
        'hugepages-1Gi': '0',
        memory: '6129040Ki',
        pods: '220',
        'nvidia.com/gpu': '4',
      },
      conditions: [
        condition('Ready', true, 'PoolReady', '2 of 2 nodes are Ready'),
        condition('Applied', true, 'Applied', 'every member has the labels and taints of the pool'),
        condition('Conflict', false, 'NoConflict', ''),
      ],
    },
  };
}

/** Loses a node to the worker pool. */
export function gpuPool(): NodePool {
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name: 'gpu', uid: 'u2', creationTimestamp: '2026-11-21T08:00:00Z' },
    spec: { nodeSelector: { 'example.com/gpu': 'a100' } },
    status: {
      status: 409,
      nodeCount: 1,
      readyNodeCount: 1,
      unschedulableNodeCount: 1,
      allocatable: { cpu: '15820m', memory: '64Gi', pods: '110' },
      conditions: [
        condition('Ready', false, 'NodeConflict', 'see condition Conflict'),
        condition('Applied', true, 'Applied', 'every member has the labels and taints of the pool'),
        condition('Conflict', true, 'NodeConflict', 'node node-1 belongs to pool worker but also matches pool gpu'),
      ],
    },
  };
}

/** Never reconciled. */
export function freshPool(): NodePool {
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name: 'fresh', uid: 'u3', creationTimestamp: '2026-11-21T08:59:57Z' },
    spec: {},
  };
}

export function makeNode(name: string, facts: Partial<Node> = {}): Node {
  return {
    name,
    uid: name,
    resourceVersion: '1',
    creationTimestamp: '2026-11-01T09:00:00Z',
    labels: {},
    taints: [],
    ready: true,
    unschedulable: false,
    allocatable: { cpu: '4', memory: '3064520Ki', pods: '110' },
    ...facts,
  };
}
