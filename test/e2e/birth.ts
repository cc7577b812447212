/** For tests of manifests/born-in-pool.yaml. */
import assert from 'node:assert/strict';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { kubectl } from '../cluster/harness.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import type { LiveNode, TestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

/** Names of two pools that match a node. The server evaluates pools in an order of its own, so several are tried. */
export const OLDER_AND_YOUNGER = [
  ['a', 'z'],
  ['z', 'a'],
  ['m', 'b'],
  ['m', 'y'],
] as const;

export const BIRTH_RECORD = 'nodes.lailin.xyz/born';
export const RECORD = 'nodes.lailin.xyz/applied';
export const POLICY = 'manifests/born-in-pool.yaml';

export async function apply(cluster: ControlPlane, ...files: string[]): Promise<void> {
  const { code, stderr } = await kubectl(cluster, ['apply', ...files.flatMap(file => ['-f', file])]);
  assert.deepEqual([code, stderr], [0, '']);
}

/** Resolves once the server evaluates the policy with this pool, which takes some seconds. */
export async function inForce(testEnv: TestEnv, pool: string, labels: Record<string, string>): Promise<void> {
  const node = nodeObject({ name: 'probe', labels });
  // A dry run goes through admission, too.
  await eventually(
    `nodes are born in pool ${pool}`,
    async () => {
      const born = (await raw(testEnv.cluster()).expect('POST', '/api/v1/nodes?dryRun=All', node)) as LiveNode;
      return markOf(born)?.pool === pool;
    },
    60_000,
  );
}

const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';

/** A CRD without rules, as of an earlier version. Before the policy is applied: the server goes on watching pools by the former CRD. */
export async function withoutRules({ cluster }: TestEnv): Promise<void> {
  const api = raw(cluster());
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const crd = (await api.expect('GET', CRD)) as { spec: { versions: object[] } };
  const versions = crd.spec.versions.map(version => ({ ...version, schema: { openAPIV3Schema: schema } }));
  await api.expect('PATCH', CRD, { spec: { versions } });
  await eventually('fields are no longer dropped', async () => {
    const probe = {
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      metadata: { name: 'other' },
      spec: { labels: 3 },
    };
    return (await api.request('POST', '/apis/nodes.lailin.xyz/v1/nodepools?dryRun=All', probe)).status === 201;
  });
}

export function markOf(node: LiveNode) {
  const birthRecord = node.metadata.annotations?.[BIRTH_RECORD];
  return birthRecord === undefined
    ? undefined
    : (JSON.parse(birthRecord) as { pool: string; labels: Record<string, string> });
}

export function recordOf(node: LiveNode): unknown {
  const record = node.metadata.annotations?.[RECORD];
  return record === undefined ? undefined : JSON.parse(record);
}
