/** Minimal requests, of which the floors and the load consist. */
import type { ClientRequest } from 'node:http';
import { type Agent, request } from 'node:https';

/** Metadata only: the server's cheapest representation of an object. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** One list of all nodes in protobuf; the response is discarded. */
export function bareList(agent: Agent, server: string): Promise<void> {
  const headers = { accept: 'application/vnd.kubernetes.protobuf', 'user-agent': 'floor/1.0' };
  return answered(request(new URL('/api/v1/nodes', server), { agent, headers }), undefined);
}

/** One merge patch of a node; the response is discarded. */
export function barePatch(
  agent: Agent,
  server: string,
  node: string,
  patch: unknown,
  userAgent: string,
): Promise<void> {
  const body = JSON.stringify(patch);
  const headers = {
    accept: METADATA_ONLY,
    'content-type': 'application/merge-patch+json',
    'content-length': Buffer.byteLength(body),
    'user-agent': userAgent,
  };
  return answered(request(new URL(`/api/v1/nodes/${node}`, server), { method: 'PATCH', agent, headers }), body);
}

function answered(outgoing: ClientRequest, body: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.on('response', response => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
