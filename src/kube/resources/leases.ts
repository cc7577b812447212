/** coordination.k8s.io/v1 Leases for leader election (controller/leader-election.ts). */
import type { V1Lease } from '@kubernetes/client-node';
import type { Lease, LeasePort, LeaseRecord, LeaseWrite } from '../../controller/leader-election.ts';
import { type Api, MERGE_PATCH, type WriteRequest } from '../api/api.ts';
import { pathOf, type Resource } from '../api/resource.ts';
import { isMissingObject } from '../api/status.ts';
import type { ApiResponse } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import type { Wire } from '../wire.ts';

/** Half of the renew deadline: a second attempt on another connection is still in time. */
const URGENTLY = { urgent: true, deadlineMs: 5_000 };

type WireLease = Wire<V1Lease>;

export function leasePort(api: Api, transport: Transport, namespace: string, name: string): LeasePort {
  const resource: Resource = {
    group: 'coordination.k8s.io',
    version: 'v1',
    plural: 'leases',
    kind: 'Lease',
    namespace,
  };
  const read = async (verb: string, answer: ApiResponse): Promise<Lease> => {
    if (answer.status < 300) return toLease(api.object(resource, answer));
    throw api.refusal({ verb, resource, name }, answer);
  };
  /** PATCH with the resourceVersion instead of PUT: it keeps fields of other managers. */
  const write = async (method: 'POST' | 'PATCH', body: WireLease): Promise<LeaseWrite> => {
    const request: WriteRequest =
      method === 'POST' ? { method, body } : { method, name, body, contentType: MERGE_PATCH };
    const answer = await api.write(resource, request, URGENTLY);
    // A deleted lease counts as changed by another process.
    if (answer.status === 409 || (method === 'PATCH' && isMissingObject(answer, resource, name)))
      return { kind: 'conflict' };
    return { kind: 'written', lease: await read(method === 'POST' ? 'create' : 'patch', answer) };
  };
  return {
    async get() {
      const answer = await transport.request({ path: pathOf(resource, name), ...URGENTLY });
      return isMissingObject(answer, resource, name) ? undefined : read('get', answer);
    },
    create: (record: LeaseRecord) =>
      write('POST', {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace },
        spec: toSpec(record),
      }),
    update: (record: LeaseRecord, resourceVersion: string) =>
      write('PATCH', { metadata: { resourceVersion }, spec: toSpec(record) }),
  };
}

function toSpec({ holder, durationSeconds, acquired, renewed, transitions }: LeaseRecord) {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    acquireTime: microTime(acquired),
    renewTime: microTime(renewed),
    leaseTransitions: transitions,
  };
}

function toLease({ metadata, spec = {} }: WireLease): Lease {
  const record: LeaseRecord = {
    holder: spec.holderIdentity ?? '',
    durationSeconds: spec.leaseDurationSeconds ?? 0,
    acquired: new Date(String(spec.acquireTime ?? 0)),
    renewed: new Date(String(spec.renewTime ?? 0)),
    transitions: spec.leaseTransitions ?? 0,
  };
  return { record, resourceVersion: metadata?.resourceVersion ?? '' };
}

/** A MicroTime must have six decimal digits of a second. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
