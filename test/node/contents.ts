/** What a cluster has, to compare it before an installation and after its end. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { writtenKeys } from '../cluster/etcd-keys.ts';
import { raw } from '../cluster/raw.ts';
import { type LiveNode, taintsOf } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';

/** What Kubernetes writes by itself: Events, which expire, and the leases of nodes. */
const KUBERNETES_OWN = /^\/registry\/(events|leases\/kube-node-lease)\//;

export interface Contents {
  /** The keys of etcd. */
  keys: string[];
  /** Labels, annotations and taints of each node. */
  nodes: unknown[][];
  /** The rules of the roles that others are aggregated to. */
  roles: unknown[];
}

export async function contents(cluster: ControlPlane): Promise<Contents> {
  const api = raw(cluster);
  const keys = Object.keys(await writtenKeys(cluster.etcdUrl)).filter(key => !KUBERNETES_OWN.test(key));
  const { items } = (await api.expect('GET', '/api/v1/nodes')) as { items: LiveNode[] };
  const nodes = items.map(node => [
    node.metadata.name,
    node.metadata.labels,
    node.metadata.annotations,
    taintsOf(node),
  ]);
  const roles = await Promise.all(
    ['view', 'edit', 'admin'].map(async role => {
      const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role}`;
      return ((await api.expect('GET', path)) as { rules: unknown }).rules;
    }),
  );
  return { keys: keys.toSorted(), nodes, roles };
}

/** Waits, since controllers of Kubernetes follow later; fails with leftover or missing objects. */
export async function becomes(cluster: ControlPlane, expected: Contents | undefined): Promise<void> {
  assert.ok(expected);
  await eventually('all is as before', async () => isDeepStrictEqual(await contents(cluster), expected), 30_000).catch(
    async () => {
      const { keys, ...rest } = await contents(cluster);
      const { keys: before, ...others } = expected;
      const [left, missing] = [new Set(keys).difference(new Set(before)), new Set(before).difference(new Set(keys))];
      assert.deepEqual([...left, ...[...missing].map(key => `missing: ${key}`)], []);
      assert.deepEqual(rest, others);
    },
  );
}
