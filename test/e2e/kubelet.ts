/** Requests of a kubelet, with its own client certificate. */
import { clientCertificate } from '../cluster/certificates.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { rawClient } from '../cluster/raw.ts';

/** A label that kubelets may set. */
export const GROUP = 'eks.amazonaws.com/nodegroup';
/** A label that NodeRestriction refuses. */
export const SECRET = 'node-restriction.kubernetes.io/pci';
export const TAINT = { key: 'dedicated', value: 'pci', effect: 'NoSchedule' } as const;

export function kubeletOf({ server, ca, authority }: ControlPlane, node: string) {
  const client = rawClient(server, ca, clientCertificate(authority, `system:node:${node}`, ['system:nodes']));
  const write = (path: string, body: object, method = 'PATCH', contentType?: string) =>
    client.request(method, `/api/v1/nodes${path}`, body, contentType);
  return {
    write,
    label: (labels: object) => write(`/${node}`, { metadata: { labels } }),
    labelByStatus: (labels: object) => write(`/${node}/status`, { metadata: { labels } }),
    annotate: (annotations: object) => write(`/${node}`, { metadata: { annotations } }),
    labelOf: (other: string) => write(`/${other}`, { metadata: { labels: { x: 'y' } } }),
    report: (status: object) => write(`/${node}/status`, { status }),
    heartbeat: () => write(`/${node}/status`, { status: { nodeInfo: { bootID: `${performance.now()}` } } }),
    register: (labels: object) => write('', nodeObject({ name: node, labels: labels as never }), 'POST'),
    unregister: () => write(`/${node}`, {}, 'DELETE'),
  };
}
