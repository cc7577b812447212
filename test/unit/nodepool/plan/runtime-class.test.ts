import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { isGradual, planRuntimeClass, type RecordedMember } from '../../../../src/nodepool/plan/runtime-class.ts';
import { taintId } from '../../../../src/nodepool/spec/taints.ts';
import { type NodePoolSpec, TRANSIENT_KEYS_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aPool, recordOf, taint } from '../fixtures.ts';

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

test('selects members of a pool with expressions by the pool label', () => {
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

test('does not select by transient labels, which other software changes', () => {
  const labels = { tier: 'gold', 'nvidia.com/gpu-driver-upgrade-state': 'upgrade-done', 'acme.io/state': '1' };
  const annotations = { [TRANSIENT_KEYS_ANNOTATION]: 'acme.io/*' };
  const plan = planRuntimeClass(aPool({ ...pool.spec, labels }, { annotations }), ours);
  assert.equal(plan.kind, 'none', 'as without them');
});

test('during a rollout, pods with the RuntimeClass fit on old and new members', () => {
  const member = (labels: Record<string, string>, ...taints: string[]): RecordedMember => {
    const ids = Object.fromEntries(taints.map(text => [taintId(taint(text)), taint(text).value ?? '']));
    const record = parseRecord(recordOf({ pool: 'worker', labels, taints: ids }));
    assert.ok(record);
    return { record, taints: taints.map(taint) };
  };
  const scheduling = (spec: NodePoolSpec, reached: RecordedMember[]) => {
    const plan = planRuntimeClass(aPool({ handler: 'runc', ...spec }), undefined, reached);
    const { nodeSelector, tolerations = [] } = (plan.kind === 'create' && plan.desired.scheduling) || {};
    return [nodeSelector, tolerations.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`)];
  };
  const role = { 'node-role.kubernetes.io/worker': '' };
  const spec = { labels: { tier: '2', zone: 'a' }, taints: [taint('b:NoSchedule')], rollout: {} };
  const [old, current] = [
    member({ tier: '1', zone: 'a' }, 'a=1:NoSchedule', 'z:NoExecute'),
    member({ tier: '2', zone: 'a' }, 'b:NoSchedule'),
  ];
  const both = [{ ...role, zone: 'a' }, ['b=:NoSchedule', 'a=1:NoSchedule', 'z=:NoExecute']];
  assert.deepEqual(scheduling(spec, [old, current]), both);
  assert.deepEqual(scheduling(spec, [current, old, old]), both, 'whatever the order of the nodes is');
  const ofSpec = [{ ...role, tier: '2', zone: 'a' }, ['b=:NoSchedule']];
  assert.deepEqual(scheduling(spec, [current, current]), ofSpec);
  assert.deepEqual(scheduling(spec, []), ofSpec);
  const another = { ...spec, taints: [taint('a=2:NoSchedule')] };
  assert.deepEqual(scheduling(another, [old])[1], ['a=2:NoSchedule', 'a=1:NoSchedule', 'z=:NoExecute'], 'both values');
  assert.deepEqual(scheduling(spec, [{ ...old, taints: [taint('a=1:NoExecute')] }])[1], ['b=:NoSchedule'], 'forged');
  // Of a node that is drained: the value of before, and the stand-in of the one that comes.
  const drains = { ...spec, noExecute: 'Drain' as const, taints: [taint('z=2:NoExecute')] };
  const drained = member({ tier: '2', zone: 'a' }, 'z=1:NoExecute', 'z=2:NoSchedule');
  const tolerated = ['z=2:NoExecute', 'z=2:NoSchedule', 'z=1:NoExecute'];
  assert.deepEqual(scheduling(drains, [drained, drained])[1], tolerated);
  const later = { ...drains, taints: [taint('z=3:NoExecute')] };
  assert.deepEqual(
    scheduling(later, [drained])[1],
    ['z=3:NoExecute', 'z=3:NoSchedule', 'z=1:NoExecute', 'z=2:NoSchedule'],
    'also of a drain for a former spec',
  );
  // Without a rollout, only what waits for evictions is of an earlier spec after the first write.
  const { rollout: _rollout, ...alone } = later;
  assert.deepEqual(scheduling(alone, [drained])[1], ['z=3:NoExecute', 'z=3:NoSchedule', 'z=1:NoExecute']);
  assert.deepEqual(scheduling({ ...alone, taints: [] }, [old, drained]), [{ ...role, tier: '2', zone: 'a' }, []]);
  const selecting = { ...spec, matchExpressions: [{ key: 'spot', operator: 'Exists' }], nodeSelector: { c: 'd' } };
  assert.deepEqual(
    scheduling(selecting, [current])[0],
    { c: 'd', tier: '2', zone: 'a' },
    'without the label of the pool',
  );
  assert.deepEqual(
    [{ rollout: {} }, { paused: true }, { noExecute: 'Drain' as const }, {}].map(each => isGradual(aPool(each))),
    [true, true, true, false],
  );
});

const noHandler = aPool({ labels: { tier: 'gold' } });
const dying = { ...pool, metadata: { ...pool.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' } };
const foreign = { ...ours, metadata: { name: 'node-pool-worker' } };
const [owner] = ours.metadata.ownerReferences ?? [];
assert.ok(owner);
const leftover = { ...ours, metadata: { ...ours.metadata, ownerReferences: [{ ...owner, uid: 'earlier' }] } };

const cases: [string, Parameters<typeof planRuntimeClass>, string][] = [
  ['as the pool wants', [pool, ours], 'none'],
  ['no handler and no RuntimeClass', [noHandler, undefined], 'none'],
  ['the handler was removed from the spec', [noHandler, ours], 'delete'],
  ['another handler', [aPool({ ...pool.spec, handler: 'gvisor' }), ours], 'replace'],
  ['other labels', [aPool({ ...pool.spec, labels: {} }), ours], 'patch'],
  ['other taints', [aPool({ ...pool.spec, taints: [] }), ours], 'patch'],
  ['not ours', [pool, foreign], 'foreign'],
  ['foreign and without a handler', [noHandler, foreign], 'none'],
  ['of an earlier pool with the same name', [pool, leftover], 'replace'],
  ['the pool is being deleted', [dying, ours], 'delete'],
  ['the pool is being deleted, but the RuntimeClass is foreign', [dying, foreign], 'none'],
];
for (const [name, args, want] of cases) {
  test(`RuntimeClass, ${name}: ${want}`, () => assert.equal(planRuntimeClass(...args).kind, want));
}

test('with noExecute: Drain the RuntimeClass also tolerates stand-in taints', () => {
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
