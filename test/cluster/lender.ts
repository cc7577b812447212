/**
 * Leases control planes to the test files of one run, each to one file at a time, as starting one takes three seconds of
 * two cores. Its etcd is restored before the next file gets it (etcd-keys.ts).
 *
 * Over a socket: a file sends the kind it wants, gets a line of JSON (lease.ts), and gives the control plane back by the
 * line RETURNED. Where the connection ends without it, a test failed or the process was killed: what that left behind, as
 * an admission policy, would fail the next files, so the control plane is ended.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { installCrd } from './crd.ts';
import { type Keys, readKeys, restoreKeys } from './etcd-keys.ts';
import { LEASE_KINDS, type Lease, type LeaseKind, RETURNED } from './lease.ts';
import { raw } from './raw.ts';

/** Time for the API server's caches, such as admission policies, to follow etcd. */
const FOLLOWS_MS = 300;
/** Lines of the log of an API server that has died. */
const LOG_LINES = 20;

interface Lent {
  kind: LeaseKind;
  plane: ControlPlane;
  /** The initial snapshot. */
  keys: Keys;
}

export interface Lender {
  /** Ends all control planes. */
  stop(): Promise<void>;
}

/** @param path of the socket */
export async function startLender(path: string): Promise<Lender> {
  const free: Lent[] = [];
  const started = new Set<Promise<ControlPlane>>();

  async function start(kind: LeaseKind): Promise<Lent> {
    const starting = startControlPlane({ audit: true });
    started.add(starting);
    const plane = await starting;
    if (kind === 'pools') await installCrd(plane.kubeconfig);
    return { kind, plane, keys: await readKeys(plane.etcdUrl) };
  }

  async function lend(kind: LeaseKind, socket: Socket): Promise<void> {
    const lent = (await take(kind)) ?? (await start(kind));
    const { server, etcdUrl, ca, admin, authority, auditLog = '', kubectl, pids } = lent.plane;
    const { cert, key, commonName } = authority;
    const lease: Lease = { server, etcdUrl, ca, admin, authority: { cert, key, commonName }, auditLog, kubectl, pids };
    let isReturned = false;
    socket.on('data', (line: string) => {
      isReturned ||= line.trim() === RETURNED;
    });
    socket.once('close', () => (isReturned ? takeBack(lent) : lent.plane.stop()));
    socket.write(`${JSON.stringify(lease)}\n`);
  }

  /** A free control plane that works. One whose API server has died is reported, as the cause is a fault of some test. */
  async function take(kind: LeaseKind): Promise<Lent | undefined> {
    const at = free.findIndex(one => one.kind === kind);
    if (at === -1) return undefined;
    const [lent] = free.splice(at, 1) as [Lent];
    const ready = await raw(lent.plane)
      .request('GET', '/readyz')
      .catch((error: Error) => ({ status: 0, body: error.message }));
    if (ready.status === 200) return lent;
    const log = await readFile(join(lent.plane.dir, 'apiserver.log'), 'utf8').catch(String);
    const tail = log.split('\n').slice(-LOG_LINES).join('\n');
    process.stderr.write(`a control plane is not lent again: ${JSON.stringify(ready.body)}\n${tail}\n`);
    await lent.plane.stop();
    return take(kind);
  }

  async function takeBack(lent: Lent): Promise<void> {
    const isAsNew = await restoreKeys(lent.plane.etcdUrl, lent.keys).catch(() => false);
    await sleep(FOLLOWS_MS);
    if (isAsNew) free.push(lent);
    else await lent.plane.stop();
  }

  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.setEncoding('utf8').once('data', (asked: string) => {
      const kind = LEASE_KINDS.find(known => known === asked.trim());
      if (kind === undefined) socket.destroy();
      else lend(kind, socket).catch((error: Error) => socket.end(`${JSON.stringify({ error: error.message })}\n`));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return {
    async stop() {
      server.close();
      await Promise.all([...started].map(async starting => (await starting.catch(() => undefined))?.stop()));
    },
  };
}
