/** A request is checked as a whole before any write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MoveOptions } from '../../../../../src/commands/shared/move/plan-moves.ts';
import type { NodePool } from '../../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';
import { planMembershipChange } from '../../../nodepool/plan/plan-view.ts';
import { member, pool, role } from '../fake-server.ts';
import { A, B, planned, refused } from './run-plan-moves.ts';

const marked = (of: NodePool): NodePool => ({
  ...of,
  metadata: { ...of.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});
const unreadable = (of: NodePool, field: string): NodePool => ({
  ...of,
  unreadable: [{ field, message: 'is no map', reason: 'invalid' } as never],
});

test('plans a move as one patch of labels, values and record for the new pool', async () => {
  const nodes = [member('n1', 'a', 'a'), member('n2', 'a', 'a'), member('n3', 'b', 'b')];
  const { intent, plan, names, unchanged, warnings } = await planned([A, B], nodes, {
    nodes: ['n1', 'n3', 'n1', 'n3'],
  });
  assert.deepEqual([names, unchanged, warnings], [['n1'], ['n3'], []]);
  assert.deepEqual(intent.pools, ['b']);
  assert.deepEqual(
    [...intent.changes].map(([node, { pool: of, to }]) => [node, of, to]),
    [['n1', 'b', 'b']],
  );
  assert.deepEqual(plan.nodes[0]?.patch?.labels, { 'node-role.kubernetes.io/a': null, ...role('b'), tier: 'b' });
});

test('plans a removal without a new pool, and removes what the pool set', async () => {
  const { intent, plan } = await planned([A], [member('n1', 'a', 'a')], { kind: 'remove', pool: 'a', nodes: ['n1'] });
  assert.deepEqual(
    [...intent.changes].map(([node, { pool: of, to }]) => [node, of, to]),
    [['n1', 'a', undefined]],
  );
  assert.deepEqual(plan.nodes[0]?.patch?.labels, { 'node-role.kubernetes.io/a': null, tier: null });
});

test('--from alone moves every node of that pool', async () => {
  const nodes = [member('n1', 'a', 'a'), aNode({ name: 'n2' }), member('n3', 'a', 'a')];
  const { names, unchanged } = await planned([A, B], nodes, { from: 'a' });
  assert.deepEqual([names, unchanged], [['n1', 'n3'], []]);
});

test('requires exactly one way to choose nodes', async () => {
  const none = (kind: MoveOptions['kind']) => refused([A, B], [], { kind });
  assert.deepEqual(await none('move'), [
    'usage',
    'move needs the names of nodes, or -l SELECTOR',
    'for example: `kubectl nodepool move NODE... --to b`',
  ]);
  assert.deepEqual(await none('add'), [
    'usage',
    'add needs the names of nodes, or -l SELECTOR',
    'write the pool first, then the nodes: `kubectl nodepool add b NODE...`',
  ]);
  assert.deepEqual(await refused([A, B], [], { nodes: ['n1'], selector: 'x=y' }), [
    'usage',
    'names of nodes and -l cannot be used together',
    'use one of the two',
  ]);
});

test('accepts a selector that matches no node', async () => {
  for (const kind of ['add', 'remove', 'move'] as const) {
    const { names, unchanged } = await planned([A, B], [], { kind, selector: 'x=y' }, []);
    assert.deepEqual([names, unchanged], [[], []]);
  }
  assert.equal((await refused([A], [], { selector: 'x=y' }, []))[1], 'nodepool "b" not found');
});

test('names all pools and nodes that do not exist', async () => {
  assert.deepEqual((await refused([], [], { nodes: ['n1'], from: 'a' }))[1], 'nodepools "b", "a" not found');
  assert.deepEqual((await refused([A], [], { nodes: ['n1'], from: 'a' }))[1], 'nodepool "b" not found');
  const nodes = [member('n2', 'a', 'a')];
  assert.deepEqual((await refused([A, B], nodes, { nodes: ['n1', 'n2', 'n3'] }))[1], 'nodes "n1", "n3" not found');
});

test('leaves out a selected node that appeared after the nodes were read', async () => {
  const { names, unchanged } = await planned([A, B], [member('n1', 'a', 'a')], { selector: 'x' }, [
    member('n1', 'a', 'a'),
    aNode({ name: 'late' }),
  ]);
  assert.deepEqual([names, unchanged], [['n1'], []]);
});

test('refuses nodes for a pool that is being deleted, and releases its own', async () => {
  const nodes = [member('n1', 'a', 'a')];
  assert.deepEqual(await refused([A, marked(B)], nodes, { nodes: ['n1'] }), [
    'input',
    'pool b is being deleted',
    'use another pool',
  ]);
  assert.deepEqual(await refused([marked(A)], nodes, { kind: 'remove', pool: 'a', nodes: ['n1'] }), [
    'input',
    'pool a is being deleted and releases all its nodes',
    'finish the deletion with `kubectl nodepool delete a`',
  ]);
});

test('refuses a removal from a pool with an unreadable selector', async () => {
  const nodes = [member('n1', 'a', 'a')];
  const error = [
    'input',
    'pool a has an unreadable selector: the labels of its members are unknown',
    'fix the selector with `kubectl nodepool edit a`',
  ];
  const odd = unreadable(A, 'spec.nodeSelector');
  assert.deepEqual(await refused([odd], nodes, { kind: 'remove', pool: 'a', nodes: ['n1'] }), error);
  // It keeps what it holds.
  const holding = [
    { ...nodes[0], ...aNode({ name: 'n1', labels: role('a'), record: recordOf({ pool: 'a', labels: {} }) }) },
  ];
  assert.deepEqual(await refused([odd, B], holding, { nodes: ['n1'] }), error);
});

test('`add` refuses nodes of another pool', async () => {
  const nodes = [member('n1', 'a', 'a'), aNode({ name: 'n2', uid: 'uid-n2' })];
  assert.deepEqual(await refused([A, B], nodes, { kind: 'add', nodes: ['n1'] }), [
    'input',
    'node n1 belongs to pool a',
    'move the node: `kubectl nodepool move n1 --to b`',
  ]);
  assert.deepEqual((await planned([A, B], nodes, { kind: 'add', nodes: ['n2'] })).names, ['n2']);
});

test('--from with names requires that each node is in that pool or the new one', async () => {
  const nodes = [member('n1', 'a', 'a'), member('n2', 'b', 'b'), aNode({ name: 'n3' }), member('n4', 'c', 'c')];
  const pools = [A, B, pool('c', { tier: 'c' })];
  const from = (...names: string[]) => ({ from: 'a', nodes: names });
  const next = 'leave out the node, or --from';
  assert.deepEqual(await refused(pools, nodes, from('n1', 'n3')), ['input', '--from a: node n3 is in no pool', next]);
  assert.deepEqual(await refused(pools, nodes, from('n4')), ['input', '--from a: node n4 belongs to pool c', next]);
  const { names, unchanged } = await planned(pools, nodes, from('n1', 'n2'));
  assert.deepEqual([names, unchanged], [['n1'], ['n2']]);
});

test('a selector with --from chooses nodes of that pool', async () => {
  const nodes = [member('n1', 'a', 'a'), member('n2', 'b', 'b'), aNode({ name: 'n3', uid: 'uid-n3' })];
  const late = aNode({ name: 'late' });
  const { names, intent } = await planned([A, B], nodes, { selector: 'x', from: 'a' }, [...nodes, late]);
  assert.deepEqual([names, [...intent.changes.keys()]], [['n1'], ['n1']]);
  const removal = await planned([A, B], nodes, { kind: 'remove', pool: 'a', selector: 'x' }, [...nodes, late]);
  assert.deepEqual([removal.names, removal.unchanged], [['n1'], []]);
});

test('names pools that would move a node back and forth', async () => {
  const gpu = pool('gpu', { accelerator: 'nvidia' });
  const nvidia = aPool({ nodeSelector: { accelerator: 'nvidia' }, labels: role('gpu') }, { name: 'nvidia', uid: 'u' });
  const record = recordOf({ pool: 'gpu', labels: { accelerator: 'nvidia' } });
  const node = aNode({ name: 'n1', labels: { ...role('gpu'), accelerator: 'nvidia' }, record });
  assert.deepEqual(await refused([gpu, nvidia], [node], { pool: 'nvidia', nodes: ['n1'] }), [
    'cluster',
    'node n1 was not written: the labels of pools gpu, nvidia move nodes to another pool in an endless loop',
    'change the labels or the nodeSelector of one of them',
  ]);
});

test('counts what unmanaged: Remove strips from the nodes', async () => {
  const strict = aPool({ unmanaged: 'Remove' }, { name: 'b', uid: 'uid-b' });
  const nodes = [aNode({ name: 'n1', labels: { x: '1', y: '2' } }), aNode({ name: 'n2', labels: { z: '3' } })];
  const { warnings } = await planned([strict], nodes, { kind: 'add', nodes: ['n1', 'n2'] });
  assert.deepEqual(warnings, [
    'pool b has unmanaged: Remove: other labels and taints of these nodes (3 in all) are removed, including those of cloud, CNI and GPU software; they are restored when the pool releases the nodes',
  ]);
});

test('plans a change again with the current nodes and pools', async () => {
  const { state, intent } = await planned([A, B], [member('n1', 'a', 'a')], { nodes: ['n1'], from: 'a' });
  const change = intent.changes.get('n1') ?? assert.fail();
  state.setNode({ ...member('n1', 'a', 'a'), labels: {}, resourceVersion: '9' });
  assert.throws(() => planMembershipChange(state, 'n1', change), { message: '--from a: node n1 is in no pool' });
  // It joined the new pool by another change.
  state.setNode({ ...member('n1', 'b', 'b'), resourceVersion: '10' });
  assert.equal(planMembershipChange(state, 'n1', change)?.patch, undefined);
  state.removePool('b', 'uid-b');
  assert.throws(() => planMembershipChange(state, 'n1', change), {
    kind: 'cluster',
    message: 'pool b was deleted meanwhile',
  });
});

test('skips a node that another pool took, and one that already left', async () => {
  const adding = await planned([A, B], [aNode({ name: 'n1', uid: 'uid-n1' })], { kind: 'add', nodes: ['n1'] });
  adding.state.setNode({ ...member('n1', 'a', 'a'), resourceVersion: '9' });
  const change = adding.intent.changes.get('n1') ?? assert.fail();
  assert.throws(() => planMembershipChange(adding.state, 'n1', change), { message: 'node n1 belongs to pool a' });
  // The same pool owns it by now: nothing is left to do.
  adding.state.setNode({ ...member('n1', 'b', 'b'), resourceVersion: '10' });
  assert.equal(planMembershipChange(adding.state, 'n1', change)?.patch, undefined);

  const removing = await planned([A], [member('n1', 'a', 'a')], { kind: 'remove', pool: 'a', nodes: ['n1'] });
  removing.state.setNode(aNode({ name: 'n1', uid: 'uid-n1', resourceVersion: '9' }));
  const leaving = removing.intent.changes.get('n1') ?? assert.fail();
  assert.equal(planMembershipChange(removing.state, 'n1', leaving)?.patch, undefined);
});

test('suggests the right order when pool and node are swapped', async () => {
  const nodes = [aNode({ name: 'n1' }), aNode({ name: 'n2' })];
  assert.deepEqual(await refused([A], nodes, { kind: 'add', pool: 'n1', nodes: ['n2', 'a'] }), [
    'input',
    'nodepool "n1" not found: it is a node, and "a" is a pool',
    'write the pool first: `kubectl nodepool add a n1 n2`',
  ]);
});
