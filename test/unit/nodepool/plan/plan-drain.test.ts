/** Plans of `noExecute: Drain`: a NoSchedule stand-in first, the taint when the pods are gone, and later changes of both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unchangedSlots } from '../../../../src/nodepool/membership/birth-record.ts';
import { type AppliedRecord, parseRecord } from '../../../../src/nodepool/plan/record.ts';
import type { Node, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step } from './plan-step.ts';
import { planMerge } from './plan-view.ts';

const pool = (taints: string[], more: NodePoolSpec = {}, name = 'worker') =>
  aPool({ noExecute: 'Drain', taints: taints.map(taint), ...more }, { name });
const strict = pool(['dedicated=x:NoExecute']);
const node = (taints: string[] = [], rest: Partial<Node> = {}): Node => aNode({ taints: taints.map(taint), ...rest });
const taintsOf = ({ taints }: Node) =>
  taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
const drainOf = ({ record }: Node) => Object.fromEntries(parseRecord(record)?.draining ?? []);
/** Nothing is to be written, and the node waits. */
const waits = (at: Node, by = strict) => {
  const { plan } = step(at, by);
  return plan.patch === undefined && plan.drain?.hasBegun === true;
};
const cleared = (at: Node, by = strict) => step(at, by, [], true);

test('sets the stand-in taint, waits for evictions, then sets the NoExecute taint', () => {
  const { plan, after, said } = step(node(['cni:NoSchedule']), strict);
  assert.deepEqual(said, ['add taint dedicated:NoSchedule ->x (spec)']);
  assert.deepEqual(plan.patch, {
    resourceVersion: '7',
    taints: [
      { key: 'cni', effect: 'NoSchedule' },
      { key: 'dedicated', value: 'x', effect: 'NoSchedule' },
    ],
    record:
      '{"pool":"worker","generation":1,"taints":{"dedicated:NoSchedule":"x"},"draining":{"dedicated:NoExecute":"x"}}',
  });
  assert.deepEqual(
    [plan.drain?.taints, plan.drain?.hasBegun, plan.drain?.changes.map(({ action, to }) => [action, to])],
    [
      [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }],
      false,
      [
        ['add', 'x'],
        ['remove', undefined],
      ],
    ],
  );
  assert.ok(waits(after));
  const done = cleared(after);
  assert.deepEqual(done.said, [
    'add taint dedicated:NoExecute ->x (spec)',
    'remove taint dedicated:NoSchedule x>- (spec)',
  ]);
  assert.equal(done.plan.isCleared, true);
  assert.deepEqual(taintsOf(done.after), ['cni:NoSchedule', 'dedicated=x:NoExecute']);
  assert.equal(done.after.record, '{"pool":"worker","generation":1,"taints":{"dedicated:NoExecute":"x"}}');
  const { plan: last } = step(done.after, strict);
  assert.deepEqual([last.patch, last.drain], [undefined, undefined]);
});

test('evicted pods count only for the taint whose drain is in the record', () => {
  for (const record of [
    undefined,
    '{"pool":"worker"}',
    recordOf({ pool: 'worker', draining: { 'dedicated:NoExecute': 'y' } }),
  ]) {
    const at = node([], record === undefined ? {} : { record });
    assert.deepEqual(taintsOf(cleared(at).after), ['dedicated=x:NoSchedule'], String(record));
  }
  const begun = step(node(), strict).after;
  const more = pool(['dedicated=x:NoExecute', 'gpu:NoExecute']);
  assert.deepEqual(taintsOf(cleared(begun, more).after), ['dedicated=x:NoSchedule', 'gpu:NoSchedule']);
});

test('sets taints at once with Immediate, without noExecute, and where the node has them', () => {
  for (const noExecute of [undefined, 'Immediate'] as const) {
    const at = aPool({ taints: [taint('dedicated=x:NoExecute')], ...(noExecute ? { noExecute } : {}) });
    const { after, plan } = step(node(), at);
    assert.deepEqual([taintsOf(after), plan.drain], [['dedicated=x:NoExecute'], undefined]);
  }
  const had = step(node(['dedicated=x:NoExecute']), strict);
  assert.deepEqual([had.said, had.plan.drain, taintsOf(had.after)], [[], undefined, ['dedicated=x:NoExecute']]);
});

test('removes the stand-in when the taint leaves the spec or becomes Immediate', () => {
  const begun = step(node(['cni:NoSchedule']), strict).after;
  const dropped = step(begun, pool([]));
  assert.deepEqual(dropped.said, ['remove taint dedicated:NoSchedule x>- (spec)']);
  assert.deepEqual(
    [taintsOf(dropped.after), dropped.after.record],
    [['cni:NoSchedule'], '{"pool":"worker","generation":1}'],
  );
  const immediate = step(begun, aPool({ taints: [taint('dedicated=x:NoExecute')] }));
  assert.deepEqual(taintsOf(immediate.after), ['cni:NoSchedule', 'dedicated=x:NoExecute']);
  assert.deepEqual(drainOf(immediate.after), {});
});

test('restores a node that leaves, or whose pool is gone, to its former taints', () => {
  const start = node(['cni:NoSchedule', 'dedicated=old:NoExecute']);
  const begun = step(start, strict).after;
  assert.deepEqual(taintsOf(begun), ['cni:NoSchedule', 'dedicated=old:NoExecute', 'dedicated=x:NoSchedule']);
  const left = step(begun, undefined).after;
  assert.deepEqual([left.taints, left.record], [start.taints, undefined]);
  const done = cleared(begun).after;
  assert.deepEqual(taintsOf(done), ['cni:NoSchedule', 'dedicated=x:NoExecute']);
  assert.deepEqual(step(done, undefined).after.taints, start.taints, 'the value that it displaced comes back');
});

test('keeps the old value of a NoExecute taint until a new drain ends', () => {
  const old = cleared(step(node(), strict).after).after;
  const next = pool(['dedicated=y:NoExecute']);
  const begun = step(old, next);
  assert.deepEqual(begun.said, ['add taint dedicated:NoSchedule ->y (spec)']);
  assert.deepEqual(taintsOf(begun.after), ['dedicated=x:NoExecute', 'dedicated=y:NoSchedule']);
  assert.ok(waits(begun.after, next));
  const done = cleared(begun.after, next);
  assert.deepEqual(done.said.toSorted(), [
    'change taint dedicated:NoExecute x>y (spec)',
    'remove taint dedicated:NoSchedule y>- (spec)',
  ]);
  assert.deepEqual(taintsOf(step(begun.after, undefined).after), []);
  assert.deepEqual(taintsOf(step(begun.after, strict).after), ['dedicated=x:NoExecute'], 'taken back half-way');
  const third = step(begun.after, pool(['dedicated=z:NoExecute']));
  assert.deepEqual(taintsOf(third.after), ['dedicated=x:NoExecute', 'dedicated=z:NoSchedule']);
});

test('drains again before it restores a NoExecute taint that somebody removed', () => {
  const begun = step(node(['dedicated=theirs:NoExecute']), strict).after;
  const done = cleared(begun).after;
  const removed = step({ ...done, taints: [] }, strict);
  assert.deepEqual(taintsOf(removed.after), ['dedicated=x:NoSchedule']);
  assert.deepEqual(
    removed.plan.drain?.changes.map(({ reason }) => reason),
    ['drift', 'spec'],
  );
  assert.deepEqual(taintsOf(step(removed.after, undefined).after), [], 'what they removed does not come back');
  const again = cleared(removed.after).after;
  assert.deepEqual(taintsOf(step(again, undefined).after), [], 'nor what was there before them');
});

test('keeps NoSchedule taints of the same key that the pool or somebody else set', () => {
  const own = pool(['dedicated=x:NoExecute', 'dedicated=v:NoSchedule']);
  const begun = step(node(), own).after;
  assert.deepEqual(taintsOf(begun), ['dedicated=v:NoSchedule']);
  assert.deepEqual(taintsOf(cleared(begun, own).after), ['dedicated=v:NoSchedule', 'dedicated=x:NoExecute']);

  for (const theirs of ['dedicated=x:NoSchedule', 'dedicated=other:NoSchedule'])
    for (const unmanaged of ['Keep', 'Remove'] as const) {
      const by = pool(['dedicated=x:NoExecute'], { unmanaged });
      const at = step(node([theirs]), by);
      assert.deepEqual([at.said, taintsOf(at.after)], [[], [theirs]]);
      assert.deepEqual(drainOf(at.after), { 'dedicated:NoExecute': 'x' });
      assert.ok(waits(at.after, by));
      const gone = step({ ...at.after, taints: [] }, by).after;
      assert.deepEqual(taintsOf(gone), ['dedicated=x:NoSchedule'], 'now it is ours');
      const done = cleared(at.after, by).after;
      const kept = unmanaged === 'Keep' ? [theirs, 'dedicated=x:NoExecute'] : ['dedicated=x:NoExecute'];
      assert.deepEqual(taintsOf(done), kept);
      assert.deepEqual(taintsOf(step(done, undefined).after), [theirs]);
    }

  const starts = pool(['dedicated=x:NoExecute'], {
    startupTaints: [{ key: 'dedicated', value: 'starting', effect: 'NoSchedule' }],
  });
  const joined = step(node(), starts).after;
  assert.deepEqual(taintsOf(joined), ['dedicated=starting:NoSchedule']);
  assert.ok(waits(joined, starts));
  const lifted = step({ ...joined, taints: [] }, starts).after;
  assert.deepEqual(taintsOf(lifted), ['dedicated=x:NoSchedule'], 'somebody lifted it');
});

test('restores a removed stand-in, and keeps one that somebody changed', () => {
  const begun = step(node(), strict).after;
  const removed = step({ ...begun, taints: [] }, strict);
  assert.deepEqual(removed.said, ['add taint dedicated:NoSchedule ->x (drift)']);
  const changed = step({ ...begun, taints: [taint('dedicated=theirs:NoSchedule')] }, strict);
  assert.deepEqual([changed.said, taintsOf(changed.after)], [[], ['dedicated=theirs:NoSchedule']]);
  assert.deepEqual(taintsOf(cleared(changed.after).after), ['dedicated=theirs:NoSchedule', 'dedicated=x:NoExecute']);
  assert.deepEqual(taintsOf(step(changed.after, undefined).after), ['dedicated=theirs:NoSchedule']);
});

test('turns a former NoSchedule taint into the stand-in, and later restores what it displaced', () => {
  const before = step(node(['dedicated=old:NoSchedule']), pool(['dedicated=x:NoSchedule'])).after;
  const begun = step(before, strict);
  assert.deepEqual([begun.said, taintsOf(begun.after)], [[], ['dedicated=x:NoSchedule']]);
  assert.deepEqual(taintsOf(cleared(begun.after).after), ['dedicated=old:NoSchedule', 'dedicated=x:NoExecute']);
});

test('a node that moves to another pool with Drain takes no drain state along', () => {
  const other = pool(['dedicated=y:NoExecute'], {}, 'other');
  const begun = step(node(['cni:NoSchedule']), strict).after;
  const moved = step(begun, other).after;
  assert.deepEqual(taintsOf(moved), ['cni:NoSchedule', 'dedicated=y:NoSchedule']);
  assert.deepEqual(drainOf(moved), { 'dedicated:NoExecute': 'y' });
  assert.deepEqual(taintsOf(step(moved, undefined).after), ['cni:NoSchedule']);
  const done = cleared(begun).after;
  const held = step(done, other).after;
  assert.deepEqual(taintsOf(held), ['cni:NoSchedule', 'dedicated=x:NoExecute', 'dedicated=y:NoSchedule']);
  assert.deepEqual(taintsOf(cleared(held, other).after), ['cni:NoSchedule', 'dedicated=y:NoExecute']);
  assert.deepEqual(taintsOf(step(held, undefined).after), ['cni:NoSchedule']);
});

test('in a rollout, members wait for their turn, but joined nodes do not', () => {
  const rolled = pool(['dedicated=x:NoExecute'], { rollout: { maxConcurrent: 1 } });
  const joins = step(node(), rolled);
  assert.equal(joins.plan.isRolloutStep, false);
  for (const isCleared of [false, true]) {
    const { plan } = step(joins.after, rolled, [], isCleared);
    assert.equal(plan.isRolloutStep, false, 'it goes on without a turn');
  }
  const member = step(node(['dedicated=x:NoSchedule'], { record: '{"pool":"worker"}' }), rolled);
  assert.deepEqual([member.plan.changes, member.plan.isRolloutStep], [[], true], 'also without a stand-in to set');
  const record = JSON.stringify({ ...JSON.parse(member.after.record ?? ''), changed: '2026-01-01T00:00:00Z' });
  for (const isCleared of [false, true]) {
    const { plan } = step({ ...member.after, record }, rolled, [], isCleared);
    assert.equal(plan.isRolloutStep, true);
    if (!isCleared) assert.equal(plan.drain?.hasBegun, true);
  }
});

test('drops record entries that no pool can write', () => {
  const draining = { 'a:NoExecute': 'x y', 'b:Never': '', 'c:NoExecute': 7, 'd:NoExecute': null, 'e:NoExecute': 'v' };
  assert.deepEqual([...(parseRecord(JSON.stringify({ pool: 'p', draining }))?.draining ?? [])], [['e:NoExecute', 'v']]);
  assert.equal(parseRecord('{"pool":"p","draining":[]}')?.draining, undefined);
});

test('returns the same patch for the same plan', () => {
  const at = node(['a:NoExecute']);
  assert.deepEqual(planMerge(at, undefined, strict, [], true).patch, planMerge(at, undefined, strict, [], false).patch);
});

test('a node that registered with the taint is not drained', () => {
  const birth =
    '{"pool":"worker","since":"x","labels":{},"taints":{"dedicated:NoExecute":"x"},"startup":{},"annotations":{}}';
  const born = unchangedSlots(parseRecord(birth) as AppliedRecord, node(['dedicated=x:NoExecute']));
  const plan = planMerge(node(['dedicated=x:NoExecute'], { record: birth, birthRecord: 'record' }), born, strict);
  assert.deepEqual([plan.drain, plan.changes], [undefined, []]);
  assert.equal(plan.patch?.record, '{"pool":"worker","generation":1,"taints":{"dedicated:NoExecute":"x"}}');
});

test('keeps drainingSince for as long as the drain takes, and adds it to no old record', () => {
  const since = ',"drainingSince":"2026-02-01T00:00:00Z"}';
  const { after } = step(node(), strict);
  const dated = { ...after, record: after.record?.replace(/}$/, since) ?? '' };
  for (const each of [after, dated]) assert.ok(waits(each));
  assert.equal(step(dated, strict).plan.drain?.since, '2026-02-01T00:00:00Z');
  const drifted = step({ ...dated, labels: {} }, pool(['dedicated=x:NoExecute'], { labels: { tier: 'gold' } }));
  assert.ok(drifted.after.record?.endsWith(since));
  for (const other of [cleared(dated), step(dated, pool(['dedicated=y:NoExecute'])), step(dated, pool([]))])
    assert.doesNotMatch(other.after.record ?? '', /drainingSince/);
  const wrong = { ...after, record: after.record?.replace(/}$/, ',"drainingSince":"x"}') ?? '' };
  assert.equal(step(wrong, strict).after.record, after.record);
});
