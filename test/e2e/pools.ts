/** Pools and the CRD for the tests of the ports. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { load } from 'js-yaml';
import type { RawPool } from '../../src/kube/cluster.ts';
import type { Connection } from '../../src/kube/connect.ts';
import type { NodePool } from '../../src/nodepool/types.ts';

export async function readCrd(): Promise<Record<string, unknown>> {
  const manifest = new URL('../../manifests/nodepools.nodes.lailin.xyz.yaml', import.meta.url);
  return load(await readFile(manifest, 'utf8')) as Record<string, unknown>;
}

export function pool(name: string, more: Partial<NodePool> = {}): RawPool {
  return { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name }, spec: {}, ...more };
}

export async function createPool({ cluster }: Connection, body: RawPool): Promise<RawPool> {
  const made = await cluster.pools.create(body);
  assert.equal(made.kind, 'created');
  return made.pool;
}
