/** A validating admission webhook of this process. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { serverCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

export interface AdmissionRequest<T> {
  uid: string;
  name: string;
  object: T;
  oldObject: T;
}

interface Webhook<T> {
  /** Of the webhook, as errors show it. */
  name: string;
  rules: object[];
  /** The message of the refusal; undefined: the request is allowed. */
  refusal(request: AdmissionRequest<T>): string | undefined;
  /** Whether the server asks the webhook, tried by a dry run that it refuses. */
  isInForce(): Promise<boolean>;
}

/** Resolves with the webhook's end once it is in force. */
export async function serveWebhook<T>(
  cluster: ControlPlane,
  { name, rules, refusal, isInForce }: Webhook<T>,
): Promise<() => Promise<void>> {
  const server = createServer(serverCertificate(cluster.authority, ['127.0.0.1']), (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { request: AdmissionRequest<T> };
      const message = refusal(review.request);
      const verdict =
        message === undefined
          ? { allowed: true }
          : { allowed: false, status: { message, code: 403, reason: 'Forbidden' } };
      const body = {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: review.request.uid, ...verdict },
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = raw(cluster);
  await client.expect('POST', CONFIGURATIONS, {
    metadata: { name },
    webhooks: [
      {
        name,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(cluster.ca).toString('base64') },
        rules,
      },
    ],
  });
  while (!(await isInForce()));
  return async () => {
    await client.expect('DELETE', `${CONFIGURATIONS}/${name}`);
    while (await isInForce());
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  };
}
