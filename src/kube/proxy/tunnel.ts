/** A connection to a server through a proxy, by HTTP CONNECT or SOCKS5. */
import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { NodepoolError } from '../../nodepool/errors.ts';
import { httpConnect } from './http-connect.ts';
import type { Login, ProxyAddress, Target } from './proxy.ts';

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
  target: Target,
  options: SecureContextOptions,
  signal: AbortSignal,
  openMs = OPEN_MS,
): Promise<Socket> {
  const name = `the proxy ${url.protocol}//${url.host}`;
  // Loaded before the dial: the socket must have an error listener at all times.
  const connectTo = url.protocol.startsWith('http') ? httpConnect : (await import('./socks.ts')).socksConnect;
  const socket = dial(url, options);
  const end = () => socket.destroy(new Error('given up on our side'));
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
    const problem = `cannot reach the server ${target.host}:${target.port} through ${name}: ${(error as Error).message}`;
    throw new NodepoolError('cluster', problem, `check ${source}`, { cause: error });
  } finally {
    socket.removeAllListeners('timeout');
    signal.removeEventListener('abort', end);
  }
}

function dial({ protocol, hostname, port }: URL, options: SecureContextOptions): Socket | TLSSocket {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const to = { host, port: Number(port) || (PORTS[protocol] ?? 0) };
  if (protocol !== 'https:') return connect(to);
  // tls-server-name is for the server alone. SNI must not be an address.
  return connectTls({ ...options, ...to, servername: isIP(host) ? '' : host, checkServerIdentity });
}

function loginOf({ username, password }: URL): Login {
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}
