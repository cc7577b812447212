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

export const MARK = 'nodes.lailin.xyz/born';
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

export function markOf(node: LiveNode) {
  const mark = node.metadata.annotations?.[MARK];
  return mark === undefined ? undefined : (JSON.parse(mark) as { pool: string; labels: Record<string, string> });
}

export function recordOf(node: LiveNode): unknown {
  const record = node.metadata.annotations?.[RECORD];
  return record === undefined ? undefined : JSON.parse(record);
}
