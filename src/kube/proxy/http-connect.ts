/** HTTP CONNECT (RFC 9110, 9.3.6) by node:http. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Login, Target } from './proxy.ts';

/** Limit of the proxy's response head, in bytes. */
const MAX_HEAD_LENGTH = 65_536;

/**
 * Makes the socket a tunnel to the target. The proxy resolves the target's name. Throws Error.
 * @param socket connected to the proxy
 */
export async function httpConnect(
  socket: Duplex,
  { username, password }: Login,
  { host, port }: Target,
): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const login = Buffer.from(`${username}:${password}`).toString('base64');
  const asked = request({
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
  asked.removeHeader('Connection');
  const answered = once(asked.end(), 'connect') as Promise<[IncomingMessage, Duplex, Buffer]>;
  const [{ statusCode = 0, statusMessage }, , rest] = await answered.catch((error: NodeJS.ErrnoException) => {
    throw problemOf(error);
  });
  if (statusCode < 200 || statusCode > 299)
    throw new Error(`it answered ${JSON.stringify(`${statusCode} ${statusMessage}`.trimEnd())}`);
  if (rest.length > 0) socket.unshift(rest);
}

/** Rewords parse errors and `socket hang up` of node:http to follow the proxy's name. */
function problemOf(error: NodeJS.ErrnoException): Error {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new Error(`the head of its answer has more than ${MAX_HEAD_LENGTH} bytes`, { cause: error });
  if (error.code?.startsWith('HPE_')) return new Error('it answered with something else than HTTP', { cause: error });
  return error.message === 'socket hang up' ? new Error('it closed the connection', { cause: error }) : error;
}
