/** Requests to servers other than the API server: the issuer of a login, and the URL of `-f URL`. */
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { NodepoolError } from '../nodepool/errors.ts';
import { publicAuthorities, UNKNOWN_AUTHORITY } from './auth/tls-material.ts';
import { proxyFromEnvironment } from './proxy/proxy.ts';
import { newAgent } from './proxy/proxy-agent.ts';
import { isNoRoute, NO_ROUTE_NEXT, NO_ROUTE_TEXT, withRoute } from './route.ts';

export interface WebRequest {
  headers?: Record<string, string>;
  /** If set, the request is a POST. */
  body?: string | undefined;
  /** Default: the authorities that the machine trusts. */
  ca?: Buffer | string | undefined;
  /** Configures the proxy. */
  env: Record<string, string | undefined>;
  signal: AbortSignal;
  /** Reading stops after this number of bytes plus at most one chunk. */
  maxBytes: number;
}

export interface WebAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Does not follow redirects or decompress. Throws a NodepoolError without the URL, or any error if aborted. */
export async function askWeb(url: URL, { ca, env, maxBytes, ...init }: WebRequest): Promise<WebAnswer> {
  const proxy = proxyFromEnvironment(url, env);
  // Verifies certificates even with NODE_TLS_REJECT_UNAUTHORIZED=0.
  const agent = newAgent(url, proxy, { ca: ca ?? publicAuthorities(), rejectUnauthorized: true });
  try {
    const response = await send(url, agent, init);
    const chunks: Buffer[] = [];
    let bytes = 0;
    // Leaving the loop early closes the connection.
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) break;
    }
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
  } catch (error) {
    if (init.signal.aborted || error instanceof NodepoolError) throw error;
    const [reason, next] = explain(await withRoute(error), url, ca !== undefined);
    if (proxy === undefined) throw new NodepoolError('cluster', reason, next, { cause: error });
    const { protocol, host } = proxy.url;
    const through = `through the proxy ${protocol}//${host}: ${reason}`;
    throw new NodepoolError('cluster', through, `${next}, and ${proxy.source}`, { cause: error });
  } finally {
    agent.destroy();
  }
}

type Sent = Pick<WebRequest, 'headers' | 'body' | 'signal'>;

function send(url: URL, agent: http.Agent, { headers = {}, body, signal }: Sent): Promise<IncomingMessage> {
  const { request: open } = url.protocol === 'http:' ? http : https;
  return new Promise((resolve, reject) => {
    const request = open(url, { method: body === undefined ? 'GET' : 'POST', headers, agent, signal });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
}

function explain(error: unknown, { hostname }: URL, hasOwnCa: boolean): [reason: string, next: string] {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (isNoRoute(error)) return [NO_ROUTE_TEXT, NO_ROUTE_NEXT];
  if (code === 'HPE_HEADER_OVERFLOW') return ['the answer headers are too long', 'check the URL'];
  if (code.startsWith('HPE_')) return ['the answer is not valid HTTP', 'check the URL'];
  if (UNKNOWN_AUTHORITY.has(code)) {
    const next = hasOwnCa
      ? 'check its certificate-authority'
      : "add that authority to this machine's certificates, or to NODE_EXTRA_CA_CERTS";
    return ['its certificate is signed by an unknown authority', next];
  }
  switch (code) {
    case 'ECONNREFUSED':
      return ['connection refused', 'check the URL, and that its server is running'];
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return [`the name ${hostname} cannot be resolved`, 'check the URL and your network'];
    case 'ECONNRESET':
    case 'EPIPE':
      return ['the connection was closed before the answer was complete', 'try again'];
    case 'CERT_HAS_EXPIRED':
      return ['its certificate has expired', "ask the owner to renew the certificate, or check this machine's clock"];
    case 'CERT_NOT_YET_VALID':
      return ['its certificate is not valid yet', "check this machine's clock"];
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return [`its certificate is not valid for the name ${hostname}`, 'check the URL'];
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return ['unexpected TLS answer', 'check https:// or http:// and the port in the URL'];
    default:
      return [message || code, 'check the URL and your network'];
  }
}
