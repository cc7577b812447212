import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { nodePlan, patchedNode } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';
import { viewOf } from '../../nodepool/plan/plan-view.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const planned = (pools: NodePool[], node: Node) =>
  viewOf(nodePlan(new ClusterState(pools, [node], []), 'n1') ?? assert.fail());
const texts = (changes: ReturnType<typeof planned>['changes']) =>
  changes.map(({ key, action, from, to, reason }) => [key, action, from, to, reason].join(' '));

/** The patched node needs no further patch. */
function settledBy(pools: NodePool[], node: Node) {
  const plan = planned(pools, node);
  const after = patchedNode(node, plan.patch ?? assert.fail('no patch'));
  assert.equal(planned(pools, { ...after, resourceVersion: '8' }).patch, undefined);
  return { plan, after };
}

test('sets no taint of a pool that the node leaves because a label is removed', () => {
  const a = aPool({ nodeSelector: { x: '1' }, labels: { tier: 'gold' } }, { name: 'a' });
  const b = aPool(
    { nodeSelector: { tier: 'gold' }, labels: { bb: '1' }, taints: [taint('e:NoExecute')] },
    { name: 'b' },
  );
  const node = aNode({ labels: { tier: 'gold' }, record: recordOf({ pool: 'a', labels: { tier: 'gold' } }) });
  const { plan, after } = settledBy([a, b], node);
  assert.deepEqual(plan.patch, { resourceVersion: '7', labels: { tier: null }, record: null });
  assert.deepEqual([plan.previous, plan.owner, after.taints], ['a', undefined, []]);
  assert.deepEqual(texts(plan.changes), ['tier remove gold  left the pool']);
});

test('adds a node to the next pool through a restored label in one patch', () => {
  const a = aPool({ nodeSelector: { x: '1' }, labels: { tier: 'gold' } }, { name: 'a' });
  const b = aPool(
    { nodeSelector: { tier: 'legacy' }, labels: { bb: '1' }, taints: [taint('e:NoExecute')] },
    { name: 'b' },
  );
  const record = recordOf({ pool: 'a', labels: { tier: 'gold' }, displaced: { labels: { tier: 'legacy' } } });
  const { plan, after } = settledBy([a, b], aNode({ labels: { tier: 'gold' }, record }));
  assert.deepEqual([plan.previous, plan.owner], ['a', 'b']);
  assert.deepEqual([after.labels, after.taints], [{ tier: 'legacy', bb: '1' }, [taint('e:NoExecute')]]);
  assert.deepEqual(texts(plan.changes), ['tier restore gold legacy left the pool', 'bb add  1 spec', 'e add   spec']);
});

test('names pools that move the node back and forth, and writes nothing', () => {
  const gpu = aPool({ labels: { accelerator: 'nvidia' } }, { name: 'gpu' });
  const nvidia = aPool({ nodeSelector: { accelerator: 'nvidia' }, labels: role('gpu') }, { name: 'nvidia' });
  const record = recordOf({ pool: 'gpu', labels: { accelerator: 'nvidia' } });
  const node = aNode({ labels: { accelerator: 'nvidia' }, record });
  const plan = nodePlan(new ClusterState([gpu, nvidia], [node], []), 'n1');
  assert.deepEqual(plan, { kind: 'circle', node, owner: 'gpu', previous: 'gpu', pools: ['gpu', 'nvidia'] });
});
