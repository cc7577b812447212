/** Reads the metrics of `reconcile --watch --metrics-secure`. */
import { get } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

const NAMESPACE = 'default';

interface Scrape {
  status: number;
  text: string;
  /** Serial number of the server's certificate. */
  serial: string;
}

/** The address in the log of the watch. */
export function metricsAddress(log: string): string {
  return /metrics on (https:\/\/[^\s"]+)/.exec(log)?.[1] ?? '';
}

export function scrape(address: string, token: string | undefined, tls: object): Promise<Scrape> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const request = get(`${address}/metrics`, { agent: false, headers, ...tls }, response => {
      const { serialNumber: serial } = (response.socket as TLSSocket).getPeerCertificate();
      let text = '';
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, serial }));
    });
    request.on('error', reject);
  });
}

/** The token of a new ServiceAccount. */
export async function tokenOf(cluster: ControlPlane, name: string): Promise<string> {
  const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
  await raw(cluster).expect('POST', accounts, { metadata: { name } });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const answer = await raw(cluster).expect('POST', `${accounts}/${name}/token`, request);
  return (answer as { status: { token: string } }).status.token;
}

/** Binds the ClusterRole to the ServiceAccount. */
export async function bindReader(cluster: ControlPlane, name: string, clusterRole: string): Promise<void> {
  await raw(cluster).expect('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
    subjects: [{ kind: 'ServiceAccount', namespace: NAMESPACE, name }],
  });
}
