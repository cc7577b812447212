/** `noExecute: Drain` and spec.rollout: which changes wait for a turn, which stamp they set, and which repairs need no turn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord, withRolloutChange } from '../../../../src/nodepool/plan/record.ts';
import type { Node, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step } from './plan-step.ts';
import { planWhileWaiting } from './plan-view.ts';

const TIME = '2026-05-01T12:00:00Z';
const STAMP = { changed: TIME, rollout: 'abcdef0123' };
const [EXECUTE, STAND_IN] = ['dedicated:NoExecute', 'dedicated:NoSchedule'];
const rolled = (more: NodePoolSpec = {}) =>
  aPool({ noExecute: 'Drain', rollout: { maxConcurrent: 1 }, taints: [taint('dedicated=x:NoExecute')], ...more });
const node = (record: object, ...taints: string[]): Node =>
  aNode({ record: recordOf({ pool: 'worker', ...record }), taints: taints.map(taint) });
const begun = { taints: { [STAND_IN]: 'x' }, draining: { [EXECUTE]: 'x' } };

test('drains a joined or drifted node without a rollout step; a changed spec needs one', () => {
  const joined = node(begun, 'dedicated=x:NoSchedule');
  const drifted = node({ ...STAMP, taints: { [EXECUTE]: 'x' } });
  for (const each of [joined, drifted, step(drifted, rolled()).after]) {
    for (const isCleared of [false, true]) assert.equal(step(each, rolled(), [], isCleared).plan.isRolloutStep, false);
    const labelled = rolled({ labels: { tier: '2' } });
    for (const isCleared of [false, true])
      assert.equal(step(each, labelled, [], isCleared).plan.isRolloutStep, true, 'the label has its turn');
  }
  const repaired = step(step(drifted, rolled()).after, rolled(), [], true).after;
  assert.deepEqual(parseRecord(repaired.record)?.changed, TIME, 'drift is no change by a rollout');
});

test('a drain that needed no turn needs none to remove a taint that others set in place of the stand-in', () => {
  const theirs = node({ draining: { [EXECUTE]: 'x' } }, 'dedicated=theirs:NoSchedule');
  for (const isCleared of [false, true]) {
    const { plan, after } = step(theirs, rolled({ unmanaged: 'Remove' }), [], isCleared);
    assert.equal(plan.isRolloutStep, false);
    assert.deepEqual(after.taints, isCleared ? [taint('dedicated=x:NoExecute')] : theirs.taints);
  }
});

test('the rollout stamp stays during evictions, and the final taint replaces it', () => {
  const first = step(node({ ...STAMP, wasNotReady: true }), rolled());
  assert.equal(first.plan.isRolloutStep, true);
  assert.equal(parseRecord(first.after.record)?.changed, undefined, 'the writer stamps it');
  const record = withRolloutChange(first.after.record, { ...STAMP, wasNotReady: true }) ?? '';
  const closed = { ...first.after, record };
  const { plan } = step(closed, rolled());
  assert.deepEqual([plan.patch, plan.isRolloutStep, plan.drain?.hasBegun], [undefined, true, true]);
  const done = step(closed, rolled(), [], true);
  const last = withRolloutChange(done.after.record, { changed: '2026-05-01T12:01:00Z', rollout: 'abcdef0123' });
  assert.equal(
    last,
    '{"pool":"worker","generation":1,"taints":{"dedicated:NoExecute":"x"},"changed":"2026-05-01T12:01:00Z","rollout":"abcdef0123"}',
  );
});

/** Taints after a repair, as text. */
function repaired(each: Node, spec: NodePoolSpec = {}): string[] {
  const record = parseRecord(each.record);
  assert.ok(record);
  const { patch } = planWhileWaiting(each, record, rolled({ labels: { tier: '2' }, ...spec }));
  return (patch?.taints ?? each.taints).map(({ key, value, effect }) => `${key}=${value ?? ''}:${effect}`);
}

test('a waiting member keeps its stand-in taint, and repairs do not restore NoExecute', () => {
  const lost = node({ ...STAMP, taints: { [EXECUTE]: 'x', 'a:NoSchedule': '1' } });
  const both = { taints: [taint('dedicated=x:NoExecute'), taint('a=1:NoSchedule')] };
  assert.deepEqual(repaired(lost, both), ['a=1:NoSchedule'], 'it would evict pods without a budget');
  assert.deepEqual(repaired(lost, { ...both, noExecute: 'Immediate' }), ['a=1:NoSchedule', 'dedicated=x:NoExecute']);
  const another = node({ ...STAMP, taints: { [EXECUTE]: 'old' } }, 'dedicated=y:NoExecute');
  assert.deepEqual(repaired(another), ['dedicated=y:NoExecute'], 'another value');

  assert.deepEqual(repaired(node({ ...STAMP, ...begun }, 'dedicated=x:NoSchedule')), ['dedicated=x:NoSchedule']);
  assert.deepEqual(repaired(node({ ...STAMP, ...begun })), ['dedicated=x:NoSchedule'], 'somebody removed the stand-in');
  assert.deepEqual(repaired(node({ ...STAMP, ...begun }), { taints: [] }), [], 'the spec has it no more');
  assert.deepEqual(repaired(node({ ...STAMP })), [], 'its drain has not started');
});
