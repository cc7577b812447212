/** Transient states, and outdated replaced values (transient-states.ts, merge-slots.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanRules } from '../../../../src/nodepool/plan/merge-slots.ts';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { LONG_REGISTERED } from '../../../../src/nodepool/plan/startup-taints.ts';
import { transientKeysIn } from '../../../../src/nodepool/plan/transient-states.ts';
import type { Node, NodePool, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step } from './plan-step.ts';
import { planMerge, planWhileWaiting } from './plan-view.ts';

const CILIUM = 'node.cilium.io/agent-not-ready:NoExecute';
const REMOVAL = 'ToBeDeletedByClusterAutoscaler=1:NoSchedule';
const remove = aPool({ unmanaged: 'Remove' });
const keep = aPool({ unmanaged: 'Keep' });
const node = (taints: string[], rest: Partial<Node> = {}): Node => aNode({ taints: taints.map(taint), ...rest });
const taintsOf = ({ taints }: Node) =>
  taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
const planned = (of: Node, owner: NodePool | undefined, rules: PlanRules, isCleared = false) =>
  planMerge(of, parseRecord(of.record), owner, [], isCleared, rules);

test('unmanaged: Remove keeps labels and taints by which other software marks a state', () => {
  const state = { 'nvidia.com/gpu-driver-upgrade-state': 'drain-required' };
  const { after, said } = step(node([CILIUM, REMOVAL, 'x:NoSchedule'], { labels: { ...state, y: '1' } }), remove);
  assert.deepEqual(said, ['remove label y 1>- (unmanaged)', 'remove taint x:NoSchedule >- (unmanaged)']);
  assert.deepEqual([taintsOf(after), after.labels], [[CILIUM, REMOVAL], state]);
});

test('never restores transient keys that earlier versions stripped, and writes no record for them', () => {
  const labels = { 'nvidia.com/gpu-driver-upgrade-state': null, y: null };
  const displaced = { labels: { 'nvidia.com/gpu-driver-upgrade-state': 'done', y: '1' }, taints: { [CILIUM]: '' } };
  const old = node([], { record: recordOf({ pool: 'worker', labels, taints: { [CILIUM]: null }, displaced }) });
  assert.equal(step(old, remove).plan.patch, undefined);
  for (const owner of [keep, undefined]) {
    const { after } = step(old, owner);
    assert.deepEqual([after.taints, after.labels], [[], { y: '1' }]);
  }
  assert.deepEqual(taintsOf(step({ ...old, taints: [taint(CILIUM)] }, remove).after), [CILIUM]);
});

test('does not restore displaced values of transient keys', () => {
  const owner = aPool({
    labels: { 'aws-node-termination-handler/action': 'none' },
    taints: [taint('UpdateInProgress=x:NoSchedule')],
  });
  const live = node(['UpdateInProgress=1:NoSchedule'], { labels: { 'aws-node-termination-handler/action': 'drain' } });
  const { after } = step(live, owner);
  assert.deepEqual([taintsOf(after), Object.values(after.labels)], [['UpdateInProgress=x:NoSchedule'], ['none']]);
  const released = step(after, undefined).after;
  assert.deepEqual([released.taints, released.labels], [[], {}]);
});

test('sets transient keys of the spec on joining nodes, but does not repair them', () => {
  for (const more of [{}, { noExecute: 'Drain' }] satisfies NodePoolSpec[]) {
    const owner = aPool({ taints: [taint(CILIUM)], labels: { 'kubevirt.io/schedulable': 'true' }, ...more });
    const begun = step(node([]), owner).after;
    const { after } = more.noExecute === undefined ? step(begun, owner) : step(begun, owner, [], true);
    assert.deepEqual([taintsOf(after), after.labels], [[CILIUM], { 'kubevirt.io/schedulable': 'true' }]);
    const { plan } = step({ ...after, taints: [], labels: {} }, owner);
    assert.deepEqual([plan.patch, plan.drain], [undefined, undefined]);
    const wanted = aPool({ ...owner.spec, labels: { 'kubevirt.io/schedulable': 'false' } });
    assert.deepEqual(step({ ...after, taints: [] }, wanted).after.labels, { 'kubevirt.io/schedulable': 'false' });
  }
});

test('sets no transient keys on a node that is not young', () => {
  const state = { 'kubevirt.io/schedulable': 'true' };
  for (const more of [{}, { noExecute: 'Drain' }] satisfies NodePoolSpec[]) {
    const owner = aPool({ taints: [taint(CILIUM), taint('x:NoSchedule')], labels: { ...state, tier: 'a' }, ...more });
    const joined = step(node([]), owner, [], false, LONG_REGISTERED);
    assert.deepEqual([taintsOf(joined.after), joined.after.labels], [['x:NoSchedule'], { tier: 'a' }]);
    assert.equal(joined.plan.drain, undefined);
    // What the agent sets is its own, with the same value, too: it stays when the pool goes.
    const { after } = step(
      { ...joined.after, taints: [...joined.after.taints, taint(CILIUM)] },
      owner,
      [],
      false,
      LONG_REGISTERED,
    );
    assert.deepEqual(taintsOf(step(after, undefined).after), [CILIUM]);
  }
  const owner = aPool({ taints: [taint(CILIUM)], labels: state });
  const given = step(node([]), owner).after;
  assert.equal(step(given, owner, [], false, LONG_REGISTERED).plan.patch, undefined, 'what it was given stays');
  assert.deepEqual(step(given, undefined, [], false, LONG_REGISTERED).after.taints, []);
  const another = aPool({ taints: [taint('node.cilium.io/agent-not-ready=x:NoExecute')], labels: state });
  const { plan } = step({ ...given, taints: [] }, another, [], false, LONG_REGISTERED);
  assert.deepEqual(plan.changes, [], 'another value of what has passed');
  const { after } = step(given, another, [], false, LONG_REGISTERED);
  assert.deepEqual(taintsOf(after), ['node.cilium.io/agent-not-ready=x:NoExecute'], 'and of what is there');
});

test('does not repair transient keys while the node waits in a rollout', () => {
  const owner = aPool({ taints: [taint(CILIUM)], labels: { tier: 'a' }, rollout: {} });
  const { after } = step(node([]), owner);
  const record = parseRecord(after.record);
  assert.ok(record);
  assert.deepEqual(planWhileWaiting({ ...after, taints: [], labels: {} }, record, owner).patch?.taints, undefined);
  assert.deepEqual(planWhileWaiting({ ...after, taints: [], labels: {} }, record, owner).patch?.labels, { tier: 'a' });
});

test('accepts additional transient keys from the rules', () => {
  const live = node(['example.com/boot:NoExecute', 'x:NoSchedule'], { labels: { 'acme.io/state': '1' } });
  const { patch } = planned(live, remove, { transient: ['example.com/boot', 'acme.io/*'] });
  assert.deepEqual([patch?.taints, patch?.labels], [[taint('example.com/boot:NoExecute')], undefined]);
});

test('restores no NoExecute taint without consent', () => {
  const rules = { withholdsNoExecute: true };
  const x = taint('agent=x:NoExecute');
  const stripped = step(node(['agent=x:NoExecute', 'plain:NoSchedule']), remove).after;
  const replaced = step(node(['agent=x:NoExecute']), aPool({ taints: [taint('agent=y:NoExecute')] })).after;
  for (const owner of [keep, undefined]) {
    const plan = planned(stripped, owner, rules);
    assert.deepEqual([plan.patch?.taints, plan.withheld], [[taint('plain:NoSchedule')], [x]]);
    const other = planned(replaced, owner, rules);
    assert.deepEqual([other.patch?.taints, other.withheld], [[], [x]]);
    const agreed = planned(stripped, owner, {});
    assert.deepEqual([agreed.patch?.taints, agreed.withheld], [[x, taint('plain:NoSchedule')], undefined]);
  }
  const other = aPool({}, { name: 'other' });
  assert.deepEqual(planned(stripped, other, rules).withheld, [x], 'a node that moves');
});

test('drops a withheld taint from the record, and keeps a taint with the same value', () => {
  const rules = { withholdsNoExecute: true };
  const equal = step(node(['agent=x:NoExecute']), aPool({ taints: [taint('agent=x:NoExecute')] })).after;
  const plan = planned(equal, undefined, rules);
  assert.deepEqual([plan.patch?.taints, plan.withheld], [undefined, undefined]);
  const stripped = step(node(['agent=x:NoExecute']), remove).after;
  assert.equal(planned(stripped, keep, rules).patch?.record, '{"pool":"worker","generation":1}');
});

test('with noExecute: Drain restores the taint after evictions, unless the node leaves', () => {
  const rules = { withholdsNoExecute: true };
  const strict = aPool({ unmanaged: 'Remove', noExecute: 'Drain' });
  const drains = aPool({ noExecute: 'Drain' });
  const stripped = step(node(['agent=x:NoExecute']), strict).after;
  const begun = step(stripped, drains);
  assert.deepEqual(begun.said, ['add taint agent:NoSchedule ->x (spec)']);
  assert.deepEqual(begun.plan.drain?.taints, [taint('agent=x:NoExecute')]);
  assert.equal(step(begun.after, drains).plan.patch, undefined, 'waits for the pods');
  const done = planned(begun.after, drains, rules, true);
  assert.deepEqual([done.patch?.taints, done.withheld], [[taint('agent=x:NoExecute')], undefined]);
  const left = planned(begun.after, undefined, rules);
  assert.deepEqual([left.patch?.taints, left.withheld], [[], [taint('agent=x:NoExecute')]]);
  assert.deepEqual(step(begun.after, strict).after.taints, [], 'back to Remove half-way');
});

test('forgets a displaced value once somebody else changed or removed the key', () => {
  const owner = aPool({
    labels: { tier: 'gold' },
    taints: [taint('a=ours:NoSchedule')],
    annotations: { note: 'ours' },
  });
  const first = step(
    node(['a=first:NoSchedule'], { labels: { tier: 'first' }, annotations: { note: 'first' } }),
    owner,
  ).after;
  assert.deepEqual(step(first, undefined).after.labels, { tier: 'first' });
  for (const drift of [{}, { tier: 'theirs' }, { tier: 'first' }] as Node['labels'][]) {
    const { after } = step({ ...first, labels: drift }, owner);
    assert.deepEqual(step(after, undefined).after.labels, {}, JSON.stringify(drift));
    assert.deepEqual(taintsOf(step(after, undefined).after), ['a=first:NoSchedule'], 'the other slots are as before');
  }
  const taints = step({ ...first, taints: [] }, owner).after;
  assert.deepEqual(taintsOf(step(taints, undefined).after), []);
  const notes = step({ ...first, annotations: { note: 'theirs' } }, owner).after;
  assert.deepEqual(step(notes, undefined).after.annotations, {});
});

test('keeps displaced values after its own repairs, repeated plans and spec changes', () => {
  const owner = aPool({ labels: { tier: 'gold' } });
  const first = step(node([], { labels: { tier: 'first' } }), owner).after;
  const edited = step(first, aPool({ labels: { tier: 'silver' } })).after;
  assert.deepEqual(step(step(edited, owner).after, undefined).after.labels, { tier: 'first' });
  assert.equal(step(first, owner).plan.patch, undefined);
});

test('forgets a displaced value when drift is repaired before the rollout step', () => {
  const owner = aPool({ labels: { tier: 'gold' }, rollout: {} });
  const first = step(node([], { labels: { tier: 'first' } }), owner).after;
  const record = parseRecord(first.record);
  assert.ok(record);
  const { patch } = planWhileWaiting({ ...first, labels: { tier: 'theirs' } }, record, owner);
  assert.deepEqual(patch?.labels, { tier: 'gold' });
  assert.deepEqual(JSON.parse(patch?.record ?? '{}').displaced, undefined);
});

test("does not repair a pool's own taint whose key ends like that of an agent", () => {
  // An agent that the list does not name sets and removes its taint under such a key.
  for (const text of ['example.com/not-ready:NoExecute', 'example.com/unschedulable:NoSchedule']) {
    const owner = aPool({ taints: [taint(text)] });
    const { after } = step(node([]), owner);
    assert.deepEqual(taintsOf(after), [text]);
    assert.equal(step({ ...after, taints: [] }, owner).plan.patch, undefined, text);
    assert.deepEqual(transientKeysIn(owner).length, 1, 'create, edit and doctor warn');
  }
  const other = aPool({ taints: [taint('example.com/not-ready.kind:NoSchedule')] });
  const { after } = step(node([]), other);
  assert.notEqual(step({ ...after, taints: [] }, other).plan.patch, undefined);
});
