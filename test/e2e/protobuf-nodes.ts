/** Nodes of a real kube-apiserver, read in protobuf by the product and in JSON by the test. */
import type { TestContext } from 'node:test';
import { type Connection, connect } from '../../src/kube/connect.ts';
import { KeptAnnotations } from '../../src/kube/resources/kept-annotations.ts';
import { toNode, type WireNode } from '../../src/kube/resources/nodes.ts';
import type { Node } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { disableCompression, kubeconfigFor } from '../cluster/credentials.ts';
import { useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** @param prepare creates the nodes */
export function useProtobufNodes(prepare: (cluster: ControlPlane) => Promise<void>) {
  const cluster = useCluster({}, prepare);

  async function open(
    t: TestContext,
    server: string,
    { log = [] as string[], plain = false } = {},
  ): Promise<Connection> {
    const options = { env: {}, version: '0.0.0', log: (_level: number, text: () => string) => log.push(text()) };
    const realm = { server, dir: cluster().dir, authority: cluster().authority };
    const kubeconfig = await kubeconfigFor(realm, 'admin', { groups: ['system:masters'] });
    if (plain) await disableCompression(kubeconfig);
    const connection = await connect({ ...options, kubeconfig });
    t.after(() => connection.close());
    return connection;
  }

  async function inJson(): Promise<Node[]> {
    const list = (await raw(cluster()).expect('GET', '/api/v1/nodes')) as { items: WireNode[] };
    return list.items.map(item => toNode(item, new KeptAnnotations()));
  }

  return { cluster, open, inJson };
}
