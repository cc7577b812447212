/** Mutating admission policies and a mutating webhook that change node writes, in force once created. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { serverCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from '../e2e/watching.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const NODE_UPDATES = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] };

export type Mutation =
  | { patchType: 'ApplyConfiguration'; applyConfiguration: { expression: string } }
  | { patchType: 'JSONPatch'; jsonPatch: { expression: string } };

export interface Mutator {
  /** Resolves when writes are no longer changed. May be called twice. */
  end(): Promise<void>;
}

interface Written {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { taints?: { key: string }[] };
}

/** A dry-run write of one node, and whether the response was changed, whatever others have written to that node. */
export interface Probe {
  node: string;
  patch: object;
  isChanged: (answer: Written) => boolean;
}

/** A policy for nodes with this name prefix. */
export function mutatingPolicy(
  cluster: ControlPlane,
  name: string,
  { prefix, mutation, probe }: { prefix: string; mutation: Mutation; probe: Probe },
): Promise<Mutator> {
  return mutatingPolicyFor(cluster, name, {
    rule: NODE_UPDATES,
    condition: `object.metadata.name.startsWith('${prefix}')`,
    mutation,
    isInForce: () => isInForce(cluster, probe),
  });
}

/** @param condition in CEL */
export async function mutatingPolicyFor(
  cluster: ControlPlane,
  name: string,
  {
    rule,
    condition,
    mutation,
    isInForce,
  }: { rule: object; condition: string; mutation: Mutation; isInForce: () => Promise<boolean> },
): Promise<Mutator> {
  const client = raw(cluster);
  await client.expect('POST', `${ADMISSION}/mutatingadmissionpolicies`, {
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: 'meant', expression: condition }],
      mutations: [mutation],
    },
  });
  await client.expect('POST', `${ADMISSION}/mutatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name },
  });
  // A policy for a new CRD is in force after the server's next discovery, every 30 s.
  await eventually(`${name} is in force`, isInForce, 60_000);
  return {
    async end() {
      await client.request('DELETE', `${ADMISSION}/mutatingadmissionpolicybindings/${name}`);
      await client.request('DELETE', `${ADMISSION}/mutatingadmissionpolicies/${name}`);
      await eventually(`${name} has ended`, async () => !(await isInForce()));
    },
  };
}

/** A webhook that sets a label of nodes with this name prefix. */
export async function mutatingWebhook(
  cluster: ControlPlane,
  name: string,
  { prefix, label, value, probe }: { prefix: string; label: string; value: string; probe: Probe },
): Promise<Mutator> {
  const server = createServer(serverCertificate(cluster.authority, ['127.0.0.1']), (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string; name: string } };
      const patch = [{ op: 'add', path: `/metadata/labels/${label}`, value }];
      const mutation = { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
      const answer = { uid: review.request.uid, allowed: true };
      const isMeant = review.request.name.startsWith(prefix);
      const body = {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { ...answer, ...(isMeant ? mutation : {}) },
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const { port } = server.address() as AddressInfo;
  const client = raw(cluster);
  const path = `${ADMISSION}/mutatingwebhookconfigurations`;
  await client.expect('POST', path, {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(cluster.ca).toString('base64') },
        rules: [NODE_UPDATES],
      },
    ],
  });
  await eventually(`${name} is in force`, () => isInForce(cluster, probe));
  return {
    async end() {
      await client.request('DELETE', `${path}/${name}`);
      await eventually(`${name} has ended`, async () => !(await isInForce(cluster, probe)));
      server.closeAllConnections();
      server.close();
    },
  };
}

async function isInForce(cluster: ControlPlane, { node, patch, isChanged }: Probe): Promise<boolean> {
  return isChanged((await raw(cluster).expect('PATCH', `/api/v1/nodes/${node}?dryRun=All`, patch)) as Written);
}
