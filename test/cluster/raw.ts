/** Plain HTTPS requests to a control plane, so that set-up and checks do not use the code under test. */
import { Agent, request } from 'node:https';
import type { KeyPair } from './certificates.ts';

export interface RawResponse {
  status: number;
  /** Parsed JSON, or the text of anything else. */
  body: unknown;
}

export interface RawClient {
  /** `contentType` defaults to JSON, or to a JSON merge patch for PATCH. Any status resolves; only a broken connection throws. */
  request(method: string, path: string, body?: unknown, contentType?: string): Promise<RawResponse>;
  /** As request, but a status of 300 and above throws with the server's message. */
  expect(method: string, path: string, body?: unknown, contentType?: string): Promise<unknown>;
  /** Deletes the objects of a collection, page by page. */
  deleteAll(path: string): Promise<void>;
}

const MAX_SOCKETS = 64;
const TIMEOUT_MS = 30_000;
/** Objects of one DELETE: of 1,000 nodes at once, the answer took over 30 s on a busy machine. */
const PAGE = 200;

const clients = new WeakMap<object, RawClient>();

/** The administrator's client, one per control plane. */
export function raw(cluster: { server: string; ca: string; admin: KeyPair }): RawClient {
  const client = clients.get(cluster) ?? rawClient(cluster.server, cluster.ca, cluster.admin);
  clients.set(cluster, client);
  return client;
}

export function rawClient(server: string, ca: string, user: KeyPair): RawClient {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, ca, ...user });
  const send: RawClient['request'] = (method, path, body, contentType) => {
    const type = contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      'user-agent': 'test-cluster/1.0',
      ...(payload === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(payload) }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, server), { method, agent, headers, timeout: TIMEOUT_MS }, response => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const json = response.headers['content-type']?.startsWith('application/json');
          resolve({ status: response.statusCode ?? 0, body: json ? JSON.parse(text) : text });
        });
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${path}: no answer in ${TIMEOUT_MS} ms`)));
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        // The server may close an idle connection while the request is on its way: it has not read it then.
        if (outgoing.reusedSocket && error.code === 'ECONNRESET')
          send(method, path, body, contentType).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(payload);
    });
  };
  const expect: RawClient['expect'] = async (method, path, body, contentType) => {
    const response = await send(method, path, body, contentType);
    if (response.status < 300) return response.body;
    const text = typeof response.body === 'string' ? response.body : JSON.stringify(response.body);
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  };
  return {
    request: send,
    expect,
    async deleteAll(path) {
      for (let deleted = PAGE; deleted === PAGE; ) {
        const { items } = (await expect('DELETE', `${path}?limit=${PAGE}`)) as { items: unknown[] };
        deleted = items.length;
      }
    },
  };
}
