import { isDeepStrictEqual } from 'node:util';
import type { V1CustomResourceDefinition } from '@kubernetes/client-node';
import { type Clock, sleep } from '../../controller/clock.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Api } from '../api/api.ts';
import { groupsServing } from '../api/discovery.ts';
import { CRDS, NODE_POOLS, qualifiedName } from '../api/resource.ts';
import type { Wire } from '../wire.ts';

type WireCrd = Wire<V1CustomResourceDefinition>;

const NAME = qualifiedName(NODE_POOLS);
const POLL_MS = 50;

export function crdPort(api: Api, clock: Clock): CrdPort {
  const read = () => api.get<WireCrd>(CRDS, NAME);
  return {
    get: () => api.get<Record<string, unknown>>(CRDS, NAME),
    async otherGroups() {
      return (await groupsServing(api, NODE_POOLS.plural)).filter(group => group !== NODE_POOLS.group);
    },
    async apply(crd) {
      const before = await read();
      const write = await api.apply<WireCrd>(CRDS, NAME, crd);
      if (write.kind !== 'written') {
        throw new NodepoolError('cluster', `CRD ${NAME} changed during the apply`, 'run the command again');
      }
      if (before === undefined || write.created) return 'created';
      return isSame(before, write.object) ? 'unchanged' : 'configured';
    },
    async waitUntilEstablished(timeoutMs) {
      const started = clock.now();
      for (;;) {
        const state = await establishing(api, await read());
        if (state === 'established') return;
        if (clock.now() - started >= timeoutMs) {
          throw new NodepoolError(
            'cluster',
            `CRD ${NAME} is not established after ${timeoutMs / 1000} s: ${state}`,
            `find the cause: kubectl describe crd ${NAME}`,
          );
        }
        await sleep(clock, POLL_MS);
      }
    },
    async delete({ metadata }: WireCrd) {
      const uid = metadata?.uid;
      const result = await api.delete(CRDS, { name: NAME, ...(uid === undefined ? {} : { uid }) });
      if (result === 'conflict') {
        throw new NodepoolError('cluster', `CRD ${NAME} was deleted and recreated meanwhile`, 'run the command again');
      }
      return result === 'gone' ? 'gone' : 'deleted';
    },
    async waitUntilGone(timeoutMs, signal) {
      const started = clock.now();
      while (!signal?.aborted && (await read()) !== undefined) {
        if (clock.now() - started >= timeoutMs) {
          throw new NodepoolError(
            'cluster',
            `CRD ${NAME} still exists after ${timeoutMs / 1000} s`,
            'check for pools with a finalizer: kubectl nodepool get',
          );
        }
        await sleep(clock, POLL_MS);
      }
    },
  };
}

/** `established`, or what is missing. Throws if another CRD has the names. */
async function establishing(api: Api, crd: WireCrd | undefined): Promise<string> {
  const conditions = crd?.status?.conditions ?? [];
  const names = conditions.find(({ type }) => type === 'NamesAccepted');
  if (names?.status === 'False') {
    throw new NodepoolError(
      'cluster',
      `the names of CRD ${NAME} are in use: ${names.message ?? names.reason}`,
      'delete the other CRD, or rename its resource',
    );
  }
  const established = conditions.find(({ type }) => type === 'Established');
  if (names?.status !== 'True' || established?.status !== 'True') {
    return established?.message ?? 'its conditions are not set';
  }
  return (await api.isServed(NODE_POOLS)) ? 'established' : 'the server does not serve nodepools yet';
}

/** Also compares the contents: a dry run may keep the resourceVersion of a changed object. */
function isSame(before: WireCrd, after: WireCrd): boolean {
  return (
    before.metadata?.resourceVersion === after.metadata?.resourceVersion &&
    isDeepStrictEqual(before.spec, after.spec) &&
    isDeepStrictEqual(before.metadata?.labels, after.metadata?.labels) &&
    isDeepStrictEqual(before.metadata?.annotations, after.metadata?.annotations)
  );
}

export interface CrdPort {
  /** The installed CRD, raw, or undefined. */
  get(): Promise<Record<string, unknown> | undefined>;
  /** The other API groups that serve nodepools, such as karpenter.sh: kubectl may choose one of them. */
  otherGroups(): Promise<string[]>;
  /** Creates or updates the CRD: server-side apply, field manager kubectl-nodepool. */
  apply(crd: Record<string, unknown>): Promise<'created' | 'configured' | 'unchanged'>;
  /** Resolves when the CRD is Established and the first list succeeds; throws after the timeout. */
  waitUntilEstablished(timeoutMs: number): Promise<void>;
  /** Guarded by the UID of `crd`; throws NodepoolError if the CRD was recreated since. */
  delete(crd: Record<string, unknown>): Promise<'deleted' | 'gone'>;
  /** Resolves when the CRD is gone, or the signal is aborted; throws after the timeout. */
  waitUntilGone(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}
