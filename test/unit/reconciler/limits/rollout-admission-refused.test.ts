/** RefusedNodes: when a refused node is forgotten. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusedNodes } from '../../../../src/reconciler/limits/rollout-admission.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode } from '../../nodepool/fixtures.ts';

test('forgets a refusal when the node is recreated', () => {
  const state = new ClusterState([], [aNode({ uid: 'a' })], []);
  const refused = new RefusedNodes(state);
  refused.add('n1');
  assert.equal(refused.has('n1'), true);
  state.setNode(aNode({ uid: 'b', resourceVersion: '9' }));
  assert.equal(refused.has('n1'), false);
  refused.add('n1');
  assert.equal(refused.has('n1'), true);
  refused.delete('n1');
  assert.equal(refused.has('n1'), false);
});

test('remembers at most 100 refused nodes that no longer exist', () => {
  const state = new ClusterState([], [aNode({ name: 'stays', uid: 'stays' })], []);
  const refused = new RefusedNodes(state);
  refused.add('stays');
  refused.add('unknown');
  for (let at = 0; at < 10_000; at++) {
    const [name, uid] = [`n${at}`, `uid-${at}`];
    state.setNode(aNode({ name, uid }));
    refused.add(name);
    state.removeNode(name, uid);
    assert.ok(refused.size <= 101, `${refused.size}`);
  }
  assert.equal(refused.has('stays'), true);
});
