/** What an order changes on a node, and for which nodes it is carried out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelsToJoin, labelsToLeave } from '../../../src/nodepool/member-labels.ts';
import type { NodePool } from '../../../src/nodepool/types.ts';
import { nodesToSettle, notApplied, type Order, planOrder } from '../../../src/reconciler/order.ts';
import { View } from '../../../src/reconciler/view.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const a = aPool({ nodeSelector: { team: 'a' }, labels: { tier: 'gold' } }, { name: 'a' });
const b = aPool({ nodeSelector: { team: 'b' }, labels: { tier: 'silver' } }, { name: 'b' });
const inA = aNode({
  labels: { team: 'a', tier: 'gold' },
  record: recordOf({ pool: 'a', labels: { tier: 'gold' } }),
});

const moveTo = (pool: NodePool, source?: NodePool): Order => ({
  to: pool.metadata.name,
  labels: (node, claim) => labelsToJoin(node, claim.record, pool, source),
});
const outOf = (pool: NodePool): Order => ({ to: undefined, labels: node => labelsToLeave(node, pool, [], true) });

test('between pools that select by one key, its value changes', () => {
  const plan = planOrder(new View([a, b], [inA], []), 'n1', moveTo(b, a));
  assert.deepEqual(plan?.patch?.labels, { team: 'b', tier: 'silver' });
  assert.deepEqual(plan?.changes, [
    { kind: 'label', key: 'team', action: 'change', from: 'a', to: 'b', reason: 'membership' },
    { kind: 'label', key: 'tier', action: 'change', from: 'gold', to: 'silver', reason: 'spec' },
  ]);
});

test('a node that joins gets the label, and one that leaves loses it', () => {
  const joined = planOrder(new View([a], [aNode()], []), 'n1', moveTo(a));
  assert.deepEqual(joined?.changes[0], { kind: 'label', key: 'team', action: 'add', to: 'a', reason: 'membership' });
  assert.deepEqual([joined?.previous, joined?.owner], [undefined, 'a']);
  const left = planOrder(new View([a], [inA], []), 'n1', outOf(a));
  assert.deepEqual(left?.changes[0], {
    kind: 'label',
    key: 'team',
    action: 'remove',
    from: 'a',
    reason: 'membership',
  });
  assert.deepEqual([left?.previous, left?.owner, left?.patch?.record], ['a', undefined, null]);
});

test('a node that has the label already gets what is left to set, and no change of membership', () => {
  const plan = planOrder(new View([a], [aNode({ labels: { team: 'a' } })], []), 'n1', moveTo(a));
  assert.deepEqual(plan?.patch?.labels, { tier: 'gold' });
  assert.deepEqual(
    plan?.changes.map(({ key }) => key),
    ['tier'],
  );
});

test('a node that nobody knows has no plan', () => {
  assert.equal(planOrder(new View([a], [], []), 'n1', moveTo(a)), undefined);
});

test('a pool that strips leaves the labels by which others match the node that it gets', () => {
  const strict = aPool({ unmanaged: 'Remove' }, { name: 'strict' });
  const node = aNode({ labels: { team: 'b', other: 'x' } });
  const plan = planOrder(new View([strict, b], [node], []), 'n1', moveTo(strict));
  assert.deepEqual([plan?.owner, plan?.patch?.labels], ['strict', { ...role('strict'), other: null }]);
});

test('why a pool gets no node comes with the next step', () => {
  const plan = (pool: NodePool) => planOrder(new View([a, pool], [inA], []), 'n1', moveTo(b, a));
  const going = { ...b, metadata: { ...b.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  assert.throws(() => plan(going), { kind: 'input', next: 'choose another pool' });
  const invalid = { ...b, spec: { ...b.spec, handler: 'NO' } };
  assert.throws(() => plan(invalid), { kind: 'input', next: /`kubectl nodepool edit b`/ });
});

test('orders are carried out by one pool, on their nodes alone; without orders each looks at all that it holds', () => {
  const held = aNode({ name: 'held', record: recordOf({ pool: 'a' }) });
  const view = new View([a, b], [inA, held], []);
  const orders = { pool: 'a', nodes: new Map([['n1', outOf(a)]]) };
  assert.deepEqual(nodesToSettle(view, 'a', undefined).sort(), ['held', 'n1']);
  assert.deepEqual(nodesToSettle(view, 'a', orders), ['n1']);
  assert.deepEqual(nodesToSettle(view, 'b', orders), []);
});

test('a pool that is gone or going lets go of all it has, whatever was ordered', () => {
  const held = aNode({ name: 'held', record: recordOf({ pool: 'a' }) });
  const orders = { pool: 'a', nodes: new Map([['n1', outOf(a)]]) };
  const going = { ...a, metadata: { ...a.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
  for (const pools of [[going], []]) {
    assert.deepEqual(nodesToSettle(new View(pools, [inA, held], []), 'a', orders).sort(), ['held', 'n1']);
  }
});

test('nodes that were not ordered are counted, with the command that sees to them', () => {
  assert.match(notApplied('a', 1), /^1 other node of it is not as the pool says.* `kubectl nodepool reconcile a`$/);
  assert.match(notApplied('a', 2), /^2 other nodes of it are not as the pool says/);
});
