/** An admission webhook that refuses some writes with a hostile message. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { serverCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

interface Review {
  request: { uid: string; name: string };
}

/** Refuses to create pools, change nodes and evict pods with this name prefix. Resolves with its end once it is in force. */
export async function refuseWith(cluster: ControlPlane, message: string, prefix: string): Promise<() => Promise<void>> {
  const server = createServer(serverCertificate(cluster.authority, ['127.0.0.1']), (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { uid, name } = (JSON.parse(Buffer.concat(chunks).toString()) as Review).request;
      const allowed = !name.startsWith(prefix);
      const body = {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid, allowed, ...(allowed ? {} : { status: { message, code: 403, reason: 'Forbidden' } }) },
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = raw(cluster);
  await client.expect('POST', CONFIGURATIONS, {
    metadata: { name: 'hostile' },
    webhooks: [
      {
        name: 'hostile.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(cluster.ca).toString('base64'),
        },
        rules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] },
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
          { apiGroups: ['nodes.lailin.xyz'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodepools'] },
        ],
      },
    ],
  });
  const probe = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: `${prefix}probe` }, spec: {} };
  const isInForce = async () =>
    (await client.request('POST', '/apis/nodes.lailin.xyz/v1/nodepools?dryRun=All', probe)).status === 403;
  while (!(await isInForce()));
  return async () => {
    await client.expect('DELETE', `${CONFIGURATIONS}/hostile`);
    while (await isInForce());
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  };
}
