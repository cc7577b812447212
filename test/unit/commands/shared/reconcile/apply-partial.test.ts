/** A run that selects nodes of a pool whose other nodes could not be written before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Intent } from '../../../../../src/reconciler/plan/intent.ts';
import type { Overrides } from '../../../../override.ts';
import { aNode } from '../../../nodepool/fixtures.ts';
import { member, pool, role } from '../fake-server.ts';
import { applied, statusesIn } from './run-apply.ts';

const port = ({ nodes }: ClusterPort): Overrides => ({
  nodes: {
    patch: (name, ...rest) =>
      name === 'bad' ? Promise.reject(new NodepoolError('cluster', 'denied')) : nodes.patch(name, ...rest),
  },
});
const added = { pool: 'a', to: 'a', labels: () => role('a') };
const intent: Intent = { pools: ['a'], changes: new Map([['n1', added]]) };

test('keeps the status of failed writes in a run that does not retry them', async () => {
  const drifted = { ...member('bad', 'a', 'a'), labels: role('a') };
  const full = await applied([pool('a', { tier: 'a' })], [drifted], { pools: ['a'] }, { port });
  const failing = full.known.get('a') ?? assert.fail();
  const { chosen, writes, live } = await applied([failing], [drifted, aNode({ name: 'n1' })], intent, { port });
  assert.equal(failing.status?.status, 500);
  assert.deepEqual(statusesIn(writes), []);
  assert.equal(live.get('n1')?.labels?.tier, 'a');
  assert.deepEqual(chosen[0]?.outcome?.warnings, [
    {
      message: '1 other node differs from the labels and taints of the pool, and the status was not written',
      next: 'run `kubectl nodepool reconcile a`',
    },
  ]);
});

test('writes the status once the failed node carries the labels and taints', async () => {
  const failing = pool('a', { tier: 'a' });
  const { chosen } = await applied([failing], [member('good', 'a', 'a')], { pools: ['a'] }, { port });
  const before = chosen[0]?.outcome?.status ?? assert.fail();
  const conditions = before.conditions?.map(each =>
    each.type === 'Applied' ? { ...each, status: 'False' as const, reason: 'WriteFailed' } : each,
  );
  const failed = { ...failing, status: { ...before, status: 500, conditions: conditions ?? [] } };
  const nodes = [member('good', 'a', 'a'), aNode({ name: 'n1' })];
  const { writes } = await applied([failed], nodes, intent, { port });
  assert.deepEqual(statusesIn(writes), ['status a 200 2']);
});
