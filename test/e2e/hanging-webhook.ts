/** An admission webhook that does not answer. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { serverCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from './watching.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

/** Runs the work while updates of the node wait for the webhook, for 30 s at most. Then they go on. */
export async function whileHanging(cluster: ControlPlane, node: string, work: () => Promise<void>): Promise<void> {
  const client = raw(cluster);
  let calls = 0;
  const server = createServer(serverCertificate(cluster.authority, ['127.0.0.1']), () => {
    calls += 1;
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await client.expect('POST', CONFIGURATIONS, {
    metadata: { name: 'hanging' },
    webhooks: [
      {
        name: 'hanging.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 30,
        failurePolicy: 'Ignore',
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(cluster.ca).toString('base64'),
        },
        matchConditions: [{ name: 'node', expression: `object.metadata.name == '${node}'` }],
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      },
    ],
  });
  const probe = () => client.request('PATCH', `/api/v1/nodes/${node}?dryRun=All`, { metadata: { labels: { x: 'y' } } });
  const probes: Promise<unknown>[] = [];
  try {
    await eventually('the webhook is called', () => {
      // The first one that waits is enough.
      if (calls === 0) probes.push(probe());
      return calls > 0;
    });
    await work();
  } finally {
    await client.expect('DELETE', `${CONFIGURATIONS}/hanging`);
    server.closeAllConnections();
    server.close();
    await Promise.all(probes);
  }
}
