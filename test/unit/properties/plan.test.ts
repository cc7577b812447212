/** Plans for a node that pools own, change and release, while others write to it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isSpecApplied } from '../../../src/nodepool/plan/plan.ts';
import { parseRecord } from '../../../src/nodepool/plan/record.ts';
import { LONG_REGISTERED } from '../../../src/nodepool/plan/startup-taints.ts';
import { taintId } from '../../../src/nodepool/spec/taints.ts';
import type { Node, NodePool, NodePoolSpec, StartupTaint, Taint } from '../../../src/nodepool/types.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
import { planMerge } from '../nodepool/plan/plan-view.ts';
import { property } from './property.ts';

const OWN = ['tier', 'zone', 'a.b/c'];
const FOREIGN = ['cloud/zone', 'cni', 'kubernetes.io/os'];
const value = fc.constantFrom('', 'x', 'y');
const effect = fc.constantFrom('NoSchedule' as const, 'NoExecute' as const);

const labelsOf = (keys: string[]) =>
  fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 4 }).map(one => ({ ...one }));
const taintsOf = (keys: string[]): fc.Arbitrary<Taint[]> =>
  fc.uniqueArray(
    fc
      .record({ key: fc.constantFrom(...keys), value, effect })
      .map(({ value: text, ...rest }) => (text === '' ? rest : { ...rest, value: text })),
    { maxLength: 3, selector: taintId },
  );

const CONDITIONS = ['AgentReady', 'B'];
const conditions = fc.subarray(CONDITIONS);
const startupTaints: fc.Arbitrary<StartupTaint[]> = fc
  .tuple(taintsOf(OWN), fc.array(fc.constantFrom(undefined, 'Ready', ...CONDITIONS), { minLength: 3, maxLength: 3 }))
  .map(([taints, untils]) =>
    taints.map((one, index) => {
      const nodeCondition = untils[index];
      return nodeCondition === undefined ? one : { ...one, until: { nodeCondition } };
    }),
  );

const spec = (unmanaged: fc.Arbitrary<'Ignore' | 'Remove'>): fc.Arbitrary<NodePoolSpec> =>
  fc
    .record({
      labels: labelsOf(OWN),
      taints: taintsOf(OWN),
      annotations: labelsOf(OWN),
      startup: startupTaints,
      unmanaged,
      drains: fc.boolean(),
    })
    .map(({ unmanaged: rule, startup, drains, ...rest }) => {
      const ids = rest.taints.map(taintId);
      const startupTaints = startup.filter(one => !ids.includes(taintId(one)));
      const noExecute = drains ? { noExecute: 'Drain' as const } : {};
      return { ...rest, startupTaints, ...noExecute, ...(rule === 'Remove' ? { unmanaged: 'Remove' as const } : {}) };
    });
const pool = (unmanaged = fc.constantFrom<'Ignore' | 'Remove'>('Ignore', 'Ignore', 'Remove')) =>
  fc.tuple(fc.constantFrom('gpu', 'worker'), spec(unmanaged)).map(([name, one]) => aPool(one, { name }));
const node = fc
  .record({
    labels: labelsOf([...OWN, ...FOREIGN]),
    taints: taintsOf([...OWN, ...FOREIGN]),
    annotations: labelsOf([...OWN, ...FOREIGN]),
    conditions,
    ready: fc.boolean(),
  })
  .map(one => aNode({ ...one, keptAnnotations: new Set([...OWN, ...FOREIGN]) }));

/** Plans, and returns the node with the patch applied. @param isCleared the pods that a taint waits for are gone */
function applied(before: Node, owner: NodePool | undefined, isCleared = false, birth = LONG_REGISTERED): Node {
  const { patch } = planMerge(before, parseRecord(before.record), owner, [], isCleared, {}, birth);
  const patched = (live = {}, values = {}) =>
    Object.fromEntries(
      Object.entries({ ...live, ...values }).filter((pair): pair is [string, string] => pair[1] !== null),
    );
  const labels = patched(before.labels, patch?.labels);
  const annotations = patched(before.annotations, patch?.annotations);
  const { record: had, ...rest } = before;
  const record = patch?.record === undefined ? had : (patch.record ?? undefined);
  const taints = patch?.taints ?? before.taints;
  return { ...rest, labels, taints, annotations, ...(record === undefined ? {} : { record }) };
}

const foreignPairs = (values = {}) =>
  Object.entries(values)
    .filter(([key]) => FOREIGN.includes(key))
    .toSorted();
const foreignOf = ({ labels, taints, annotations }: Node) => ({
  labels: foreignPairs(labels),
  annotations: foreignPairs(annotations),
  taints: taints.filter(({ key }) => FOREIGN.includes(key)),
});
const slotsOf = ({ labels, taints, annotations = {} }: Node) => ({
  labels: Object.entries(labels).toSorted(),
  annotations: Object.entries(annotations).toSorted(),
  taints: taints.map(({ value: text = '', ...rest }) => `${taintId(rest)}=${text}`).toSorted(),
});

/** A pool gets the node or changes, the node is released, or someone else writes to it. */
type Step = { owner: NodePool | undefined } | Required<Pick<Node, 'labels' | 'taints' | 'annotations' | 'conditions'>>;
const steps = (unmanaged?: fc.Arbitrary<'Ignore' | 'Remove'>): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      fc.option(pool(unmanaged), { nil: undefined }).map(owner => ({ owner })),
      fc.record({ labels: labelsOf(OWN), taints: taintsOf(OWN), annotations: labelsOf(OWN), conditions }),
    ),
    { maxLength: 6 },
  );

function after(step: Step, before: Node): Node {
  return 'owner' in step
    ? applied(before, step.owner)
    : {
        ...before,
        ...step,
        labels: { ...before.labels, ...step.labels },
        annotations: { ...before.annotations, ...step.annotations },
      };
}

property(
  'an applied plan leaves nothing to plan, and the node has what the pool wants',
  fc.property(node, steps(), pool(), (fresh, before, owner) => {
    const half = applied(
      before.reduce<Node>((one, step) => after(step, one), fresh),
      owner,
    );
    assert.equal(planMerge(half, parseRecord(half.record), owner).patch, undefined);
    const last = applied(half, owner, true);
    const { patch, drain } = planMerge(last, parseRecord(last.record), owner);
    assert.deepEqual([patch, drain], [undefined, undefined]);
    for (const [key, text] of Object.entries(owner.spec.labels ?? {})) assert.equal(last.labels[key], text);
    for (const [key, text] of Object.entries(owner.spec.annotations ?? {})) assert.equal(last.annotations?.[key], text);
    const ids = slotsOf(last).taints;
    for (const { key, effect: how, value: text = '' } of owner.spec.taints ?? [])
      assert.ok(ids.includes(`${key}:${how}=${text}`));
  }),
  500,
);

let applications = 0;

property(
  'a node that has what the spec wants has no changes in its plan',
  fc.property(node, steps(), pool(), conditions, labelsOf(OWN), (fresh, before, owner, met, labels) => {
    const had = before.reduce<Node>((one, step) => after(step, one), fresh);
    const born = applied({ ...had, ready: false, conditions: [] }, owner, false, { ...LONG_REGISTERED, isYoung: true });
    const whole = applied(born, owner, true);
    const last = { ...whole, conditions: met, labels: { ...whole.labels, ...labels } };
    const record = parseRecord(last.record);
    if (record === undefined || !isSpecApplied(last, record, owner)) return;
    applications++;
    // With another text of the record, the plan is a whole merge.
    const { changes, drain } = planMerge({ ...last, record: `${last.record} ` }, record, owner);
    assert.deepEqual([changes, drain], [[], undefined]);
  }),
  500,
);

test('most nodes after a plan have what the spec wants', () => assert.ok(applications > 100, `${applications}`));

property(
  'with noExecute: Drain, no plan sets a NoExecute taint while pods must be evicted',
  fc.property(node, steps(), pool(), (fresh, before, owner) => {
    const last = before.reduce<Node>((one, step) => after(step, one), fresh);
    const drains = { ...owner, spec: { ...owner.spec, noExecute: 'Drain' as const } };
    const had = slotsOf(last).taints;
    const [begun, done] = [applied(last, drains), applied(applied(last, drains), drains, true)];
    const ours = (owner.spec.taints ?? []).map(({ key, effect: how, value: text = '' }) => `${key}:${how}=${text}`);
    const arrived = (one: Node) =>
      slotsOf(one).taints.filter(id => id.includes(':NoExecute=') && ours.includes(id) && !had.includes(id));
    assert.deepEqual(arrived(begun), []);
    assert.deepEqual(
      ours.filter(id => !slotsOf(done).taints.includes(id)),
      [],
    );
  }),
  500,
);

property(
  'a plan keeps what no pool sets',
  fc.property(node, steps(fc.constant('Ignore')), (fresh, all) => {
    const untouched = foreignOf(fresh);
    all.reduce<Node>((one, step) => {
      // A write of taints replaces the whole list.
      const next = after('owner' in step ? step : { ...step, taints: [...foreignOf(one).taints, ...step.taints] }, one);
      assert.deepEqual(foreignOf(next), untouched);
      return next;
    }, fresh);
  }),
  500,
);

property(
  'a released node has what it had before, after any number of pools',
  fc.property(node, fc.array(pool(), { minLength: 1, maxLength: 4 }), (fresh, owners) => {
    const last = owners.reduce<Node>((one, owner) => applied(one, owner), fresh);
    const released = applied(last, undefined);
    assert.deepEqual(slotsOf(released), slotsOf(fresh));
    assert.equal(released.record, undefined);
  }),
  500,
);

property(
  'a plan keeps what others write to a member, except what the pool sets',
  fc.property(node, pool(fc.constant('Ignore')), labelsOf(OWN), (fresh, owner, theirs) => {
    const member = applied(fresh, owner);
    const changed = { ...member, labels: { ...member.labels, ...theirs } };
    const released = applied(changed, undefined);
    for (const [key, text] of Object.entries(theirs)) {
      if (member.labels[key] !== text) assert.equal(released.labels[key], text);
    }
  }),
);

property(
  'a node with unread annotations gets the complete plan, or is read again',
  fc.property(node, steps(), pool(), fc.subarray([...OWN, ...FOREIGN]), (fresh, before, owner, kept) => {
    const whole = before.reduce<Node>((one, step) => after(step, one), fresh);
    const record = parseRecord(whole.record);
    const isKept = (key: string) => kept.includes(key) || record?.annotations.has(key);
    const annotations = Object.fromEntries(Object.entries(whole.annotations ?? {}).filter(([key]) => isKept(key)));
    const plan = planMerge({ ...whole, annotations, keptAnnotations: new Set(kept) }, record, owner);
    if (plan.isUnread) assert.ok(!Object.keys(owner.spec.annotations ?? {}).every(isKept));
    else assert.deepEqual(plan.patch, planMerge(whole, record, owner).patch);
  }),
  500,
);

/** Somebody removes a taint, or conditions of the node change. */
type Event = { removed: string } | Required<Pick<Node, 'conditions' | 'ready'>>;
const ids = OWN.flatMap(key => ['NoSchedule', 'NoExecute'].map(how => `${key}:${how}`));
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ removed: fc.constantFrom(...ids) }),
  fc.record({ conditions, ready: fc.boolean() }),
);

property(
  'sets a startup taint at most once, and lifts it when its condition is True',
  fc.property(
    node,
    startupTaints,
    fc.array(fc.tuple(event, fc.boolean()), { maxLength: 8 }),
    (fresh, given, events) => {
      const owner = aPool({ startupTaints: given });
      const removed = new Set<string>();
      let one = applied(fresh, owner);
      for (const [change, isReconciled] of events) {
        if ('removed' in change) {
          removed.add(change.removed);
          one = { ...one, taints: one.taints.filter(live => taintId(live) !== change.removed) };
        } else one = { ...one, ...change };
        if (!isReconciled) continue;
        const { changes } = planMerge(one, parseRecord(one.record), owner);
        assert.deepEqual(new Set(changes.map(({ action }) => action)).difference(new Set(['remove'])), new Set());
        one = applied(one, owner);
        for (const { until, ...taint } of given) {
          const isTrue =
            until?.nodeCondition === 'Ready' ? one.ready : one.conditions?.includes(until?.nodeCondition ?? '');
          const theirs = fresh.taints.some(live => taintId(live) === taintId(taint));
          if (isTrue && !theirs) assert.ok(one.taints.every(live => taintId(live) !== taintId(taint)));
        }
      }
      const left = applied(one, undefined);
      const kept = fresh.taints.filter(live => !removed.has(taintId(live)));
      assert.deepEqual(slotsOf(left).taints, slotsOf({ ...fresh, taints: kept }).taints);
    },
  ),
  500,
);
