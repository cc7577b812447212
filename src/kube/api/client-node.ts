/**
 * Writes objects of all API groups except core through the CustomObjectsApi of @kubernetes/client-node. It makes the
 * request; Transport, as its HttpLibrary, sends it. Bodies and responses stay as they are: the typed classes would drop
 * unknown fields. Loaded at the first write: see Api.write().
 */
import {
  type Configuration,
  CustomObjectsApi,
  type RequestContext,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  setHeaderOptions,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import { defined } from '../../nodepool/json.ts';
import type { Request } from '../transport/request.ts';
import type { ApiResponse } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import type { SendOptions, WriteRequest } from './api.ts';
import { assertName, type Resource } from './resource.ts';

/** Throws as Transport.request() does, and for a name that no object can have. */
export async function writeCustomObject(
  transport: Transport,
  resource: Resource,
  write: WriteRequest,
  sending: SendOptions,
): Promise<ApiResponse> {
  // Without a name (''), client-node would delete the whole collection.
  if (write.method !== 'POST') assertName(resource.kind, write.name);
  let answer: ApiResponse | undefined;
  const httpApi = wrapHttpLibrary({
    async send(context) {
      answer = await transport.request({ ...toRequest(context), ...sending });
      return UNREAD;
    },
  });
  // A literal, because createConfiguration() would add undici to the bundle.
  const configuration: Configuration = { baseServer: SERVER, httpApi, middleware: [], authMethods: {} };
  await call(new CustomObjectsApi(configuration), resource, write);
  if (answer === undefined) throw new Error('client-node sent no request');
  return answer;
}

/** Transport prepends the address of the server to the path. */
const SERVER = new ServerConfiguration('http://server', {});
/** A dummy for client-node: Api reads the real response, and has its own error messages. */
const UNREAD = new ResponseContext(
  200,
  { 'content-type': 'application/json' },
  new SelfDecodingBody(Promise.resolve(Buffer.from('{}'))),
);

function call(api: CustomObjectsApi, resource: Resource, write: WriteRequest): Promise<unknown> {
  const { group, version, plural, namespace } = resource;
  if (write.method === 'DELETE') {
    const one = { group, version, plural, name: write.name, body: write.body };
    return namespace === undefined
      ? api.deleteClusterCustomObject(one)
      : api.deleteNamespacedCustomObject({ ...one, namespace });
  }
  const { force, ...query } = write.query ?? {};
  const all = { group, version, plural, body: write.body, ...query };
  if (write.method === 'POST') {
    return namespace === undefined
      ? api.createClusterCustomObject(all)
      : api.createNamespacedCustomObject({ ...all, namespace });
  }
  const { name, subresource, contentType } = write;
  const patch = { ...all, ...(force === undefined ? {} : { force: true }), name };
  const type = setHeaderOptions('Content-Type', contentType);
  if (subresource === 'status') {
    return namespace === undefined
      ? api.patchClusterCustomObjectStatus(patch, type)
      : api.patchNamespacedCustomObjectStatus({ ...patch, namespace }, type);
  }
  return namespace === undefined
    ? api.patchClusterCustomObject(patch, type)
    : api.patchNamespacedCustomObject({ ...patch, namespace }, type);
}

function toRequest(context: RequestContext): Request {
  const { pathname, searchParams } = new URL(context.getUrl());
  return {
    method: context.getHttpMethod() as 'POST' | 'PATCH' | 'DELETE',
    path: pathname,
    query: Object.fromEntries(searchParams),
    body: JSON.parse(String(context.getBody())),
    ...defined({ contentType: context.getHeaders()['Content-Type'] }),
  };
}
