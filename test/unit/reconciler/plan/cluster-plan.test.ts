import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import { planCluster } from '../../../../src/reconciler/plan/cluster-plan.ts';
import type { Intent } from '../../../../src/reconciler/plan/intent.ts';
import { noExecuteOf } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
/** Pool p has displaced another value of the taint. */
const DISPLACED = recordOf({
  pool: 'p',
  taints: { 'y:NoExecute': 'ours' },
  displaced: { taints: { 'y:NoExecute': 'theirs' } },
});
const taintsOf = (state: ClusterState, intent: Intent) =>
  planCluster(state, intent).nodes.map(({ node, patch }) => [node.name, patch?.taints]);

test('plans the nodes of the given pools, and what deleted pools left behind', () => {
  const pools = [
    aPool({ taints: [taint('x:NoExecute')] }, { name: 'strict' }),
    aPool({ taints: [taint('x:NoSchedule')] }, { name: 'mild' }),
  ];
  const nodes = [
    aNode({ name: 'a', labels: role('strict') }),
    aNode({ name: 'b', labels: role('mild') }),
    aNode({ name: 'c', taints: [taint('y=ours:NoExecute')], record: DISPLACED }),
  ];
  const state = new ClusterState(pools, nodes, []);
  assert.deepEqual(taintsOf(state, { pools: ['strict', 'p'] }), [
    ['a', [taint('x:NoExecute')]],
    ['c', [taint('y=theirs:NoExecute')]],
  ]);
  const { nodes: plans } = planCluster(state, { pools: ['strict', 'mild', 'p'] });
  assert.deepEqual([...noExecuteOf(plans)], ['a x:NoExecute', 'c y=theirs:NoExecute']);
});

test('a deletion restores displaced values, and moves nodes to the next owner', () => {
  const pools = [
    aPool({ taints: [taint('y=ours:NoExecute')] }, { name: 'p' }),
    aPool(
      { taints: [taint('x:NoExecute')], nodeSelector: role('p') },
      { name: 'late', creationTimestamp: '2030-01-01T00:00:00Z' },
    ),
    aPool({ taints: [taint('y=ours:NoExecute')] }, { name: 'other' }),
  ];
  const nodes = [
    aNode({ name: 'a', labels: role('p'), taints: [taint('y=ours:NoExecute')], record: DISPLACED }),
    aNode({ name: 'b', taints: [taint('y=ours:NoExecute')], record: DISPLACED }),
    aNode({ name: 'c', labels: role('other') }),
    aNode({ name: 'fresh', labels: role('p') }),
  ];
  const deleted = (names: string[], known: NodePool[] = pools) =>
    taintsOf(new ClusterState(known, nodes, []), { pools: names, isDeletion: true });
  assert.deepEqual(deleted(['p']), [
    ['a', [taint('y=theirs:NoExecute'), taint('x:NoExecute')]],
    ['b', [taint('y=theirs:NoExecute')]],
    ['fresh', [taint('x:NoExecute')]],
  ]);
  const [p, ...others] = pools;
  assert.ok(p);
  const marked = { ...p, metadata: { ...p.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
  assert.deepEqual(deleted(['p'], [marked, ...others]), deleted(['p']), 'an earlier deletion may have marked it');
  assert.deepEqual(deleted(['p', 'late'])[0], ['a', [taint('y=theirs:NoExecute')]]);
  assert.deepEqual(deleted(['p'], []), [
    ['a', [taint('y=theirs:NoExecute')]],
    ['b', [taint('y=theirs:NoExecute')]],
  ]);
});

test('an edit plans nodes that join, leave, or join another pool through a new label', () => {
  const before = aPool({ nodeSelector: { x: '1' } }, { name: 'p' });
  const strict = aPool({ nodeSelector: { tier: 'gold' }, taints: [taint('e:NoExecute')] }, { name: 'strict' });
  const nodes = [
    aNode({ name: 'stays', labels: { x: '1', y: '1' }, record: recordOf({ pool: 'p' }) }),
    aNode({ name: 'leaves', labels: { x: '1' }, record: recordOf({ pool: 'p' }) }),
    aNode({ name: 'joins', labels: { y: '1' } }),
  ];
  const state = new ClusterState([before, strict], nodes, []);
  const edited = (spec: NodePool['spec']) => {
    const { nodes } = planCluster(state, { pools: ['p'], specs: [{ ...before, spec }] });
    return nodes.map(({ node, owner, patch }) => [node.name, owner, patch?.taints]);
  };
  assert.deepEqual(edited({ nodeSelector: { y: '1' } }), [
    ['joins', 'p', undefined],
    ['leaves', undefined, undefined],
  ]);
  assert.deepEqual(edited({ nodeSelector: { x: '1' }, labels: { tier: 'gold' } }).slice(0, 1), [
    ['leaves', 'p', undefined],
  ]);
});

test('plans a taint that arrives with a restored label', () => {
  const giver = aPool({ nodeSelector: { x: '1' }, labels: { tier: 'gold' } }, { name: 'giver' });
  const taker = aPool({ nodeSelector: { tier: 'legacy' }, taints: [taint('e:NoExecute')] }, { name: 'taker' });
  const record = recordOf({ pool: 'giver', labels: { tier: 'gold' }, displaced: { labels: { tier: 'legacy' } } });
  const state = new ClusterState([giver, taker], [aNode({ labels: { tier: 'gold' }, record })], []);
  assert.deepEqual(taintsOf(state, { pools: ['giver'] }), [['n1', [taint('e:NoExecute')]]]);
});
