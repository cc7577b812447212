/** Starts and stops a real kube-apiserver and etcd on loopback, for the tests, the demo and the benchmarks. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditPolicy } from './audit.ts';
import { ensureBinaries, findBinary } from './binaries.ts';
import { type Authority, clientCertificate, createAuthority, type KeyPair, serverCertificate } from './certificates.ts';
import { apiserverFlags, etcdFlags } from './control-plane-flags.ts';
import { writeKubeconfig } from './credentials.ts';
import { type Daemon, startDaemon, startWatcher, type Watcher } from './daemon.ts';
import type { ProgressStream } from './progress.ts';
import { rawClient } from './raw.ts';

const READY_MS = 60_000;
const POLL_MS = 50;
/** After SIGTERM the API server waits for its watches, which tests need not. */
const APISERVER_GRACE_MS = 500;
const ETCD_GRACE_MS = 500;
const ATTEMPTS = 3;

export interface ControlPlaneOptions {
  /** Writes an audit log of every request (see audit.ts). */
  audit?: boolean;
  /** Resources of the core group that the audit log has with their bodies when they are created. */
  auditCreated?: readonly string[];
  /** Controllers follow (controllers.ts), so that all of the server's own admission plugins can be on. */
  controlled?: boolean;
  /** More flags for the API server. */
  apiserverFlags?: readonly string[];
  /** Progress of building missing programs. Default: stderr. */
  progress?: ProgressStream;
}

export interface ControlPlane {
  /** Path of the administrator's kubeconfig, context nodepool-demo. */
  kubeconfig: string;
  /** https://127.0.0.1:PORT */
  server: string;
  /** Its folder; removed by stop(). */
  dir: string;
  /** Path of kubectl if it exists already; else ensureBinaries provides it. */
  kubectl: string | undefined;
  /** Path of the audit log, one JSON object a line, if it was asked for. */
  auditLog: string | undefined;
  /** The byte at which this lease of the control plane begins in the audit log. */
  auditStart: number;
  authority: Authority;
  /** PEM of the certificate authority. */
  ca: string;
  admin: KeyPair;
  /** Process ids of etcd and the API server. */
  readonly pids: readonly number[];
  /** http://127.0.0.1:PORT of etcd's clients. */
  etcdUrl: string;
  /**
   * Starts another API server on the same etcd with the same credentials, until the control plane stops. Returns its URL.
   * @param etcd the URL of etcd
   */
  startAnother(etcd: string, flags?: readonly string[]): Promise<string>;
  /** Kills the API server; etcd and its data stay. */
  stopApiserver(): Promise<void>;
  /** Starts it again, on the same port. Resolves when /readyz says ok. */
  startApiserver(): Promise<void>;
  /** Stops the API server and etcd while `work` has etcd's folder, and starts both again, on the same ports. */
  offline(work: (etcdFolder: string) => Promise<void>): Promise<void>;
  /** Stops both and removes the folder. @param hasFailed a test: a leased one is then ended, and not returned */
  stop(hasFailed?: boolean): Promise<void>;
  /** Keeps it running after this process; returns the shell command that ends it. */
  keep(): Promise<string>;
}

/** Resolves when /readyz says ok. It never outlives this process, unless kept; failing to start, it throws with the end of the log. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const programs = await ensureBinaries(
    ['etcd', 'kube-apiserver'],
    options.progress === undefined ? {} : { progress: options.progress },
  );
  const kubectl = await findBinary('kubectl');
  for (let attempt = 1; ; attempt++) {
    const dir = await mkdtemp(join(tmpdir(), 'nodepool-cluster-'));
    const watcher = startWatcher(dir);
    const daemons: Daemon[] = [];
    const others: Daemon[] = [];
    const stop = async () => {
      for (const daemon of [...daemons, ...others].reverse())
        await daemon.stop(daemon === daemons[0] ? ETCD_GRACE_MS : APISERVER_GRACE_MS);
      await watcher.release();
      await rm(dir, { recursive: true, force: true });
    };
    try {
      const { startEtcd, ...started } = await start(programs, dir, watcher, { daemons, others }, options);
      const pids = () => [...daemons, ...others].map(({ pid }) => pid);
      const keep = async () => {
        await watcher.release();
        return `kill -9 ${pids().join(' ')}; rm -rf ${dir}`;
      };
      const stopApiserver = async () => daemons.splice(1)[0]?.stop(APISERVER_GRACE_MS);
      const offline = async (work: (etcdFolder: string) => Promise<void>) => {
        await stopApiserver();
        await daemons[0]?.stop(ETCD_GRACE_MS);
        await work(join(dir, 'etcd'));
        startEtcd();
        await started.startApiserver();
      };
      return {
        ...started,
        offline,
        dir,
        kubectl,
        get pids() {
          return pids();
        },
        stopApiserver,
        stop,
        keep,
      };
    } catch (error) {
      await stop();
      // A port that was free may be taken by the time it is bound.
      const taken = error instanceof Error && error.message.includes('address already in use');
      if (!taken || attempt === ATTEMPTS) throw error;
    }
  }
}

async function start(
  programs: { etcd: string; 'kube-apiserver': string },
  dir: string,
  watcher: Watcher,
  { daemons, others }: { daemons: Daemon[]; others: Daemon[] },
  { audit = false, auditCreated = [], controlled = false, apiserverFlags: more = [] }: ControlPlaneOptions,
): Promise<
  Omit<ControlPlane, 'dir' | 'kubectl' | 'pids' | 'stopApiserver' | 'offline' | 'stop' | 'keep'> & { startEtcd(): void }
> {
  const [clientPort = 0, peerPort = 0, securePort = 0] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${clientPort}`;
  const server = `https://127.0.0.1:${securePort}`;
  const file = (name: string) => join(dir, name);
  const startEtcd = () => {
    daemons[0] = startDaemon(programs.etcd, etcdFlags(file('etcd'), etcdUrl, peerPort), file('etcd.log'), watcher);
  };
  startEtcd();

  const authority = createAuthority('nodepool-demo-ca');
  const serving = serverCertificate(authority, ['127.0.0.1', '10.0.0.1', 'localhost', 'kubernetes.default.svc']);
  const admin = clientCertificate(authority, 'nodepool-demo-admin', ['system:masters']);
  const serviceAccount = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const kubeconfig = file('kubeconfig');
  const secret = { mode: 0o600 };
  await Promise.all([
    writeFile(file('ca.crt'), authority.cert),
    writeFile(file('apiserver.crt'), serving.cert),
    writeFile(file('apiserver.key'), serving.key, secret),
    writeFile(file('service-account.key'), serviceAccount.export({ type: 'sec1', format: 'pem' }), secret),
    writeFile(file('audit-policy.json'), JSON.stringify(auditPolicy(auditCreated))),
    writeKubeconfig(kubeconfig, server, authority.cert, admin),
  ]);
  const auditLog = audit ? file('audit.log') : undefined;
  const auditFlags = [
    `--audit-log-path=${auditLog}`,
    `--audit-policy-file=${file('audit-policy.json')}`,
    '--audit-log-mode=blocking',
    // Megabytes; the default rotates the file after 100.
    '--audit-log-maxsize=100000',
  ];
  const flagsOf = (etcd: string, port: number) => [
    ...apiserverFlags(file, etcd, port, controlled),
    ...more,
    ...(audit ? auditFlags : []),
  ];
  const startApiserver = async () => {
    daemons.push(startDaemon(programs['kube-apiserver'], flagsOf(etcdUrl, securePort), file('apiserver.log'), watcher));
    await ready(server, authority.cert, admin, daemons);
  };
  const startAnother = async (etcd: string, flags: readonly string[] = []) => {
    const [port = 0] = await freePorts(1);
    const url = `https://127.0.0.1:${port}`;
    const log = file(`apiserver-${port}.log`);
    others.push(startDaemon(programs['kube-apiserver'], [...flagsOf(etcd, port), ...flags], log, watcher));
    await ready(url, authority.cert, admin, others);
    return url;
  };
  await startApiserver();
  const ca = authority.cert;
  return {
    kubeconfig,
    server,
    etcdUrl,
    auditLog,
    auditStart: 0,
    authority,
    ca,
    admin,
    startEtcd,
    startApiserver,
    startAnother,
  };
}

async function ready(server: string, ca: string, admin: KeyPair, daemons: readonly Daemon[]): Promise<void> {
  const client = rawClient(server, ca, admin);
  const deadline = Date.now() + READY_MS;
  for (;;) {
    const dead = daemons.find(daemon => daemon.exited());
    if (dead !== undefined) throw new Error(`the control plane did not start:\n${dead.logTail()}`);
    const response = await client.request('GET', '/readyz').catch(() => undefined);
    if (response?.status === 200) return;
    if (Date.now() > deadline) {
      throw new Error(`the control plane was not ready after ${READY_MS} ms:\n${daemons.at(-1)?.logTail() ?? ''}`);
    }
    await sleep(POLL_MS);
  }
}

/** Ports that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  return Promise.all(
    servers.map(async server => {
      const address = server.address();
      await new Promise(resolve => server.close(resolve));
      return typeof address === 'object' && address !== null ? address.port : 0;
    }),
  );
}
