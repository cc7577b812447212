/** Leases a control plane of the test run (lender.ts) instead of starting one. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type KeyPair, loadAuthority } from './certificates.ts';
import type { ControlPlane } from './control-plane.ts';
import { writeKubeconfig } from './credentials.ts';

/** Without or with the CRD. */
export const LEASE_KINDS = ['bare', 'pools'] as const;
export type LeaseKind = (typeof LEASE_KINDS)[number];
/** Sent where no test failed. */
export const RETURNED = 'returned';

/** The description of a control plane on the wire. */
export type Lease = Pick<ControlPlane, 'server' | 'etcdUrl' | 'ca' | 'admin' | 'kubectl' | 'pids'> & {
  authority: KeyPair & { commonName: string };
  auditLog: string;
};

/** The socket of this run's lender; undefined in a run of a file without one. */
export function lenderSocket(): string | undefined {
  return process.env.NODEPOOL_TEST_LENDER;
}

/** With its own folder and kubeconfig; stop() returns it. The API server cannot be stopped, as others use it later. */
export async function leaseControlPlane(socketPath: string, kind: LeaseKind): Promise<ControlPlane> {
  const socket = connect(socketPath);
  socket.write(`${kind}\n`);
  const answer = await new Promise<string>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the lender of control planes has ended')));
    createInterface({ input: socket }).once('line', resolve);
  });
  const lease = JSON.parse(answer) as Lease | { error: string };
  if ('error' in lease) throw new Error(lease.error);
  // The lender also takes it back when this process exits.
  socket.unref().on('error', () => {});
  const { authority, auditLog, ...rest } = lease;
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-lease-'));
  const kubeconfig = join(dir, 'kubeconfig');
  await writeKubeconfig(kubeconfig, lease.server, lease.ca, lease.admin);
  const refuse = () => {
    throw new Error('other test files use this control plane too: give this file useCluster({ own: true })');
  };
  return {
    ...rest,
    authority: loadAuthority(authority),
    dir,
    kubeconfig,
    auditLog,
    auditStart: (await stat(auditLog)).size,
    startAnother: refuse,
    stopApiserver: refuse,
    startApiserver: refuse,
    offline: refuse,
    keep: refuse,
    async stop(hasFailed = false) {
      const given = new Promise(resolve => socket.once('close', resolve));
      socket.ref().end(hasFailed ? '' : `${RETURNED}\n`);
      await given;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
