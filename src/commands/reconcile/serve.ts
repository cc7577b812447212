/** The HTTP servers of `reconcile --watch`: metrics and probes. */

import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { KeyPair } from './x509.ts';

/** The texts of Node and of Bun differ. */
const WHY_NOT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something listens there already',
  EADDRNOTAVAIL: 'this machine does not have it',
  EACCES: 'that takes more rights',
};

export interface Page {
  status: number;
  contentType: string;
  body: string;
}

/** By path. They must not reject. */
export type Pages = Record<string, (request: IncomingMessage) => Page | Promise<Page>>;

export interface Server {
  /** HOST:PORT, as bound. */
  address: string;
  close(): void;
}

const NOT_FOUND: Page = { status: 404, contentType: 'text/plain', body: 'not found\n' };

/**
 * Serves the pages, else 404. Resolves once it listens.
 * @param address `PORT` on the loopback address, `HOST:PORT`, or `:PORT` on all addresses
 * @param keyPair serves HTTPS with it
 * @throws NodepoolError that names the flag when it cannot listen
 */
export async function serve(address: string, flag: string, pages: Pages, keyPair?: KeyPair): Promise<Server> {
  const { host, port } = parseAddress(address, flag);
  const answer: RequestListener = async (request, response) => {
    const page = pages[(request.url ?? '/').split('?', 1)[0] ?? '/'];
    const { status, contentType, body } = (await page?.(request)) ?? NOT_FOUND;
    response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) }).end(body);
  };
  const server = keyPair === undefined ? createServer(answer) : createSecureServer(keyPair, answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = `${WHY_NOT[cause.code ?? ''] ?? cause.message} (${cause.code})`;
      reject(new NodepoolError('input', `${flag} ${address}: ${reason}`, 'choose another address', { cause }));
    });
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const shown = typeof bound === 'object' && bound !== null ? hostAndPort(bound.address, bound.port) : address;
  return {
    address: shown,
    close() {
      server.close();
      // Idle connections would keep the process running.
      server.closeAllConnections();
    },
  };
}

function parseAddress(address: string, flag: string): { host: string | undefined; port: number } {
  const [, host = '', port = ''] =
    /^(.*):(\d{1,5})$/.exec(/^\d+$/.test(address) ? `127.0.0.1:${address}` : address) ?? [];
  if (port === '' || Number(port) > 65_535) {
    throw new NodepoolError(
      'usage',
      `${flag} "${address}" is not an address`,
      'write it like 8080, 127.0.0.1:8080 or :8080',
    );
  }
  return { host: host.replace(/^\[|\]$/g, '') || undefined, port: Number(port) };
}

function hostAndPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
