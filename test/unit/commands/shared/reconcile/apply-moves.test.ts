/** Which pools are reconciled after a node moves from one to another. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movesOf } from '../../../../../src/commands/shared/reconcile/apply.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Overrides } from '../../../../override.ts';
import { aPool } from '../../../nodepool/fixtures.ts';
import { member, pool, role } from '../fake-server.ts';
import { applied, move, names } from './run-apply.ts';

test('updates a third pool that matches a moved node but does not own it', async () => {
  const matching = aPool(
    { nodeSelector: { zone: 'z' } },
    { name: 'm', uid: 'uid-m', creationTimestamp: '2026-02-01T00:00:00Z' },
  );
  const node = { ...member('n1', 'a', 'a'), labels: { ...member('n1', 'a', 'a').labels, zone: 'z' } };
  const { others } = await applied([pool('a', { tier: 'a' }), pool('b', {}), matching], [node], move);
  assert.deepEqual(names(others), ['a', 'm']);
});

test('reports a failed membership change to the old pool as well', async () => {
  const port = () => ({
    nodes: { patch: () => Promise.reject(new NodepoolError('cluster', 'cannot patch Node "n1"')) },
  });
  const pools = [pool('a', { tier: 'a' }), pool('b', {})];
  const { chosen, others } = await applied(pools, [member('n1', 'a', 'a')], move, { port });
  assert.deepEqual(
    chosen[0]?.outcome?.failures.map(({ message }) => message),
    ['cannot patch Node "n1"'],
  );
  assert.deepEqual(names(others), ['a']);
});

test('applies the old pool to a node that could not be moved', async () => {
  const port = ({ nodes }: ClusterPort): Overrides => ({
    nodes: {
      patch: (name, patch, how) =>
        Object.hasOwn(patch.labels ?? {}, 'node-role.kubernetes.io/b')
          ? Promise.reject(new NodepoolError('cluster', 'cannot patch Node "n1"'))
          : nodes.patch(name, patch, how),
    },
  });
  const drifted = { ...member('n1', 'a', 'a'), labels: role('a') };
  const { others, live } = await applied([pool('a', { tier: 'a' }), pool('b', {})], [drifted], move, { port });
  assert.deepEqual(live.get('n1')?.labels, { ...role('a'), tier: 'a' });
  assert.deepEqual(others[0]?.outcome?.warnings, []);
});

test('reconciles both pools of a move, in either order', async () => {
  const pools = [pool('a', { tier: 'a' }), pool('b', { tier: 'b' })];
  const nodes = [{ ...member('n1', 'b', 'b'), labels: { ...role('a'), tier: 'b' } }, member('n2', 'b', 'b')];
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const { chosen, known, writes } = await applied(pools, nodes, { pools: order });
    assert.deepEqual(names(chosen), order);
    assert.deepEqual(
      movesOf(chosen).map(({ node, from, to }) => [node, from, to]),
      [['n1', 'b', 'a']],
    );
    assert.deepEqual([known.get('a')?.status?.nodeCount, known.get('b')?.status?.nodeCount], [1, 1]);
    assert.deepEqual(
      chosen.map(({ outcome }) => [outcome?.status?.nodeCount, outcome?.statusWritten]),
      [
        [1, true],
        [1, true],
      ],
    );
    assert.equal(writes.filter(write => write === 'node n1').length, 1);
  }
});
