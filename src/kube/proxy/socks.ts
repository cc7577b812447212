/** The client's part of SOCKS5 (RFC 1928), with a name and a password (RFC 1929) where the proxy asks for them. */
import { isIP, isIPv4, type Socket } from 'node:net';
import type { Reader } from './socket-reader.ts';

/** What is to be reached. */
export interface Target {
  host: string;
  port: number;
}

const VERSION = 5;
const NO_LOGIN = 0;
const PASSWORD = 2;
/** Kinds of address, and the bytes of those that have as many each. */
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

/** RFC 1928, 6. */
const REFUSALS = [
  '',
  'general failure',
  'its rules do not allow this connection',
  'the network is unreachable',
  'the host is unreachable',
  'connection refused',
  'the time to live expired',
  'it cannot connect',
  'it does not know that kind of address',
];

/** Afterwards the server itself answers on the socket. The proxy resolves the server's name. Throws Error. */
export async function socksConnect(
  socket: Socket,
  reader: Reader,
  { username, password }: { username: string; password: string },
  { host, port }: Target,
): Promise<void> {
  const methods = username === '' ? [NO_LOGIN] : [NO_LOGIN, PASSWORD];
  socket.write(Buffer.from([VERSION, methods.length, ...methods]));
  const [version, method] = await reader.bytes(2);
  if (version !== VERSION) throw new Error('it does not speak SOCKS5');
  if (method === PASSWORD && username !== '') await logIn(socket, reader, username, password);
  else if (method !== NO_LOGIN) throw new Error('it wants a login that is not supported, or a name and a password');
  socket.write(Buffer.concat([Buffer.from([VERSION, 1, 0]), addressOf(host), Buffer.from([port >> 8, port & 255])]));
  const [, reply = 1, , kind] = await reader.bytes(4);
  if (reply !== 0) throw new Error(REFUSALS[reply] ?? `it refused with ${reply}`);
  // The address it connected from, which nobody needs.
  const length = kind === IPV4 ? 4 : kind === IPV6 ? 16 : ((await reader.bytes(1))[0] ?? 0);
  await reader.bytes(length + 2);
}

async function logIn(socket: Socket, reader: Reader, username: string, password: string): Promise<void> {
  const texts = [username, password].map(text => Buffer.from(text));
  if (texts.some(({ length }) => length > 255)) throw new Error('its name or password has more than 255 bytes');
  socket.write(Buffer.concat([Buffer.from([1]), ...texts.flatMap(text => [Buffer.from([text.length]), text])]));
  const [, status] = await reader.bytes(2);
  if (status !== 0) throw new Error('it does not accept the name and password');
}

function addressOf(host: string): Buffer {
  const name = Buffer.from(host);
  switch (isIP(host)) {
    case 4:
      return Buffer.from([IPV4, ...host.split('.').map(Number)]);
    case 6:
      return Buffer.concat([Buffer.from([IPV6]), ipv6Bytes(host)]);
    default:
      // One byte has its length: what is more would be read as the port and what follows.
      if (name.length > 255) throw new Error("the server's name has more than 255 bytes");
      return Buffer.concat([Buffer.from([NAME, name.length]), name]);
  }
}

/** The groups before and after `::`, which stands for zeros. */
function ipv6Bytes(host: string): Buffer {
  const [head = [], tail = []] = host.split('::').map(half => half.split(':').filter(Boolean).flatMap(groupBytes));
  const zeros = Array.from({ length: 16 - head.length - tail.length }, () => 0);
  return Buffer.from([...head, ...zeros, ...tail]);
}

function groupBytes(group: string): number[] {
  if (isIPv4(group)) return group.split('.').map(Number);
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 255];
}
