/** Builders for domain tests, so that a test states only the relevant fields. */
import { formatRecord, parseRecord } from '../../../src/nodepool/plan/record.ts';
import type { PoolObservation } from '../../../src/nodepool/status/status.ts';
import {
  API_VERSION,
  type Node,
  type NodePool,
  type NodePoolSpec,
  type RuntimeClass,
  type Taint,
} from '../../../src/nodepool/types.ts';

/** Of a pool without members, problems and writes. */
export const EMPTY_OBSERVATION: PoolObservation = {
  members: [],
  specErrors: [],
  conflicts: [],
  differing: [],
  failures: [],
  podCount: undefined,
};

export function aNode(node: Partial<Node> = {}): Node {
  return {
    name: 'n1',
    uid: 'uid-n1',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: {},
    taints: [],
    ready: true,
    unschedulable: false,
    allocatable: {},
    ...node,
  };
}

export function aPool(
  spec: NodePoolSpec = {},
  pool: Partial<NodePool['metadata']> & Pick<NodePool, 'status'> = {},
): NodePool {
  const { status, ...metadata } = pool;
  return {
    apiVersion: API_VERSION,
    kind: 'NodePool',
    metadata: {
      name: 'worker',
      uid: 'uid-worker',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

/** The RuntimeClass of a pool, which owns it. */
export function aRuntimeClass(pool: string, uid: string, more: Partial<RuntimeClass> = {}): RuntimeClass {
  const owner = { apiVersion: API_VERSION, kind: 'NodePool', name: pool, uid, controller: true };
  return { metadata: { name: `node-pool-${pool}`, ownerReferences: [owner] }, handler: 'h', ...more };
}

export function taint(text: string): Taint {
  const [, key = '', value, effect] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(text) ?? [];
  return { key, ...(value ? { value } : {}), effect: effect as Taint['effect'] };
}

/** A record as in the annotation; canonical, so that a plan that keeps it writes nothing. */
export function recordOf(json: object): string {
  const record = parseRecord(JSON.stringify(json));
  if (record === undefined) throw new Error('not a record');
  return formatRecord(record);
}
