/** Writes the status of a pool on a fake server where others write and delete too. */
import assert from 'node:assert/strict';
import type { ClusterPort, PoolWrite } from '../../../src/kube/cluster.ts';
import type { PoolObservation } from '../../../src/nodepool/status/status.ts';
import type { NodePool, NodePoolStatus } from '../../../src/nodepool/types.ts';
import type { NodeMove, WriteFailure } from '../../../src/reconciler/outcome.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { writeStatus } from '../../../src/reconciler/write/status-writer.ts';
import { aPool, EMPTY_OBSERVATION } from '../nodepool/fixtures.ts';
import { reconcilerOptions } from './reconciler-options.ts';

export const NOW = '2026-01-01T00:00:00Z';
export const pool = aPool({}, { resourceVersion: '10' });
export const MOVE: NodeMove = { node: 'a', from: undefined, to: 'worker', changes: [] };
export const observed = EMPTY_OBSERVATION;
export const recreated = { ...pool, metadata: { ...pool.metadata, uid: 'later', resourceVersion: '11' } };
export const going = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: NOW, resourceVersion: '11' } };

export const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'PoolReady',
  message: '',
  lastTransitionTime: 'now',
} as const;
/** A status with a field of each kind. */
export const sent: NodePoolStatus = {
  status: 200,
  nodeCount: 2,
  allocatable: { cpu: '1', 'nvidia.com/gpu': '2' },
  observedGeneration: 1,
  conditions: [ready],
};

/** A server with the pool; the test sets what happens before a request. */
export function begin(live = pool, known = pool) {
  const [requests, slept, state] = [[] as string[], [] as number[], new ClusterState([known], [], [])];
  const server = {
    live: live as NodePool | undefined,
    requests,
    before: (_request: string, _count: number): PoolWrite | undefined => undefined,
    /** Fields that the CRD does not have. */
    prune: (status: NodePoolStatus) => status,
    change(status: Partial<NodePoolStatus>, metadata: Partial<NodePool['metadata']> = {}): void {
      const before = server.live ?? assert.fail();
      const resourceVersion = String(Number(before.metadata.resourceVersion) + 1);
      server.live = {
        ...before,
        status: { status: 200, nodeCount: 0, ...before.status, ...status },
        metadata: { ...before.metadata, ...metadata, resourceVersion },
      };
    },
  };
  const cluster = {
    pools: {
      getCoerced: async () => {
        requests.push('get');
        server.before('get', requests.length);
        return server.live;
      },
      patchStatus: async (read: NodePool, status: NodePoolStatus): Promise<PoolWrite> => {
        requests.push('patch');
        const forced = server.before('patch', requests.length);
        if (forced !== undefined) return forced;
        const before = server.live;
        if (before === undefined || before.metadata.uid !== read.metadata.uid) return { kind: 'gone' };
        if (before.metadata.resourceVersion !== read.metadata.resourceVersion) return { kind: 'conflict' };
        const resourceVersion = String(Number(before.metadata.resourceVersion) + 1);
        const stored = { ...before, status: server.prune(status), metadata: { ...before.metadata, resourceVersion } };
        server.live = stored;
        return { kind: 'written', pool: stored };
      },
    },
  } as unknown as ClusterPort;
  const write = async (more: Partial<PoolObservation> = {}, moves: NodeMove[] = [], hasCaches = false) => {
    const outcome = {
      status: undefined as NodePoolStatus | undefined,
      statusWritten: false,
      lacking: [] as string[],
      moves,
      failures: [] as WriteFailure[],
    };
    const result = await writeStatus(known, { ...observed, ...more }, outcome, {
      ...reconcilerOptions(cluster, state, { hasCaches }),
      now: () => new Date(NOW),
      sleep: async ms => void slept.push(ms),
    });
    return { ...outcome, isWritten: result === 'written' };
  };
  return { server, state, slept, write };
}

/** A server whose pool has the status already. */
export async function written() {
  const { server, write } = begin();
  await write();
  const live = server.live ?? assert.fail();
  return { live, ...begin(live, live) };
}
