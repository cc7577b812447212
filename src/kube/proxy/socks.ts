/** SOCKS5 (RFC 1928, RFC 1929) by the package `socks`. */
import type { Duplex } from 'node:stream';
import { SocksClient } from 'socks';
import type { ProxyLogin, TunnelTarget } from './proxy.ts';

/** Texts that follow the proxy's name, by message of the package: its errors have no codes. */
const PROBLEMS: Record<string, string> = {
  'An invalid destination host was provided.': "the server's name has more than 255 bytes",
  'Socket closed': 'it closed the connection',
  // After 30 s, the default of the package and the dial timeout of client-go.
  'Proxy connection timed out': 'no answer within 30 s',
  'Received invalid Socks5 initial handshake (invalid socks version)': 'it does not speak SOCKS5',
  // The proxy sent more than was requested.
  'SocksClient internal error (this should not happen)': 'it does not speak SOCKS5',
  'Received invalid Socks5 initial handshake (no accepted authentication type)':
    'it requires a login: a name and a password, or an unsupported method',
  'Received invalid Socks5 initial handshake (unknown authentication type)':
    'it requires a login: a name and a password, or an unsupported method',
  'Socks5 Authentication failed': 'it does not accept the name and password',
  'Socks5 proxy rejected connection - Failure': 'general failure',
  'Socks5 proxy rejected connection - NotAllowed': 'its rules do not allow this connection',
  'Socks5 proxy rejected connection - NetworkUnreachable': 'the network is unreachable',
  'Socks5 proxy rejected connection - HostUnreachable': 'the host is unreachable',
  'Socks5 proxy rejected connection - ConnectionRefused': 'connection refused',
  'Socks5 proxy rejected connection - TTLExpired': 'the time to live expired',
  'Socks5 proxy rejected connection - CommandNotSupported': 'it does not support CONNECT',
  'Socks5 proxy rejected connection - AddressNotSupported': 'it does not support that type of address',
  'Socks5 proxy rejected connection - undefined': 'it refused with an unknown code',
};

/** Makes the socket a tunnel; the proxy resolves the target's name. Throws Error. @param socket to the proxy */
export async function socksConnect(
  socket: Duplex,
  { username, password }: ProxyLogin,
  target: TunnelTarget,
): Promise<void> {
  if ([username, password].some(text => Buffer.byteLength(text) > 255))
    throw new Error('its name or password has more than 255 bytes');
  const login = username === '' ? {} : { userId: username, password };
  // The package requires the proxy's address, but does not use it for a connected socket.
  const proxy = { type: 5 as const, host: '', port: 0, ...login };
  try {
    await SocksClient.createConnection({ command: 'connect', existing_socket: socket, proxy, destination: target });
  } catch (error) {
    const { message } = error as Error;
    // The package's error contains the password, so it is not the cause.
    throw new Error(PROBLEMS[message] ?? message);
  }
}
