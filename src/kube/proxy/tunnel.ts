/** A connection to a server through a proxy: by CONNECT of HTTP, or by SOCKS5. */
import { connect, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { ProxyAddress } from './proxy.ts';
import { type Reader, readerOf } from './socket-reader.ts';
import { socksConnect, type Target } from './socks.ts';

/** client-go's time for a connection. */
const OPEN_MS = 30_000;
/** Bytes of an answer to CONNECT. */
const LONGEST_HEAD = 65_536;
const PORTS: Record<string, number> = { 'http:': 80, 'https:': 443, 'socks5:': 1080, 'socks5h:': 1080 };

/**
 * Resolves with a socket on which the server itself answers. Throws NodepoolError that names the proxy, without its
 * password.
 * @param options of the TLS to an https:// proxy
 * @param signal ends it
 */
export async function openTunnel(
  { url, source }: ProxyAddress,
  target: Target,
  options: SecureContextOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const name = `the proxy ${url.protocol}//${url.host}`;
  const socket = dial(url, options);
  const end = () => socket.destroy(new Error('given up on our side'));
  signal.addEventListener('abort', end, { once: true });
  socket.setTimeout(OPEN_MS, () => socket.destroy(new Error(`no answer within ${OPEN_MS / 1000} s`)));
  if (signal.aborted) end();
  try {
    await opened(socket, url);
    const reader = readerOf(socket);
    if (url.protocol.startsWith('http')) await httpConnect(socket, reader, url, target);
    else await socksConnect(socket, reader, credentialsOf(url), target);
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
  // The server's tls-server-name is not the proxy's; an address is not sent as a name.
  return connectTls({ ...options, ...to, servername: isIP(host) ? '' : host, checkServerIdentity });
}

function opened(socket: Socket, { protocol }: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', resolve);
    socket.once('error', reject);
  });
}

async function httpConnect(socket: Socket, reader: Reader, url: URL, { host, port }: Target): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { username, password } = credentialsOf(url);
  const token = Buffer.from(`${username}:${password}`).toString('base64');
  const authorization = url.username === '' && url.password === '' ? '' : `Proxy-Authorization: Basic ${token}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`);
  const [status = ''] = (await reader.until('\r\n\r\n', LONGEST_HEAD)).split('\r\n', 1);
  if (/^HTTP\/1\.[01] 2\d\d\b/.test(status)) return;
  throw new Error(`it answered ${JSON.stringify(status.replace(/^HTTP\/\S+ /, ''))}`);
}

function credentialsOf({ username, password }: URL): { username: string; password: string } {
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}
