import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step } from './plan-step.ts';

const pool = aPool({ labels: { tier: 'gold' }, taints: [taint('dedicated=x:NoSchedule')] });

test('sets labels, taints and record of a new member in one patch with the resourceVersion', () => {
  const { plan, said } = step(aNode(), pool);
  assert.deepEqual(said, ['add label tier ->gold (spec)', 'add taint dedicated:NoSchedule ->x (spec)']);
  assert.deepEqual(plan.patch, {
    resourceVersion: '7',
    labels: { tier: 'gold' },
    taints: [taint('dedicated=x:NoSchedule')],
    record: '{"pool":"worker","generation":1,"labels":{"tier":"gold"},"taints":{"dedicated:NoSchedule":"x"}}',
  });
});

test('does not write an up-to-date member', () => {
  const { after } = step(aNode(), pool);
  assert.equal(step(after, pool).plan.patch, undefined);
});

test('does not write a node without a pool and a record', () => {
  assert.equal(step(aNode({ labels: { a: 'b' }, taints: [taint('x:NoExecute')] }), undefined).plan.patch, undefined);
});

test('keeps labels and taints of others in their order', () => {
  const foreign = { ...taint('cni.example.com/agent-not-ready:NoExecute'), timeAdded: '2026-01-01T00:00:00Z' };
  const { after } = step(aNode({ labels: { 'cloud.example.com/zone': 'a' }, taints: [foreign] }), pool);
  assert.deepEqual(after.labels, { 'cloud.example.com/zone': 'a', tier: 'gold' });
  assert.deepEqual(after.taints, [foreign, taint('dedicated=x:NoSchedule')]);
  const released = step(after, undefined).after;
  assert.deepEqual(released.labels, { 'cloud.example.com/zone': 'a' });
  assert.deepEqual(released.taints, [foreign]);
  assert.equal(released.record, undefined);
});

test('removes only the key that leaves the spec', () => {
  const { after } = step(aNode(), aPool({ labels: { tier: 'gold', team: 'a' } }));
  const { said, after: then } = step(after, aPool({ labels: { tier: 'gold' } }));
  assert.deepEqual(said, ['remove label team a>- (spec)']);
  assert.deepEqual(then.labels, { tier: 'gold' });
});

test('updates a value that changes in the spec', () => {
  const { after } = step(aNode(), pool);
  const { said } = step(after, aPool({ labels: { tier: 'silver' }, taints: [taint('dedicated=y:NoSchedule')] }));
  assert.deepEqual(said, ['change label tier gold>silver (spec)', 'change taint dedicated:NoSchedule x>y (spec)']);
});

test('repairs drift of owned keys', () => {
  const { after } = step(aNode(), pool);
  const changed = step({ ...after, labels: { tier: 'lead' }, taints: [] }, pool);
  assert.deepEqual(changed.said, ['change label tier lead>gold (drift)', 'add taint dedicated:NoSchedule ->x (drift)']);
  const again = step(changed.after, undefined).after;
  assert.deepEqual(again.labels, {}, 'the drifted value was not taken for a displaced one');
});

test('restores a displaced value when the key leaves the spec or the node leaves', () => {
  const start = aNode({ labels: { tier: 'old' }, taints: [taint('dedicated=old:NoSchedule')] });
  const { after, said } = step(start, pool);
  assert.deepEqual(said, ['change label tier old>gold (spec)', 'change taint dedicated:NoSchedule old>x (spec)']);
  const left = step(after, undefined);
  assert.deepEqual(left.said, [
    'restore label tier gold>old (left the pool)',
    'restore taint dedicated:NoSchedule x>old (left the pool)',
  ]);
  assert.deepEqual([left.after.labels, left.after.taints], [start.labels, start.taints]);
  assert.deepEqual(step(after, aPool()).said[0], 'restore label tier gold>old (spec)');
});

test('keeps a value that the node had before the pool set the same value', () => {
  const start = aNode({ labels: { tier: 'gold' } });
  const { after, said } = step(start, aPool({ labels: { tier: 'gold' } }));
  assert.deepEqual(said, []);
  assert.deepEqual(step(after, undefined).after.labels, { tier: 'gold' });
});

test('keeps a value that someone else set on an owned key when the pool releases it', () => {
  const { after } = step(aNode(), pool);
  const left = step(
    { ...after, labels: { tier: 'theirs' }, taints: [taint('dedicated=theirs:NoSchedule')] },
    undefined,
  );
  assert.deepEqual(left.said, []);
  assert.deepEqual(left.after.labels, { tier: 'theirs' });
  assert.equal(left.after.record, undefined);
});

test('moves a node with one patch, and keeps what the first pool displaced', () => {
  const start = aNode({ labels: { tier: 'old' } });
  const other = aPool({ labels: { tier: 'silver', spot: 'yes' } }, { name: 'spot' });
  const moved = step(step(start, pool).after, other);
  assert.deepEqual(moved.said, [
    'change label tier gold>silver (spec)',
    'add label spot ->yes (spec)',
    'remove taint dedicated:NoSchedule x>- (left the pool)',
  ]);
  assert.deepEqual([moved.plan.previous, moved.plan.owner], ['worker', 'spot']);
  assert.deepEqual(step(moved.after, undefined).after.labels, { tier: 'old' });
});

test('treats one key with two effects as two taints', () => {
  const both = aPool({ taints: [taint('a=1:NoSchedule'), taint('a=2:NoExecute')] });
  const { after } = step(aNode(), both);
  assert.deepEqual(after.taints, both.spec.taints);
  assert.deepEqual(step(after, aPool({ taints: [taint('a=2:NoExecute')] })).after.taints, [taint('a=2:NoExecute')]);
});

test('unmanaged: Remove strips keys without "kubernetes", and restores them on release', () => {
  const start = aNode({
    labels: { 'kubernetes.io/hostname': 'n1', 'nvidia.com/gpu': 'true', 'node-role.kubernetes.io/worker': '' },
    taints: [taint('nvidia.com/gpu:NoSchedule'), taint('node.kubernetes.io/unschedulable:NoSchedule')],
  });
  const strict = aPool({ labels: { tier: 'gold' }, unmanaged: 'Remove' });
  const first = step(start, strict);
  assert.deepEqual(first.said, [
    'add label tier ->gold (spec)',
    'remove label nvidia.com/gpu true>- (unmanaged)',
    'remove taint nvidia.com/gpu:NoSchedule >- (unmanaged)',
  ]);
  assert.equal(step(first.after, strict).plan.patch, undefined, 'it stays stripped');
  const back = step({ ...first.after, labels: { ...first.after.labels, 'nvidia.com/gpu': 'newer' } }, strict);
  assert.deepEqual(back.said, ['remove label nvidia.com/gpu newer>- (unmanaged)']);
  const kept = step(back.after, aPool({ labels: { tier: 'gold' } }));
  assert.deepEqual(kept.after.labels['nvidia.com/gpu'], 'newer');
  assert.deepEqual(step(first.after, undefined).after.labels, start.labels);
});

test("unmanaged: Remove keeps the labels of the pool's selector", () => {
  const strict = aPool({ nodeSelector: { 'example.com/pool': 'a' }, unmanaged: 'Remove' });
  const { said } = step(aNode({ labels: { 'example.com/pool': 'a', other: 'x' } }), strict);
  assert.deepEqual(said, ['remove label other x>- (unmanaged)']);
});

test('replaces an unreadable record on a member, and keeps it on other nodes', () => {
  const broken = aNode({ record: 'not json' });
  assert.ok(step(broken, pool).plan.patch?.record?.startsWith('{"pool":"worker"'));
  assert.equal(step(broken, undefined).plan.patch, undefined);
});

test('a forged record cannot set keys of the cluster', () => {
  const key = 'node-restriction.kubernetes.io/secure';
  const forged = JSON.stringify({ pool: 'worker', labels: { [key]: null }, displaced: { labels: { [key]: 'yes' } } });
  assert.deepEqual(step(aNode({ record: forged }), undefined).said, []);
});

test('rewrites a record with another key order once', () => {
  const node = aNode({ labels: { a: '1', b: '2' }, record: '{"labels":{"b":"2","a":"1"},"pool":"worker"}' });
  const { plan, after } = step(node, aPool({ labels: { a: '1', b: '2' } }));
  assert.equal(plan.patch?.record, recordOf({ pool: 'worker', generation: 1, labels: { a: '1', b: '2' } }));
  assert.equal(step(after, aPool({ labels: { a: '1', b: '2' } })).plan.patch, undefined);
});

test('unmanaged: Remove does not restore a key that left its own spec', () => {
  const strict = aPool({ labels: { team: 'x' }, taints: [taint('evict=now:NoExecute')], unmanaged: 'Remove' });
  const emptied = step(step(aNode(), strict).after, aPool({ unmanaged: 'Remove' }));
  assert.deepEqual(emptied.said, ['remove label team x>- (spec)', 'remove taint evict:NoExecute now>- (spec)']);
  const { labels, taints } = step(emptied.after, undefined).after;
  assert.deepEqual([labels, taints], [{}, []]);
});

test('unmanaged: Remove does not treat keys that the previous pool applied as foreign', () => {
  const first = step(
    aNode({ labels: { tier: 'old' } }),
    aPool({ labels: { tier: 'gold', team: 'x' } }, { name: 'one' }),
  );
  const second = step(first.after, aPool({ unmanaged: 'Remove' }, { name: 'two' }));
  assert.deepEqual(second.after.labels, {});
  assert.deepEqual(step(second.after, undefined).after.labels, { tier: 'old' });
});

test('restores the newer value when someone set a stripped key that the spec now wants', () => {
  const stripped = step(aNode({ labels: { gpu: 'old' } }), aPool({ unmanaged: 'Remove' })).after;
  const wanted = step(
    { ...stripped, labels: { gpu: 'newer' } },
    aPool({ labels: { gpu: 'ours' }, unmanaged: 'Remove' }),
  );
  assert.equal(wanted.after.labels.gpu, 'ours');
  assert.equal(step(wanted.after, undefined).after.labels.gpu, 'newer');
});

test('unmanaged: Remove keeps the labels by which other pools match the node', () => {
  const rival = aPool({ nodeSelector: { team: 'b' } }, { name: 'rival' });
  const node = aNode({ labels: { 'node-role.kubernetes.io/worker': '', team: 'b', other: 'x' } });
  assert.deepEqual(step(node, aPool({ unmanaged: 'Remove' }), [rival]).said, ['remove label other x>- (unmanaged)']);
});

test('drops record entries that no pool can write', () => {
  const record = parseRecord(
    JSON.stringify({
      pool: 'worker',
      labels: { 'bad key!': 'x', ok: 'x', long: 'v'.repeat(64) },
      taints: { 'x :x y': null, 'a:NoSchedule': 'v', 'b:Never': 'v' },
      displaced: { labels: { ok: 'not a value!' }, taints: { 'x :x y': 'v' } },
    }),
  );
  assert.deepEqual([...(record?.labels ?? [])], [['ok', { value: 'x' }]]);
  assert.deepEqual([...(record?.taints ?? [])], [['a:NoSchedule', { value: 'v' }]]);
});

test('ignores a record with an invalid pool name', () => {
  for (const pool of ['', 'a\u001b[2J', 'a\nb', 'A', 'x'.repeat(254)]) {
    assert.equal(parseRecord(JSON.stringify({ pool, labels: { a: 'b' } })), undefined, pool);
  }
  assert.ok(parseRecord(JSON.stringify({ pool: 'older.than-our.rules' })));
});

test('sets, repairs and removes the pool label on members of a pool with expressions', () => {
  const matchExpressions = [{ key: 'spot', operator: 'DoesNotExist' }];
  const pool = aPool({ matchExpressions });
  const first = step(aNode({ labels: { 'nodes.lailin.xyz/pool': 'theirs' } }), pool);
  assert.deepEqual(first.said, ['change label nodes.lailin.xyz/pool theirs>worker (spec)']);
  assert.deepEqual(step(first.after, pool).said, []);
  const drifted = { ...first.after, labels: {} };
  assert.deepEqual(step(drifted, pool).said, ['add label nodes.lailin.xyz/pool ->worker (drift)']);
  assert.deepEqual(step(first.after, aPool()).said, ['remove label nodes.lailin.xyz/pool worker>- (spec)']);
  assert.deepEqual(step(first.after, undefined).after.labels, {});
});

test('unmanaged: Remove keeps labels that expressions name', () => {
  const expression = { key: 'size', operator: 'Gt', values: ['4'] };
  const strict = aPool({ matchExpressions: [expression], unmanaged: 'Remove' });
  const rival = aPool({ matchExpressions: [{ key: 'spot', operator: 'NotIn', values: ['yes'] }] }, { name: 'rival' });
  const { said } = step(aNode({ labels: { size: '8', spot: 'no', other: 'x' } }), strict, [rival]);
  assert.deepEqual(said, ['add label nodes.lailin.xyz/pool ->worker (spec)', 'remove label other x>- (unmanaged)']);
});
