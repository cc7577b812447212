/** A server with the RuntimeClass of one pool; the test sets its responses. */
import assert from 'node:assert/strict';
import type { ClusterPort } from '../../../src/kube/cluster.ts';
import { withAnnotation } from '../../../src/nodepool/spec/annotations.ts';
import type { NodePool, RuntimeClass } from '../../../src/nodepool/types.ts';
import { WriteError } from '../../../src/reconciler/outcome.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { applyRuntimeClass, forgetPreserved } from '../../../src/reconciler/write/runtime-class-writer.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aPool } from '../nodepool/fixtures.ts';
import { reconcilerOptions } from './reconciler-options.ts';

export const NAME = 'node-pool-worker';
export const pool = aPool({ handler: 'runc' });
export const role = { 'node-role.kubernetes.io/worker': '' };

/** The pool's own, as the server has it. */
export function owned(
  more: Partial<RuntimeClass> = {},
  metadata: Partial<RuntimeClass['metadata']> = {},
): RuntimeClass {
  const owner = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'worker', uid: 'uid-worker' };
  return {
    metadata: {
      name: NAME,
      uid: 'uid-1',
      resourceVersion: '1',
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
      ...metadata,
    },
    handler: 'runc',
    scheduling: { nodeSelector: role, tolerations: [] },
    ...more,
  };
}
export const foreign = owned({}, { ownerReferences: [] });

/** @param known what the state has; @param live what the server has */
export function begin(known?: RuntimeClass, live = known) {
  const clock = new FakeClock();
  const [requests, state] = [[] as string[], new ClusterState([pool], [], known ? [known] : [])];
  const server = {
    live,
    version: 1,
    requests,
    /** Alters it, as an admission policy does. */
    admit: (runtimeClass: RuntimeClass) => runtimeClass,
    /** Alters those of the pool, as an admission policy does. */
    keepAnnotations: (annotations: Record<string, string>) => annotations,
    before: (_request: string) => {},
    stored(runtimeClass: RuntimeClass, uid: string): RuntimeClass {
      server.version++;
      const metadata = { ...runtimeClass.metadata, uid, resourceVersion: String(server.version) };
      server.live = server.admit({ ...runtimeClass, metadata });
      return server.live;
    },
  };
  const request = (what: string) => {
    requests.push(what);
    server.before(what);
  };
  const isLive = ({ metadata }: RuntimeClass) =>
    server.live?.metadata.uid === metadata.uid && server.live?.metadata.resourceVersion === metadata.resourceVersion;
  const cluster = {
    pools: {
      getCoerced: async () => pool,
      annotate: async (current: NodePool, key: string, value: string | undefined) => {
        request('annotate');
        const annotations = server.keepAnnotations(withAnnotation(current.metadata.annotations, key, value));
        return { kind: 'written', pool: { ...current, metadata: { ...current.metadata, annotations } } };
      },
    },
    runtimeClasses: {
      get: async () => {
        request('get');
        return server.live;
      },
      create: async (desired: RuntimeClass) => {
        request('create');
        if (server.live !== undefined) return { kind: 'exists' };
        return { kind: 'created', runtimeClass: server.stored(desired, `uid-${server.version + 1}`) };
      },
      patch: async (current: RuntimeClass, scheduling: RuntimeClass['scheduling']) => {
        request('patch');
        if (server.live === undefined) return { kind: 'gone' };
        if (!isLive(current)) return { kind: 'conflict' };
        return {
          kind: 'written',
          runtimeClass: server.stored(
            { ...server.live, ...(scheduling && { scheduling }) },
            current.metadata.uid ?? '',
          ),
        };
      },
      delete: async (current: RuntimeClass) => {
        request('delete');
        if (server.live === undefined) return 'gone';
        if (server.live.metadata.uid !== current.metadata.uid) return 'conflict';
        if ((current.metadata.finalizers ?? []).length > 0) return 'marked';
        server.live = undefined;
        return 'deleted';
      },
    },
  } as unknown as ClusterPort;
  const options = reconcilerOptions(cluster, state, { clock });
  const write = (desired: NodePool = pool, isDryRun = false) =>
    applyRuntimeClass(desired, { ...options, cluster: { ...cluster, isDryRun } });
  const forget = () => forgetPreserved(pool, options);
  const refusal = async (desired?: NodePool): Promise<WriteError> => {
    const error = await write(desired).catch((reason: unknown) => reason);
    assert.ok(error instanceof WriteError);
    return error;
  };
  return { server, state, clock, write, forget, refusal };
}
