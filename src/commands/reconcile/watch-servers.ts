/** The HTTP servers of `reconcile --watch`: metrics and probes. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../controller/clock.ts';
import { type Log, messageOf } from '../../controller/log.ts';
import { METRICS_CONTENT_TYPE, type Registry } from '../../controller/metrics.ts';
import { MetricsReaders, type ReviewPort } from '../../controller/metrics-readers.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type Page, type Pages, type Server, serve } from './serve.ts';
import { type KeyPair, selfSigned } from './x509.ts';

export interface ServerOptions {
  metricsAddress: string | undefined;
  /** HTTPS, for readers that the API server knows and lets in. */
  metricsSecure: boolean;
  /** A folder with tls.crt and tls.key. Default: a self-signed certificate. */
  metricsCertPath: string | undefined;
  healthAddress: string | undefined;
}

interface Served {
  isReady: () => boolean;
  registry: Registry;
  reviews: () => Promise<ReviewPort>;
  log: Log;
}

const METRICS = '/metrics';
const METRICS_FLAG = '--metrics-bind-address';
/** How often the files of the certificate are read: as controller-runtime. */
const RENEW_MS = 10_000;

/** Adds each started server to the list, so that it is closed when a later one fails. */
export async function startServers(options: ServerOptions, served: Served, servers: Server[]): Promise<void> {
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

function metricsPage({ registry }: Served): Page {
  return { status: 200, contentType: METRICS_CONTENT_TYPE, body: registry.text() };
}

async function guardedMetrics(served: Served): Promise<Pages> {
  const readers = new MetricsReaders(await served.reviews(), systemClock, served.log);
  return {
    [METRICS]: async ({ method = 'GET', headers }) => {
      const refusal = await readers.refusal(method.toLowerCase(), METRICS, headers.authorization);
      return refusal === undefined ? metricsPage(served) : { contentType: 'text/plain; charset=utf-8', ...refusal };
    },
  };
}

/** Listens again when the files have another certificate: Bun's servers cannot change theirs. */
async function serveSecurely(address: string, pages: Pages, certPath: string | undefined, log: Log): Promise<Server> {
  let pair = await keyPairOf(certPath, '--metrics-cert-path');
  let server = await serve(address, METRICS_FLAG, pages, pair);
  const { address: bound } = server;
  if (certPath === undefined) return server;
  let isClosed = false;
  let problem = '';
  const renew = async () => {
    const next = await keyPairOf(certPath, '--metrics-cert-path');
    if (next.cert === pair.cert && next.key === pair.key) return;
    server.close();
    server = await serve(bound, METRICS_FLAG, pages, next);
    if (isClosed) server.close();
    pair = next;
    log('info', `metrics: the certificate of ${certPath} was renewed`);
  };
  const timer = setInterval(() => {
    renew().then(
      () => {
        problem = '';
      },
      (error: unknown) => {
        // The certificate in use stays; every further reading would repeat it.
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

// The certificate of a server: from files, which are read again as they are renewed, or a self-signed one.

/** The names in a Secret of type kubernetes.io/tls. */
const CERT = 'tls.crt';
const KEY = 'tls.key';

/**
 * @param folder with tls.crt and tls.key; without one, the certificate is self-signed
 * @throws NodepoolError that names the flag and the file
 */
async function keyPairOf(folder: string | undefined, flag: string): Promise<KeyPair> {
  if (folder === undefined) return selfSigned();
  const read = (name: string) =>
    readFile(join(folder, name), 'utf8').catch((cause: NodeJS.ErrnoException) => {
      const problem = `${flag}: cannot read ${join(folder, name)} (${cause.code})`;
      throw new NodepoolError('input', problem, `give a folder with ${CERT} and ${KEY}`, { cause });
    });
  const pair = { cert: await read(CERT), key: await read(KEY) };
  const isPair = matches(pair);
  if (isPair) return pair;
  const problem = `${flag}: ${KEY} is not the private key of ${CERT} in ${folder}`;
  throw new NodepoolError('input', problem, 'write both files again, in PEM');
}

function matches({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

// The responses of /healthz and /readyz, in the format of Kubernetes components, without an HTTP server.

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
