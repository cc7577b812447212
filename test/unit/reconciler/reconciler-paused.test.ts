/** A pool that is paused: no write changes its nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dueOf } from '../../../src/nodepool/plan/plan.ts';
import { FINALIZER, type Node, type NodePool } from '../../../src/nodepool/types.ts';
import { planCluster } from '../../../src/reconciler/plan/cluster-plan.ts';
import { differs, isDue, nodePlan } from '../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';
import { begin, fresh, role, worker } from './node-server.ts';

const gold = { labels: { tier: 'gold' } };
const member = (labels: Record<string, string>, pool = 'worker'): Node =>
  aNode({ labels: { ...role(pool), ...labels }, record: recordOf({ pool, labels: { tier: 'gold' } }) });
const deleted = { deletionTimestamp: '2026-01-02T00:00:00Z' };
const other = (spec = {}): NodePool =>
  aPool({ labels: { tier: 'other' }, ...spec }, { name: 'other', uid: 'uid-other', finalizers: [FINALIZER] });

interface Case {
  title: string;
  pools: NodePool[];
  node: Node;
  /** The pool that forbids the write; undefined: it is written. */
  by: string | undefined;
  labels?: Record<string, string | null>;
}

const cases: Case[] = [
  { title: 'a node that joins', pools: [aPool({ ...gold, paused: true })], node: fresh, by: 'worker' },
  {
    title: 'a change of the spec',
    pools: [aPool({ labels: { tier: 'silver' }, paused: true })],
    node: member({ tier: 'gold' }),
    by: 'worker',
  },
  { title: 'drift', pools: [aPool({ ...gold, paused: true })], node: member({ tier: 'drifted' }), by: 'worker' },
  {
    title: 'a node that leaves',
    pools: [aPool({ ...gold, nodeSelector: { a: 'b' }, paused: true })],
    node: member({ tier: 'gold' }),
    by: 'worker',
  },
  {
    title: 'a node that would join another pool',
    pools: [aPool({ ...gold, nodeSelector: { a: 'b' }, paused: true }), other({ nodeSelector: role('worker') })],
    node: member({ tier: 'gold' }),
    by: 'worker',
  },
  {
    title: 'a node of another pool that would join the paused pool',
    pools: [aPool({ ...gold, nodeSelector: { a: 'b' } }), other({ nodeSelector: role('worker'), paused: true })],
    node: member({ tier: 'gold' }),
    by: 'other',
  },
  {
    title: 'a node that joins by labels of another pool',
    pools: [
      aPool({ labels: { kind: 'x' }, nodeSelector: { tier: 'gold' }, unmanaged: 'Remove' }),
      other({ nodeSelector: { kind: 'x' }, labels: { more: 'x' }, paused: true }),
    ],
    node: aNode({ labels: { tier: 'gold' } }),
    // It keeps the label by which it is the first pool's, so it is no member of the other.
    by: undefined,
    labels: { kind: 'x' },
  },
  {
    title: 'a node whose pool is being deleted',
    pools: [aPool({ ...gold, paused: true }, deleted)],
    node: member({ tier: 'gold' }),
    by: undefined,
    labels: { tier: null },
  },
  {
    title: 'a node released by a deleted pool that the paused pool then matches',
    pools: [aPool(gold, deleted), other({ nodeSelector: role('worker'), paused: true })],
    node: member({ tier: 'gold' }),
    by: undefined,
    labels: { tier: null },
  },
  {
    title: 'a node with the record of a missing pool that the paused pool matches',
    pools: [other({ nodeSelector: role('worker'), paused: true })],
    node: member({ tier: 'gold' }),
    by: undefined,
    labels: { tier: null },
  },
  {
    title: 'a released node that a restored value would add to the paused pool',
    pools: [aPool(gold, deleted), other({ nodeSelector: { tier: 'before' }, paused: true })],
    node: aNode({
      labels: { tier: 'gold' },
      record: recordOf({ pool: 'worker', labels: { tier: 'gold' }, displaced: { labels: { tier: 'before' } } }),
    }),
    by: undefined,
    labels: { tier: 'before' },
  },
  {
    title: 'a node that leaves, and joins another pool by a restored value',
    pools: [
      aPool({ ...gold, nodeSelector: { a: 'b' }, paused: true }),
      other({ nodeSelector: { tier: 'before' }, labels: { more: 'x' } }),
    ],
    node: aNode({
      labels: { tier: 'gold' },
      record: recordOf({ pool: 'worker', labels: { tier: 'gold' }, displaced: { labels: { tier: 'before' } } }),
    }),
    by: 'worker',
    labels: { tier: 'before', more: 'x' },
  },
  { title: 'a pool with paused: false', pools: [aPool({ ...gold, paused: false })], node: fresh, by: undefined },
];

for (const { title, pools, node, by, labels } of cases) {
  test(`${title}: ${by === undefined ? 'written' : 'not written'}`, () => {
    const state = new ClusterState(pools, [node], []);
    // The second plan must not come from a cache that says that there is nothing to do.
    for (let at = 0; at < 2; at++) {
      const plan = nodePlan(state, node.name);
      assert.ok(plan);
      assert.equal(plan.kind === 'paused' ? plan.pool : undefined, by);
      assert.deepEqual([isDue(plan), differs(plan)], [by === undefined, true]);
      if (labels !== undefined) assert.deepEqual(dueOf(plan)?.patch?.labels, labels);
    }
    const { nodes, later } = planCluster(state, { pools: pools.map(({ metadata }) => metadata.name) });
    assert.deepEqual([nodes.length, later.length], by === undefined ? [1, 0] : [0, 1]);
  });
}

test('a deleted pool releases a node, and the paused pool does not write it', async () => {
  const paused = other({ nodeSelector: role('worker'), paused: true });
  const { server, state, writer } = begin(member({ tier: 'gold' }), [aPool(gold, deleted), paused]);
  const move = await writer.write('n1');
  assert.deepEqual([move?.from, move?.to], ['worker', undefined]);
  assert.deepEqual([server.sent.length, server.live?.labels, server.live?.record], [1, role('worker'), undefined]);
  assert.equal(state.ownership('n1')?.owner, 'other');
  assert.equal(writer.needsWrite('n1'), false);
});

test('does not write a node when its pool is paused after the node was selected', async () => {
  const { server, state, writer } = begin(fresh);
  assert.equal(writer.needsWrite('n1'), true);
  const { metadata, spec } = worker;
  state.setPool({ ...worker, metadata: { ...metadata, generation: 2 }, spec: { ...spec, paused: true } });
  assert.equal(await writer.write('n1'), undefined);
  assert.deepEqual(server.requests, []);
  state.setPool({ ...worker, metadata: { ...metadata, generation: 3 } });
  assert.equal((await writer.write('n1'))?.to, 'worker');
});

test('without caches, reads a pool again before a write if the read is over a second old', async () => {
  const { metadata, spec } = worker;
  const paused = { ...worker, metadata: { ...metadata, generation: 2 }, spec: { ...spec, paused: true } };
  const answers = {
    paused,
    unpaused: { ...paused, spec },
    recreated: { ...paused, metadata: { ...metadata, uid: 'b' } },
  };
  for (const [title, answer] of Object.entries(answers)) {
    const { server, clock, writer } = begin(fresh, [worker], { hasCaches: false });
    server.port.pools.getCoerced = async name => {
      server.requests.push(`get pool ${name}`);
      return answer;
    };
    await clock.advance(1_000);
    const move = await writer.write('n1');
    assert.equal(move?.to, title === 'paused' ? undefined : 'worker', title);
    assert.equal(server.requests[0], 'get pool worker', title);
  }
  const { server, writer } = begin(fresh, [worker], { hasCaches: false });
  await writer.write('n1');
  assert.deepEqual(server.requests, ['patch n1'], 'within a second it is not');
});
