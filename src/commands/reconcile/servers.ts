/** The HTTP servers of `reconcile --watch` for metrics and probes. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { systemClock } from '../../controller/clock.ts';
import { type Log, messageOf } from '../../controller/log.ts';
import { METRICS_CONTENT_TYPE, type Registry } from '../../controller/metrics.ts';
import { MetricsReaders, type ReviewPort } from '../../controller/metrics-readers.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type KeyPair, selfSigned } from './x509.ts';

export interface ServerOptions {
  metricsAddress: string | undefined;
  /** Serve HTTPS to clients that the API server authenticates and authorizes. */
  metricsSecure: boolean;
  /** A folder with tls.crt and tls.key. Default: a self-signed certificate. */
  metricsCertPath: string | undefined;
  healthAddress: string | undefined;
}

interface ServerDeps {
  isReady: () => boolean;
  registry: Registry;
  reviews: () => Promise<ReviewPort>;
  log: Log;
}

const METRICS = '/metrics';
const METRICS_FLAG = '--metrics-bind-address';
/** Interval at which the certificate files are read, as in controller-runtime. */
const RENEW_MS = 10_000;

/** Adds each started server to the list, so that it is closed if a later one fails. */
export async function startServers(options: ServerOptions, served: ServerDeps, servers: Server[]): Promise<void> {
  const { metricsAddress, healthAddress } = options;
  const { isReady, log } = served;
  if (metricsAddress !== undefined) {
    const server = options.metricsSecure
      ? await serveSecurely(metricsAddress, await guardedMetrics(served), options.metricsCertPath, log)
      : await serve(metricsAddress, METRICS_FLAG, { [METRICS]: () => metricsPage(served) });
    log('info', `metrics on ${options.metricsSecure ? 'https' : 'http'}://${server.address}`);
    servers.push(server);
  }
  if (healthAddress !== undefined) {
    const probe = (checks: Record<string, () => boolean>) => (): Page => {
      return { contentType: 'text/plain; charset=utf-8', ...healthAnswer(checks) };
    };
    const pages = { '/healthz': probe({ ping: () => true }), '/readyz': probe({ caches: isReady }) };
    const server = await serve(healthAddress, '--health-probe-bind-address', pages);
    log('info', `probes on http://${server.address}`);
    servers.push(server);
  }
}

function metricsPage({ registry }: ServerDeps): Page {
  return { status: 200, contentType: METRICS_CONTENT_TYPE, body: registry.text() };
}

async function guardedMetrics(served: ServerDeps): Promise<Pages> {
  const readers = new MetricsReaders(await served.reviews(), systemClock, served.log);
  return {
    [METRICS]: async ({ method = 'GET', headers }) => {
      const refusal = await readers.refusal(method.toLowerCase(), METRICS, headers.authorization);
      return refusal === undefined ? metricsPage(served) : { contentType: 'text/plain; charset=utf-8', ...refusal };
    },
  };
}

async function serveSecurely(address: string, pages: Pages, certPath: string | undefined, log: Log): Promise<Server> {
  let pair = await keyPairOf(certPath, '--metrics-cert-path');
  let server = await serve(address, METRICS_FLAG, pages, pair);
  const { address: bound } = server;
  if (certPath === undefined) return server;
  let isClosed = false;
  let problem = '';
  const renew = async () => {
    const next = await keyPairOf(certPath, '--metrics-cert-path', pair);
    if (next === pair) return;
    if (!server.setKeyPair(next)) {
      // Two servers cannot listen on one port. If this fails, the next read of the files tries again.
      server.close();
      server = await serve(bound, METRICS_FLAG, pages, next);
      if (isClosed) server.close();
    }
    pair = next;
    log('info', `metrics: the certificate of ${certPath} was renewed`);
  };
  const timer = setInterval(() => {
    renew().then(
      () => {
        problem = '';
      },
      (error: unknown) => {
        // The current certificate stays in use. The error is logged only once.
        if (messageOf(error) !== problem) log('warning', messageOf(error));
        problem = messageOf(error);
      },
    );
  }, RENEW_MS);
  return {
    address: bound,
    close() {
      isClosed = true;
      clearInterval(timer);
      server.close();
    },
  };
}

// The certificate of a server: from files, which are read again for renewals, or self-signed.

/** The keys in a Secret of type kubernetes.io/tls. */
const CERT = 'tls.crt';
const KEY = 'tls.key';

/** @param folder with tls.crt and tls.key; else self-signed @param known returned if the files have not changed */
async function keyPairOf(folder: string | undefined, flag: string, known?: KeyPair): Promise<KeyPair> {
  if (folder === undefined) return selfSigned();
  const read = (name: string) =>
    readFile(join(folder, name), 'utf8').catch((cause: NodeJS.ErrnoException) => {
      const problem = `${flag}: cannot read ${join(folder, name)} (${cause.code})`;
      throw new NodepoolError('input', problem, `use a directory with ${CERT} and ${KEY}`, { cause });
    });
  const pair = { cert: await read(CERT), key: await read(KEY) };
  if (known !== undefined && pair.cert === known.cert && pair.key === known.key) return known;
  const next = 'write both files again, in PEM';
  if (!matches(pair)) {
    throw new NodepoolError('input', `${flag}: ${KEY} is not the private key of ${CERT} in ${folder}`, next);
  }
  try {
    // Only this call parses the rest of the chain and refuses keys that are too short.
    createSecureContext(pair);
  } catch (cause) {
    const problem = `${flag}: cannot serve ${CERT} and ${KEY} in ${folder} (${messageOf(cause)})`;
    throw new NodepoolError('input', problem, next, { cause });
  }
  return pair;
}

function matches({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

// The responses of /healthz and /readyz in the format of Kubernetes components, without the HTTP server.

interface HealthAnswer {
  status: 200 | 500;
  /** Plain text. */
  body: string;
}

/** 200 when all checks are true; otherwise the body lists every check. */
export function healthAnswer(checks: Record<string, () => boolean>): HealthAnswer {
  const results = Object.entries(checks).map(([name, check]) => ({ name, good: check() }));
  if (results.every(({ good }) => good)) return { status: 200, body: 'ok' };
  const lines = results.map(({ name, good }) => (good ? `[+]${name} ok\n` : `[-]${name} failed\n`));
  return { status: 500, body: lines.join('') };
}

// A small HTTP or HTTPS server.

/** Node and Bun have different messages. */
const WHY_NOT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is already in use',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'permission denied',
};

interface Page {
  status: number;
  contentType: string;
  body: string;
}

/** By path. Handlers must not reject. */
type Pages = Record<string, (request: IncomingMessage) => Page | Promise<Page>>;

export interface Server {
  /** The bound address, HOST:PORT. */
  address: string;
  close(): void;
}

interface PageServer extends Server {
  /** Uses it for new connections. Returns false and changes nothing if the runtime does not support that (Bun). */
  setKeyPair(keyPair: KeyPair): boolean;
}

const NOT_FOUND: Page = { status: 404, contentType: 'text/plain', body: 'not found\n' };

/** Resolves once it listens. @param address `PORT` on loopback, `HOST:PORT`, or `:PORT` on all */
export async function serve(address: string, flag: string, pages: Pages, keyPair?: KeyPair): Promise<PageServer> {
  const { host, port } = parseAddress(address, flag);
  const answer: RequestListener = async (request, response) => {
    const page = pages[(request.url ?? '/').split('?', 1)[0] ?? '/'];
    const { status, contentType, body } = (await page?.(request)) ?? NOT_FOUND;
    response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) }).end(body);
  };
  const secure = keyPair === undefined ? undefined : createSecureServer(keyPair, answer);
  const server = secure ?? createServer(answer);
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
    setKeyPair(next) {
      if (typeof secure?.setSecureContext !== 'function') return false;
      secure.setSecureContext(next);
      return true;
    },
    close() {
      server.close();
      // Idle connections would keep the process alive.
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
