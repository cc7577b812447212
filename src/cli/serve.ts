/** The HTTP servers of `reconcile --watch`: metrics and probes. */
import { createServer } from 'node:http';
import { NodepoolError } from '../nodepool/errors.ts';

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

export interface Server {
  /** HOST:PORT, as bound. */
  address: string;
  close(): void;
}

/**
 * Serves the pages by path, else 404. Resolves once it listens.
 * @param address `PORT` on the loopback address, `HOST:PORT`, or `:PORT` on all addresses
 * @throws NodepoolError that names the flag when it cannot listen
 */
export async function serve(address: string, flag: string, pages: Record<string, () => Page>): Promise<Server> {
  const { host, port } = parseAddress(address, flag);
  const server = createServer((request, response) => {
    const page = pages[(request.url ?? '/').split('?', 1)[0] ?? '/'];
    const { status, contentType, body } = page?.() ?? { status: 404, contentType: 'text/plain', body: 'not found\n' };
    response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) }).end(body);
  });
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
