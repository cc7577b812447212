/** Which nodes are given startup taints: young ones, once each, and with `again: Boot` members that boot. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compactBoot, parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { type Birth, isYoung, LONG_REGISTERED } from '../../../../src/nodepool/plan/startup-taints.ts';
import type { Node, NodePoolSpec, StartupTaint } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step, YOUNG } from './plan-step.ts';
import { planWhileWaiting } from './plan-view.ts';

const AGENT: StartupTaint = {
  key: 'agent',
  value: 'starting',
  effect: 'NoSchedule',
  until: { nodeCondition: 'AgentReady' },
};
const SETUP: StartupTaint = { key: 'setup', effect: 'NoExecute' };
const [AGENT_ID, SETUP_ID, AGENT_TEXT] = ['agent:NoSchedule', 'setup:NoExecute', 'agent=starting:NoSchedule'];
const spec: NodePoolSpec = { startupTaints: [AGENT, SETUP] };
const pool = aPool(spec);
const MINUTE = 60_000;

const node = (taints: string[] = [], rest: Partial<Node> = {}): Node => aNode({ taints: taints.map(taint), ...rest });
const born = (at: Node, owner = pool, birth: Partial<Birth> = {}) =>
  step(at, owner, [], false, { ...LONG_REGISTERED, ...birth });
const young = (at: Node, owner = pool) => born(at, owner, YOUNG);
const startupOf = ({ record }: Node) => Object.fromEntries(parseRecord(record)?.startup ?? []);
const taintsOf = ({ taints }: Node) =>
  taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);

test('isYoung() is true for 10 minutes after registration, or until the node was Ready', () => {
  const registered = Date.parse('2026-01-01T00:00:00Z');
  const at = (minutes: number, rest: Partial<Node> = {}) => isYoung(node([], rest), registered + minutes * MINUTE);
  const since = (seconds: number, ready = false) => ({ ready, readySince: registered / 1000 + seconds });
  assert.deepEqual([at(0), at(9.9), at(10), at(600)], [true, true, false, false]);
  assert.equal(at(-60), true, 'our clock is behind');
  assert.deepEqual([at(60, { ready: false }), at(60, since(5)), at(60, since(100))], [true, true, true]);
  assert.deepEqual([at(60, since(5, true)), at(60, since(3000)), at(60, since(-3000))], [false, false, false]);
  assert.equal(isYoung(node([], { creationTimestamp: '' }), registered), false);
});

test('sets no startup taints on a node that is not young', () => {
  for (const at of [node(), node([], { conditions: ['AgentReady'] }), node([], { record: '{' })]) {
    const { after, said } = born(at);
    assert.deepEqual([said, startupOf(after)], [[], { [AGENT_ID]: null, [SETUP_ID]: null }]);
    assert.equal(young(after).plan.patch, undefined);
  }
  const moved = born(young(node()).after, aPool(spec, { name: 'other' }));
  assert.deepEqual(taintsOf(moved.after), [AGENT_TEXT, 'setup:NoExecute'], 'the other pool goes on with what it has');
  const none = born(young(node()).after, aPool({ startupTaints: [{ ...AGENT, value: 'v2' }] }, { name: 'other' }));
  assert.deepEqual(taintsOf(none.after), []);
});

test('a taint with a condition counts as set when a young node registered with it', () => {
  const { after, said } = young(node([AGENT_TEXT, 'setup=other:NoExecute']));
  assert.deepEqual([said, startupOf(after)], [[], { [AGENT_ID]: 'starting', [SETUP_ID]: null }]);
  assert.deepEqual(born({ ...after, conditions: ['AgentReady'] }).said, [
    'remove taint agent:NoSchedule starting>- (condition)',
  ]);
  const removed = born({ ...after, taints: [] });
  assert.deepEqual([removed.said, startupOf(removed.after)], [[], { [AGENT_ID]: null, [SETUP_ID]: null }]);

  const ready = young(node([AGENT_TEXT], { conditions: ['AgentReady'] }));
  assert.deepEqual(ready.said, [
    'remove taint agent:NoSchedule starting>- (condition)',
    'add taint setup:NoExecute -> (joined the pool)',
  ]);
  const theirs = young(node([AGENT_TEXT, 'setup:NoExecute'])).after;
  assert.deepEqual(startupOf(theirs), { [AGENT_ID]: 'starting', [SETUP_ID]: null });
  assert.deepEqual(taintsOf(step(theirs, undefined).after), ['setup:NoExecute'], 'who set it removes it');
  const unreadable = young(node([AGENT_TEXT], { record: '{' })).after;
  assert.deepEqual(startupOf(unreadable), { [AGENT_ID]: null, [SETUP_ID]: null });
});

test('a taint that the admission policy skipped counts as set when the node registered with it', () => {
  const birth = JSON.stringify({ pool: 'worker', since: 'x', labels: {}, taints: {}, startup: { [SETUP_ID]: '' } });
  const at = node([AGENT_TEXT, 'setup:NoExecute'], { record: birth, birthRecord: 'record' });
  for (const birth of [YOUNG, LONG_REGISTERED]) {
    const { after, said } = born(at, pool, birth);
    assert.deepEqual([said, startupOf(after)], [[], { [AGENT_ID]: 'starting', [SETUP_ID]: '' }]);
  }
  const ready = born({ ...at, conditions: ['AgentReady'] });
  assert.deepEqual(ready.said, ['remove taint agent:NoSchedule starting>- (condition)']);
  assert.deepEqual(startupOf(ready.after), { [AGENT_ID]: null, [SETUP_ID]: '' });
  const other = born({ ...at, taints: [taint('agent=other:NoSchedule')] }).after;
  assert.deepEqual(startupOf(other), { [SETUP_ID]: null });
});

test('after a lost record, sets no taint twice, and still lifts those that wait', () => {
  const former = new Map([[AGENT_ID, 'starting'] as const, [SETUP_ID, null] as const]);
  for (const isYoung of [true, false]) {
    const kept = born(node([AGENT_TEXT]), pool, { isYoung, former });
    assert.deepEqual([kept.said, startupOf(kept.after)], [[], { [AGENT_ID]: 'starting', [SETUP_ID]: null }]);
  }
  // The pool took it back as the node left, and its agent does not work yet.
  assert.deepEqual(born(node(), pool, { isYoung: true, former }).said, [
    'add taint agent:NoSchedule ->starting (joined the pool)',
  ]);
  assert.deepEqual(born(node(), pool, { former }).said, []);
});

const again = aPool({
  startupTaints: [{ ...AGENT, again: 'Boot' }, { ...SETUP, again: 'Boot' }, taint('once:NoSchedule')],
});
/** All that was given is gone. */
const opened = () => born({ ...young(node([], { boot: 'one' }), again).after, taints: [] }, again).after;

test('again: Boot sets the startup taints once after the boot id changes', () => {
  assert.equal(
    opened().record,
    '{"pool":"worker","generation":1,"startup":{"agent:NoSchedule":null,"once:NoSchedule":null,"setup:NoExecute":null},"boot":"one"}',
  );
  assert.equal(born(opened(), again, { isBooting: true }).plan.patch, undefined);
  const { after, said } = born({ ...opened(), boot: 'two' }, again, { isBooting: true });
  assert.deepEqual(said, ['add taint agent:NoSchedule ->starting (booted)', 'add taint setup:NoExecute -> (booted)']);
  assert.deepEqual(startupOf(after), { [AGENT_ID]: 'starting', 'once:NoSchedule': null, [SETUP_ID]: '' });
  assert.equal(born(after, again, { isBooting: true }).plan.patch, undefined);
  const lifted = born({ ...after, conditions: ['AgentReady'], taints: [taint(AGENT_TEXT)] }, again).after;
  assert.deepEqual(taintsOf(lifted), []);
  assert.equal(born(lifted, again, { isBooting: true }).plan.patch, undefined);
});

test('again: Boot keeps existing taints, and sets none whose condition is True', () => {
  const waits = young(node([], { boot: 'one' }), again).after;
  const still = born({ ...waits, boot: 'two' }, again, { isBooting: true });
  assert.deepEqual([still.said, taintsOf(still.after)], [[], taintsOf(waits)]);
  assert.deepEqual(startupOf(still.after), startupOf(waits));
  assert.equal(parseRecord(still.after.record)?.boot, 'two');
  const ready = { ...opened(), boot: 'two', conditions: ['AgentReady'], taints: [taint('setup=theirs:NoExecute')] };
  assert.deepEqual(born(ready, again, { isBooting: true }).said, []);
});

test('again: Boot only records a boot that is long past or has no recorded predecessor', () => {
  const past = born({ ...opened(), boot: 'two' }, again);
  assert.deepEqual([past.said, parseRecord(past.after.record)?.boot], [[], 'two']);
  const { boot: _boot, ...before } = JSON.parse(opened().record ?? '');
  const first = born(node([], { boot: 'two', record: recordOf(before) }), again, { isBooting: true });
  assert.deepEqual([first.said, parseRecord(first.after.record)?.boot], [[], 'two']);
  const unknown = opened();
  delete unknown.boot;
  assert.equal(born(unknown, again, { isBooting: true }).plan.patch, undefined);
});

test('again: Boot with noExecute: Drain sets no NoExecute taint, even in a rollout', () => {
  const drains = aPool({ ...again.spec, noExecute: 'Drain' });
  const { after, said } = born({ ...opened(), boot: 'two' }, drains, { isBooting: true });
  assert.deepEqual(said, ['add taint agent:NoSchedule ->starting (booted)']);
  assert.deepEqual(startupOf(after), { [AGENT_ID]: 'starting', 'once:NoSchedule': null, [SETUP_ID]: null });
  assert.equal(parseRecord(after.record)?.boot, 'two');
  assert.equal(born(after, again, { isBooting: true }).plan.patch, undefined, 'Immediate does not make up for it');
  const booted = { ...opened(), boot: 'two' };
  const record = parseRecord(booted.record);
  assert.ok(record !== undefined);
  const { changes } = planWhileWaiting(booted, record, drains, {}, { ...LONG_REGISTERED, isBooting: true });
  assert.deepEqual(
    changes.map(({ key, effect }) => `${key}:${effect}`),
    [AGENT_ID],
  );
  // A node that joins: 0046 says why.
  assert.deepEqual(taintsOf(young(node(), drains).after).toSorted(), [
    AGENT_TEXT,
    'once:NoSchedule',
    'setup:NoExecute',
  ]);
});

test('a pool without again: Boot records no boot id, and removes a recorded one', () => {
  const plain = aPool({ startupTaints: [AGENT] });
  const member = young(node([], { boot: 'one' }), plain).after;
  assert.equal(parseRecord(member.record)?.boot, undefined);
  assert.equal(born({ ...member, boot: 'two' }, plain, { isBooting: true }).plan.patch, undefined);
  assert.equal(parseRecord(born(opened(), plain).after.record)?.boot, undefined);
});

test('cuts a boot id to the maximum length', () => {
  assert.equal(compactBoot('0f3c2a1b-5d6e-4f70-8192-a3b4c5d6e7f8'), '0f3c2a1b');
  assert.deepEqual(['17', ''].map(compactBoot), ['17', '']);
  assert.equal(compactBoot('x'.repeat(1000)).length, 64);
  for (const boot of [7, '', 'x'.repeat(65)]) {
    const raw = JSON.stringify({ pool: 'p', boot });
    assert.equal(parseRecord(raw)?.boot, undefined);
  }
});
