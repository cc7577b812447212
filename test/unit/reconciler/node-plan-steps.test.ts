/** One patch for all that follows from one another, and what is told of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodePool } from '../../../src/nodepool/types.ts';
import { patchedNode, planOf } from '../../../src/reconciler/node-plan.ts';
import { View } from '../../../src/reconciler/view.ts';
import { aNode, aPool, recordOf, taint } from '../nodepool/fixtures.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const planned = (pools: NodePool[], node: Node) => planOf(new View(pools, [node], []), 'n1') ?? assert.fail();

/** A node that has just left `a`, and by the label that comes back joins `b`. */
function handedOver(spec: NodePool['spec'], held: { labels?: object; taints?: object } = {}) {
  const a = aPool({ labels: { tier: 'gold', ...held.labels } }, { name: 'a' });
  const b = aPool({ nodeSelector: { tier: 'legacy' }, ...spec }, { name: 'b' });
  const applied = { tier: 'gold', ...held.labels };
  const record = recordOf({
    pool: 'a',
    labels: applied,
    taints: held.taints,
    displaced: { labels: { tier: 'legacy' } },
  });
  const taints = Object.entries(held.taints ?? {}).map(([id, value]) => taint(id.replace(':', `=${value}:`)));
  return planned([a, b], aNode({ labels: applied, taints, record }));
}

test('what one pool takes back and the next sets again is not written, and not told', () => {
  const same = handedOver(
    { labels: { x: '1' }, taints: [taint('d=v:NoSchedule')] },
    { labels: { x: '1' }, taints: { 'd:NoSchedule': 'v' } },
  );
  assert.deepEqual(same.patch, {
    resourceVersion: '7',
    labels: { tier: 'legacy' },
    record: recordOf({ pool: 'b', labels: { x: '1' }, taints: { 'd:NoSchedule': 'v' } }),
  });
  assert.deepEqual(
    same.changes.map(({ key }) => key),
    ['tier'],
  );
});

test('what one pool takes back and the next sets to something else is one change', () => {
  const { patch, changes } = handedOver(
    { labels: { x: '2' }, taints: [taint('d=w:NoSchedule')] },
    { labels: { x: '1' }, taints: { 'd:NoSchedule': 'v' } },
  );
  assert.deepEqual(patch?.labels, { tier: 'legacy', x: '2' });
  assert.deepEqual(patch?.taints, [taint('d=w:NoSchedule')]);
  assert.deepEqual(changes, [
    { kind: 'label', key: 'tier', action: 'restore', from: 'gold', to: 'legacy', reason: 'left the pool' },
    { kind: 'label', key: 'x', action: 'change', from: '1', to: '2', reason: 'spec' },
    { kind: 'taint', key: 'd', effect: 'NoSchedule', action: 'change', from: 'v', to: 'w', reason: 'spec' },
  ]);
});

test('taints of one key and of two effects are two changes', () => {
  const { patch, changes } = handedOver({ taints: [taint('d=v:NoExecute')] }, { taints: { 'd:NoSchedule': 'v' } });
  assert.deepEqual(patch?.taints, [taint('d=v:NoExecute')]);
  assert.deepEqual(
    changes.map(({ key, effect, action }) => [key, effect, action]),
    [
      ['tier', undefined, 'restore'],
      ['d', 'NoSchedule', 'remove'],
      ['d', 'NoExecute', 'add'],
    ],
  );
});

test('a chain of pools ends where the last one has the node', () => {
  const pools = [aPool({ labels: { l0: '1' } }, { name: 'start' })];
  for (let step = 1; step <= 5; step++) {
    const next = step === 5 ? { done: 'yes' } : {};
    pools.push(aPool({ nodeSelector: { l0: 'x', [`at${step}`]: '1' }, labels: next }, { name: `p${step}` }));
  }
  const record = recordOf({ pool: 'start', labels: { l0: '1' }, displaced: { labels: { l0: 'x' } } });
  const plan = planned(pools, aNode({ labels: { l0: '1', at5: '1' }, record }));
  assert.deepEqual([plan.previous, plan.owner, plan.patch?.labels], ['start', 'p5', { l0: 'x', done: 'yes' }]);
  assert.equal(plan.circle, undefined);
});

test('a node of a pool whose spec is invalid stays as it is', () => {
  const invalid = aPool({ labels: { tier: 'gold' }, handler: 'NO' });
  const node = aNode({ labels: role('worker'), record: recordOf({ pool: 'worker', labels: { tier: 'silver' } }) });
  const plan = planned([invalid], node);
  assert.deepEqual([plan.owner, plan.changes, plan.patch], ['worker', [], undefined]);
});

test('rivals keep the labels by which they match, of pools that strip the others', () => {
  const strict = aPool({ unmanaged: 'Remove' });
  const rival = aPool({ nodeSelector: { team: 'b' } }, { name: 'x-rival' });
  const plan = planned([strict, rival], aNode({ labels: { ...role('worker'), team: 'b', other: 'x' } }));
  assert.deepEqual([plan.owner, plan.patch?.labels], ['worker', { other: null }]);
  assert.deepEqual(planned([strict], aNode({ labels: { ...role('worker'), team: 'b' } })).patch?.labels, {
    team: null,
  });
});

test('an unknown node has no plan', () => {
  assert.equal(planOf(new View([aPool()], [], []), 'n1'), undefined);
});

test('a node as its patch leaves it: labels set and taken off, taints and record replaced, all else as it was', () => {
  const node = aNode({
    labels: { a: '1', b: '2' },
    taints: [taint('t:NoExecute')],
    record: 'old',
    unschedulable: true,
  });
  assert.deepEqual(patchedNode(node, { resourceVersion: '7' }), node);
  assert.deepEqual(
    patchedNode(node, { resourceVersion: '7', labels: { a: null, c: '3' }, taints: [], record: 'new' }),
    { ...node, labels: { b: '2', c: '3' }, taints: [], record: 'new' },
  );
  assert.equal('record' in patchedNode(node, { resourceVersion: '7', record: null }), false);
});
