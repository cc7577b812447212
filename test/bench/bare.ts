/** Minimal requests, of which the floors and the load consist. */
import { type Agent, request } from 'node:https';

/** Metadata only: the server's cheapest representation of an object. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

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
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(`/api/v1/nodes/${node}`, server),
      { method: 'PATCH', agent, headers },
      response => {
        response.resume();
        response.on('error', reject);
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`)),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
