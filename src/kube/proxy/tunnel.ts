/** A connection to a server through a proxy, by HTTP CONNECT or SOCKS5. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkServerIdentity, connect as connectTls, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isNoRoute, NO_ROUTE_NEXT, NO_ROUTE_TEXT, withRoute } from '../route.ts';
import type { ProxyAddress, ProxyLogin, TunnelTarget } from './proxy.ts';

/** client-go's dial timeout. */
const OPEN_MS = 30_000;
const PORTS: Record<string, number> = { 'http:': 80, 'https:': 443, 'socks5:': 1080, 'socks5h:': 1080 };

/**
 * Returns a socket to the target. Throws NodepoolError that names the proxy without its password.
 * @param options TLS options for an https:// proxy
 * @param signal aborts the dial
 * @param openMs the longest silence of the proxy before the tunnel is open
 */
export async function openTunnel(
  { url, source }: ProxyAddress,
  target: TunnelTarget,
  options: SecureContextOptions,
  signal: AbortSignal,
  openMs = OPEN_MS,
): Promise<Socket> {
  const name = `the proxy ${url.protocol}//${url.host}`;
  // Loaded before the dial: the socket must have an error listener at all times.
  const connectTo = url.protocol.startsWith('http') ? httpConnect : (await import('./socks.ts')).socksConnect;
  const socket = dial(url, options);
  const end = () => socket.destroy(new Error('canceled by the client'));
  signal.addEventListener('abort', end, { once: true });
  socket.setTimeout(openMs, () => socket.destroy(new Error(`no answer within ${openMs / 1000} s`)));
  if (signal.aborted) end();
  try {
    await once(socket, url.protocol === 'https:' ? 'secureConnect' : 'connect');
    await connectTo(socket, loginOf(url), target);
    socket.setTimeout(0);
    return socket;
  } catch (error) {
    socket.destroy();
    const found = await withRoute(error);
    const [reason, next] = isNoRoute(found)
      ? [NO_ROUTE_TEXT, `${NO_ROUTE_NEXT}, and ${source}`]
      : [(found as Error).message, `check ${source}`];
    const problem = `cannot reach the server ${target.host}:${target.port} through ${name}: ${reason}`;
    throw new NodepoolError('cluster', problem, next, { cause: found });
  } finally {
    socket.removeAllListeners('timeout');
    signal.removeEventListener('abort', end);
  }
}

function dial({ protocol, hostname, port }: URL, options: SecureContextOptions): Socket | TLSSocket {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const to = { host, port: Number(port) || (PORTS[protocol] ?? 0) };
  if (protocol !== 'https:') return connect(to);
  // tls-server-name applies only to the server. SNI must not be an address.
  return connectTls({ ...options, ...to, servername: isIP(host) ? '' : host, checkServerIdentity });
}

function loginOf({ username, password }: URL): ProxyLogin {
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}

// HTTP CONNECT (RFC 9110, 9.3.6) by node:http.

/** Limit of the proxy's response head, in bytes. */
const MAX_HEAD_LENGTH = 65_536;

/** Makes the socket a tunnel; the proxy resolves the target's name. Throws Error. @param socket to the proxy */
export async function httpConnect(
  socket: Duplex,
  { username, password }: ProxyLogin,
  { host, port }: TunnelTarget,
): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const login = Buffer.from(`${username}:${password}`).toString('base64');
  const connectRequest = request({
    method: 'CONNECT',
    path: authority,
    headers: {
      Host: authority,
      ...(username === '' && password === '' ? {} : { 'Proxy-Authorization': `Basic ${login}` }),
    },
    createConnection: () => socket,
    maxHeaderSize: MAX_HEAD_LENGTH,
    // A client ignores Content-Length and Transfer-Encoding of a successful CONNECT.
    insecureHTTPParser: true,
  });
  // node:http would send `Connection: close`; the tunnel stays open.
  connectRequest.removeHeader('Connection');
  const response = once(connectRequest.end(), 'connect') as Promise<[IncomingMessage, Duplex, Buffer]>;
  const [{ statusCode = 0, statusMessage }, , rest] = await response.catch((error: NodeJS.ErrnoException) => {
    throw problemOf(error);
  });
  if (statusCode < 200 || statusCode > 299)
    throw new Error(`it answered ${JSON.stringify(`${statusCode} ${statusMessage}`.trimEnd())}`);
  if (rest.length > 0) socket.unshift(rest);
}

/** Rewords parse errors and `socket hang up` of node:http, so that they can follow the proxy's name. */
function problemOf(error: NodeJS.ErrnoException): Error {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new Error(`its answer headers have more than ${MAX_HEAD_LENGTH} bytes`, { cause: error });
  if (error.code?.startsWith('HPE_')) return new Error('it answered with something other than HTTP', { cause: error });
  return error.message === 'socket hang up' ? new Error('it closed the connection', { cause: error }) : error;
}
