import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planRuntimeClass } from '../../../src/nodepool/runtime-class.ts';
import { aPool, taint } from './fixtures.ts';

const pool = aPool({
  handler: 'runc',
  labels: { tier: 'gold' },
  taints: [taint('a=b:NoSchedule'), taint('c:NoExecute')],
});
const created = planRuntimeClass(pool, undefined);
assert.ok(created.kind === 'create');
const ours = created.desired;

test("has the handler, the pool's labels, a toleration per taint, and the pool as owner", () => {
  assert.deepEqual(ours, {
    metadata: {
      name: 'node-pool-worker',
      ownerReferences: [
        {
          apiVersion: 'nodes.lailin.xyz/v1',
          kind: 'NodePool',
          name: 'worker',
          uid: 'uid-worker',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    handler: 'runc',
    scheduling: {
      nodeSelector: { 'node-role.kubernetes.io/worker': '', tier: 'gold' },
      tolerations: [
        { key: 'a', operator: 'Equal', value: 'b', effect: 'NoSchedule' },
        { key: 'c', operator: 'Equal', effect: 'NoExecute' },
      ],
    },
  });
});

test('selects the members of a pool with expressions by their label, which changes with the expressions', () => {
  const matchExpressions = [{ key: 'spot', operator: 'DoesNotExist' }];
  const selecting = aPool({ ...pool.spec, matchExpressions });
  const plan = planRuntimeClass(selecting, ours);
  const nodeSelector = { 'nodes.lailin.xyz/pool': 'worker', tier: 'gold' };
  assert.deepEqual(plan.kind === 'patch' && plan.scheduling.nodeSelector, nodeSelector);
  const patched = { ...ours, scheduling: { ...ours.scheduling, nodeSelector } };
  assert.equal(planRuntimeClass(selecting, patched).kind, 'none');
  const back = planRuntimeClass(pool, patched);
  assert.deepEqual(back.kind === 'patch' && back.scheduling, ours.scheduling);
});

const noHandler = aPool({ labels: { tier: 'gold' } });
const dying = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
const foreign = { ...ours, metadata: { name: 'node-pool-worker' } };
const [owner] = ours.metadata.ownerReferences ?? [];
assert.ok(owner);
const leftover = { ...ours, metadata: { ...ours.metadata, ownerReferences: [{ ...owner, uid: 'earlier' }] } };

const cases: [string, Parameters<typeof planRuntimeClass>, string][] = [
  ['as it should be', [pool, ours], 'none'],
  ['no handler, none there', [noHandler, undefined], 'none'],
  ['the handler left the spec', [noHandler, ours], 'delete'],
  ['another handler', [aPool({ ...pool.spec, handler: 'gvisor' }), ours], 'replace'],
  ['other labels', [aPool({ ...pool.spec, labels: {} }), ours], 'patch'],
  ['other taints', [aPool({ ...pool.spec, taints: [] }), ours], 'patch'],
  ['not ours', [pool, foreign], 'foreign'],
  ['not ours and not wanted', [noHandler, foreign], 'none'],
  ['of an earlier pool of that name', [pool, leftover], 'replace'],
  ['the pool is being deleted', [dying, ours], 'delete'],
  ['the pool is being deleted, not ours', [dying, foreign], 'none'],
];
for (const [name, args, want] of cases) {
  test(`RuntimeClass, ${name}: ${want}`, () => assert.equal(planRuntimeClass(...args).kind, want));
}

test('with noExecute: Drain it tolerates what stands for NoExecute taints, too', () => {
  const drains = aPool({
    handler: 'runc',
    noExecute: 'Drain',
    taints: [taint('a=b:NoSchedule'), taint('c:NoExecute'), taint('d=1:NoExecute'), taint('d=2:NoSchedule')],
  });
  const plan = planRuntimeClass(drains, undefined);
  assert.ok(plan.kind === 'create');
  assert.deepEqual(
    plan.desired.scheduling?.tolerations?.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`),
    ['a=b:NoSchedule', 'c=:NoExecute', 'd=1:NoExecute', 'd=2:NoSchedule', 'c=:NoSchedule'],
  );
  assert.equal(planRuntimeClass(drains, plan.desired).kind, 'none');
});
