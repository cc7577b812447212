import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ForbiddenError, NodepoolError } from '../../../src/nodepool/errors.ts';
import type { Node } from '../../../src/nodepool/types.ts';
import { overlapTexts } from '../../../src/operations/overlaps.ts';
import type { ClusterReader, RawPool } from '../../../src/operations/ports.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
import { member, pool, role } from './fake-server.ts';

const created = aPool({ nodeSelector: { zone: 'z' } }, { name: 'new', creationTimestamp: '2030-01-01T00:00:00Z' });

function texts(nodes: Node[] | NodepoolError): Promise<string[]> {
  const list = async () => (nodes instanceof NodepoolError ? Promise.reject(nodes) : nodes);
  const cluster = { pools: { listCoerced: async () => [pool('web', {})] }, nodes: { list } };
  return overlapTexts([created as RawPool], cluster as unknown as ClusterReader);
}

test('names the nodes of other pools that a new pool selects', async () => {
  const web = ['a', 'b', 'c', 'd'].map(name => aNode({ name, labels: { ...role('web'), zone: 'z' } }));
  const free = aNode({ name: 'free', labels: { zone: 'z' } });
  assert.deepEqual(await texts([...web, free, member('e', 'web', 'x')]), [
    'pool new selects 4 nodes of other pools, which stay there: a (web), b (web), c (web) and 1 more',
  ]);
  assert.deepEqual(await texts([free]), []);
});

test('says nothing where nodes may not be read', async () => {
  assert.deepEqual(await texts(new ForbiddenError('no', [])), []);
});
