/** Plans of startup taints: set on a node that joins, once while the node stays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { LONG_REGISTERED } from '../../../../src/nodepool/plan/startup-taints.ts';
import type { Node, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step, YOUNG } from './plan-step.ts';

const spec: NodePoolSpec = {
  startupTaints: [
    { key: 'agent', value: 'starting', effect: 'NoSchedule', until: { nodeCondition: 'AgentReady' } },
    { key: 'setup', effect: 'NoExecute' },
  ],
};
const pool = aPool(spec);
const node = (taints: string[] = [], rest: Partial<Node> = {}): Node => aNode({ taints: taints.map(taint), ...rest });
const member = () => step(node(), pool).after;
const startupOf = ({ record }: Node) => Object.fromEntries(parseRecord(record)?.startup ?? []);
const taintsOf = ({ taints }: Node) =>
  taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);

test('adds startup taints and record to a joining node in one patch, once', () => {
  const { plan, after, said } = step(node(['cni:NoSchedule']), pool);
  assert.deepEqual(said, [
    'add taint agent:NoSchedule ->starting (joined the pool)',
    'add taint setup:NoExecute -> (joined the pool)',
  ]);
  assert.deepEqual(plan.patch, {
    resourceVersion: '7',
    taints: [
      { key: 'cni', effect: 'NoSchedule' },
      { key: 'agent', value: 'starting', effect: 'NoSchedule' },
      { key: 'setup', effect: 'NoExecute' },
    ],
    record: '{"pool":"worker","generation":1,"startup":{"agent:NoSchedule":"starting","setup:NoExecute":""}}',
  });
  assert.equal(step(after, pool).plan.patch, undefined);
});

test('records that somebody removed a startup taint, and does not set it again', () => {
  const { plan, after, said } = step({ ...member(), taints: [taint('agent=starting:NoSchedule')] }, pool);
  assert.deepEqual([said, plan.changes.length], [[], 0]);
  assert.deepEqual(plan.patch, {
    resourceVersion: '7',
    record: '{"pool":"worker","generation":1,"startup":{"agent:NoSchedule":"starting","setup:NoExecute":null}}',
  });
  assert.equal(step(after, pool).plan.patch, undefined);
});

test('keeps a startup taint that somebody set again by hand', () => {
  const removed = step({ ...member(), taints: [] }, pool).after;
  const theirs = { ...removed, taints: [taint('agent=starting:NoSchedule')], conditions: ['AgentReady'] };
  assert.equal(step(theirs, pool).plan.patch, undefined);
  const left = step(theirs, undefined);
  assert.deepEqual(taintsOf(left.after), ['agent=starting:NoSchedule']);
});

test('lifts a taint when its condition is True, and keeps it lifted when the condition flaps', () => {
  const ready = { ...member(), conditions: ['AgentReady'] };
  const { after, said } = step(ready, pool);
  assert.deepEqual(said, ['remove taint agent:NoSchedule starting>- (condition)']);
  assert.deepEqual(startupOf(after), { 'agent:NoSchedule': null, 'setup:NoExecute': '' });
  const { conditions: _, ...flapped } = after;
  for (const one of [after, flapped, after]) assert.equal(step(one, pool).plan.patch, undefined);
});

test('accepts Ready as a condition', () => {
  const untilReady = aPool({ startupTaints: [{ key: 'a', effect: 'NoSchedule', until: { nodeCondition: 'Ready' } }] });
  const { after } = step(node([], { ready: false }), untilReady);
  assert.deepEqual(taintsOf(after), ['a:NoSchedule']);
  assert.deepEqual(taintsOf(step({ ...after, ready: true }, untilReady).after), []);
});

test('sets no startup taint when the condition is already True', () => {
  const { after, said } = step(node([], { conditions: ['AgentReady', 'B'] }), pool);
  assert.deepEqual(said, ['add taint setup:NoExecute -> (joined the pool)']);
  assert.deepEqual(startupOf(after), { 'agent:NoSchedule': null, 'setup:NoExecute': '' });
  const { conditions: _, ...flapped } = after;
  assert.equal(step(flapped, pool).plan.patch, undefined);
});

test('keeps an existing taint with the same key and effect but another value', () => {
  const had = ['agent=stopped:NoSchedule', 'setup=by-hand:NoExecute'];
  for (const birth of [YOUNG, LONG_REGISTERED]) {
    const { after, said } = step(node(had), pool, [], false, birth);
    assert.deepEqual([said, taintsOf(after)], [[], had]);
    assert.deepEqual(startupOf(after), { 'agent:NoSchedule': null, 'setup:NoExecute': null });
    assert.deepEqual(taintsOf(step({ ...after, conditions: ['AgentReady'] }, pool).after), had);
    assert.deepEqual(taintsOf(step(after, undefined).after), had);
  }
});

test('does not lift a startup taint whose value somebody changed', () => {
  const changed = { ...member(), taints: [taint('agent=later:NoSchedule'), taint('setup:NoExecute')] };
  const { after, said } = step(changed, pool);
  assert.deepEqual([said, startupOf(after)], [[], { 'agent:NoSchedule': null, 'setup:NoExecute': '' }]);
  assert.deepEqual(taintsOf(step({ ...after, conditions: ['AgentReady'] }, pool).after), taintsOf(changed));
});

test('does not write members when their pool gets startup taints later', () => {
  for (const record of ['{"pool":"worker"}', recordOf({ pool: 'worker', startup: { 'old:NoSchedule': null } })])
    assert.equal(step(node(['cni:NoSchedule'], { record }), pool).plan.patch, undefined);
});

test('removes a startup taint that left the spec, and does not set it again', () => {
  const { after, said } = step(member(), aPool({ startupTaints: spec.startupTaints?.slice(1) ?? [] }));
  assert.deepEqual(said, ['remove taint agent:NoSchedule starting>- (spec)']);
  assert.deepEqual(startupOf(after), { 'agent:NoSchedule': null, 'setup:NoExecute': '' });
  assert.equal(step(after, pool).plan.patch, undefined);
});

test('a new value in the spec applies to nodes that join later', () => {
  const later = aPool({
    startupTaints: [{ key: 'setup', value: 'v2', effect: 'NoExecute' }, ...(spec.startupTaints ?? []).slice(0, 1)],
  });
  assert.equal(step(member(), later).plan.patch, undefined);
  assert.deepEqual(taintsOf(step(node(), later).after), ['setup=v2:NoExecute', 'agent=starting:NoSchedule']);
});

test('a node that leaves loses only the startup taints with their original value', () => {
  const start = node(['cni:NoSchedule']);
  const left = step(step(start, pool).after, undefined);
  assert.deepEqual(left.said, [
    'remove taint agent:NoSchedule starting>- (left the pool)',
    'remove taint setup:NoExecute >- (left the pool)',
  ]);
  assert.deepEqual([left.after.taints, left.after.record], [start.taints, undefined]);
});

test('a pool that takes over a node sets its own startup taints, even with the same key', () => {
  const other = (value: string) =>
    aPool({ startupTaints: [{ key: 'agent', value, effect: 'NoSchedule' }] }, { name: 'other' });
  const changed = step(member(), other('v2'));
  assert.deepEqual(changed.said, [
    'change taint agent:NoSchedule starting>v2 (joined the pool)',
    'remove taint setup:NoExecute >- (left the pool)',
  ]);
  assert.deepEqual(startupOf(changed.after), { 'agent:NoSchedule': 'v2' });
  const kept = step(member(), other('starting'));
  assert.deepEqual(kept.said, ['remove taint setup:NoExecute >- (left the pool)']);
  assert.deepEqual(startupOf(kept.after), { 'agent:NoSchedule': 'starting' });
  const lifted = step({ ...member(), taints: [] }, other('starting'));
  assert.deepEqual(taintsOf(lifted.after), [], 'it is given once to a node');
  for (const { after } of [changed, kept, lifted]) assert.deepEqual(taintsOf(step(after, undefined).after), []);
});

test('a startup taint that becomes a normal taint, or the reverse, leaves no taint behind', () => {
  const asTaint = aPool({ taints: [taint('agent=starting:NoSchedule'), taint('setup=x:NoExecute')] });
  const became = step(member(), asTaint);
  assert.deepEqual(became.said, ['change taint setup:NoExecute >x (spec)']);
  assert.equal(step(became.after, asTaint).plan.patch, undefined);
  assert.deepEqual(taintsOf(step(became.after, undefined).after), []);
  const back = step(became.after, pool);
  assert.deepEqual(taintsOf(back.after), [], 'members are not given any');
});

test('another pool can set the startup taint of the first pool as its own taint', () => {
  const other = aPool({ taints: [taint('agent=starting:NoSchedule')] }, { name: 'other' });
  const moved = step(member(), other);
  assert.deepEqual(moved.said, ['remove taint setup:NoExecute >- (left the pool)']);
  assert.deepEqual(taintsOf(step(moved.after, undefined).after), [], 'displaced nothing');
});

test('unmanaged: Remove strips neither startup taints nor taints of somebody else with their key', () => {
  const strict = aPool({ ...spec, unmanaged: 'Remove' });
  const { after } = step(node(['cni:NoSchedule', 'setup=theirs:NoExecute']), strict);
  assert.deepEqual(taintsOf(after), ['setup=theirs:NoExecute', 'agent=starting:NoSchedule']);
  assert.equal(step(after, strict).plan.patch, undefined);
  const left = step(after, undefined).after;
  assert.deepEqual(taintsOf(left).toSorted(), ['cni:NoSchedule', 'setup=theirs:NoExecute']);
});

test('restores a taint that the previous pool stripped before it sets a startup taint', () => {
  const first = aPool({ unmanaged: 'Remove' }, { name: 'first' });
  const strict = aPool({ ...spec, unmanaged: 'Remove' });
  const start = node(['setup=theirs:NoExecute']);
  const stripped = step(start, first).after;
  const direct = step(step(stripped, undefined).after, strict).after;
  const second = step(stripped, strict);
  assert.deepEqual(second.said, [
    'restore taint setup:NoExecute ->theirs (left the pool)',
    'add taint agent:NoSchedule ->starting (joined the pool)',
  ]);
  assert.deepEqual([second.after.taints, second.after.record], [direct.taints, direct.record]);
  assert.equal(step(second.after, strict).plan.patch, undefined);
  assert.deepEqual(taintsOf(step(second.after, undefined).after), ['setup=theirs:NoExecute']);
});

test('keeps the restored taint when the next pool keeps unmanaged taints', () => {
  const first = aPool({ unmanaged: 'Remove' }, { name: 'first' });
  const given = aPool({ startupTaints: [taint('setup=x:NoExecute')], unmanaged: 'Remove' });
  const keeps = aPool({ startupTaints: [taint('setup:NoExecute')] });
  const start = node(['setup=theirs:NoExecute']);
  const kept = step(step(step(start, first).after, given).after, keeps).after;
  assert.equal(step(kept, keeps).plan.patch, undefined);
  assert.deepEqual(taintsOf(kept), ['setup=theirs:NoExecute']);
  assert.deepEqual(taintsOf(step(kept, undefined).after), ['setup=theirs:NoExecute']);
});

test('does not restore a taint that the pool stripped when it becomes a startup taint', () => {
  const bare = aPool({ unmanaged: 'Remove' });
  const strict = aPool({ ...spec, unmanaged: 'Remove' });
  const stripped = step(node(['setup=theirs:NoExecute']), bare).after;
  assert.equal(step(stripped, strict).plan.patch, undefined);
  const again = { ...stripped, taints: [taint('setup=again:NoExecute')] };
  assert.deepEqual(taintsOf(step(again, strict).after), ['setup=again:NoExecute'], 'it is not stripped any more');
  for (const owner of [pool, undefined])
    assert.deepEqual(taintsOf(step(stripped, owner).after), ['setup=theirs:NoExecute']);
});

test('a forged record neither adds nor removes startup taints', () => {
  const withTaint = aPool({ ...spec, taints: [taint('gold:NoSchedule')] });
  const honest = step(node(), withTaint).after;
  const { startup = {}, ...rest } = JSON.parse(honest.record ?? '{}');
  for (const forged of [{ 'gold:NoSchedule': '' }, { 'gold:NoSchedule': null }, { 'new:NoSchedule': 'x' }]) {
    const record = JSON.stringify({ ...rest, startup: { ...startup, ...forged } });
    const { after, plan } = step({ ...honest, record }, withTaint);
    assert.deepEqual([taintsOf(after), plan.changes], [taintsOf(honest), []], JSON.stringify(forged));
  }
});

test('sets no startup taints on a node with an unreadable record', () => {
  const { after } = step(node([], { record: '{' }), pool);
  assert.deepEqual([taintsOf(after), startupOf(after)], [[], { 'agent:NoSchedule': null, 'setup:NoExecute': null }]);
  assert.equal(step(after, pool).plan.patch, undefined);
});

test('drops record entries that no pool can write', () => {
  const startup = { 'a:NoSchedule': 'x y', 'b:Never': '', 'c d:NoExecute': '', 'e:NoExecute': 7, 'f:NoExecute': null };
  const record = parseRecord(JSON.stringify({ pool: 'worker', startup }));
  assert.deepEqual([...(record?.startup ?? [])], [['f:NoExecute', null]]);
});
