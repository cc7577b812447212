import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, NODE_POOLS, NODES, pathOf, qualifiedName } from '../../../../src/kube/api/resource.ts';

test('builds paths and resource names', () => {
  assert.equal(pathOf(NODES), '/api/v1/nodes');
  assert.equal(pathOf(NODE_POOLS, 'a', 'status'), '/apis/nodes.lailin.xyz/v1/nodepools/a/status');
  assert.equal(pathOf(EVENTS), '/apis/events.k8s.io/v1/namespaces/default/events');
  assert.equal(pathOf(NODES, 'a b?'), '/api/v1/nodes/a%20b%3F');
  for (const name of ['', '.', '..', '../secrets?', 'a/status', 'a%2Fstatus']) {
    assert.throws(() => pathOf(NODES, name), { kind: 'input', message: `"${name}" is not a valid Node name` });
  }
  assert.equal(qualifiedName(NODES), 'nodes');
  assert.equal(qualifiedName(NODE_POOLS), 'nodepools.nodes.lailin.xyz');
});
