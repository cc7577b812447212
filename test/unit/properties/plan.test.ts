/** Plans for a node that pools own, change and release, while others write to it. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { planNode } from '../../../src/nodepool/plan.ts';
import { parseRecord } from '../../../src/nodepool/record.ts';
import { taintId } from '../../../src/nodepool/taint.ts';
import type { Node, NodePool, NodePoolSpec, Taint } from '../../../src/nodepool/types.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
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

const spec = (unmanaged: fc.Arbitrary<'Ignore' | 'Remove'>): fc.Arbitrary<NodePoolSpec> =>
  fc
    .record({ labels: labelsOf(OWN), taints: taintsOf(OWN), unmanaged })
    .map(({ unmanaged: rule, ...rest }) => (rule === 'Remove' ? { ...rest, unmanaged: 'Remove' as const } : rest));
const pool = (unmanaged = fc.constantFrom<'Ignore' | 'Remove'>('Ignore', 'Ignore', 'Remove')) =>
  fc.tuple(fc.constantFrom('gpu', 'worker'), spec(unmanaged)).map(([name, one]) => aPool(one, { name }));
const node = fc
  .record({ labels: labelsOf([...OWN, ...FOREIGN]), taints: taintsOf([...OWN, ...FOREIGN]) })
  .map(one => aNode(one));

/** Plans, and returns the node with the patch applied. */
function applied(before: Node, owner: NodePool | undefined): Node {
  const { patch } = planNode(before, parseRecord(before.record), owner);
  const labels = Object.entries({ ...before.labels, ...patch?.labels }).filter(
    (pair): pair is [string, string] => pair[1] !== null,
  );
  const { record: had, ...rest } = before;
  const record = patch?.record === undefined ? had : (patch.record ?? undefined);
  const taints = patch?.taints ?? before.taints;
  return { ...rest, labels: Object.fromEntries(labels), taints, ...(record === undefined ? {} : { record }) };
}

const foreignOf = ({ labels, taints }: Node) => ({
  labels: Object.entries(labels)
    .filter(([key]) => FOREIGN.includes(key))
    .toSorted(),
  taints: taints.filter(({ key }) => FOREIGN.includes(key)),
});
const slotsOf = ({ labels, taints }: Node) => ({
  labels: Object.entries(labels).toSorted(),
  taints: taints.map(({ value: text = '', ...rest }) => `${taintId(rest)}=${text}`).toSorted(),
});

/** A pool gets the node or changes, the node is released, or someone else writes to it. */
type Step = { owner: NodePool | undefined } | { labels: Record<string, string>; taints: Taint[] };
const steps = (unmanaged?: fc.Arbitrary<'Ignore' | 'Remove'>): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      fc.option(pool(unmanaged), { nil: undefined }).map(owner => ({ owner })),
      fc.record({ labels: labelsOf(OWN), taints: taintsOf(OWN) }),
    ),
    { maxLength: 6 },
  );

function after(step: Step, before: Node): Node {
  return 'owner' in step
    ? applied(before, step.owner)
    : { ...before, ...step, labels: { ...before.labels, ...step.labels } };
}

property(
  'an applied plan leaves nothing to plan, and the node has what the pool wants',
  fc.property(node, steps(), pool(), (fresh, before, owner) => {
    const last = applied(
      before.reduce<Node>((one, step) => after(step, one), fresh),
      owner,
    );
    assert.equal(planNode(last, parseRecord(last.record), owner).patch, undefined);
    for (const [key, text] of Object.entries(owner.spec.labels ?? {})) assert.equal(last.labels[key], text);
    const ids = slotsOf(last).taints;
    for (const { key, effect: how, value: text = '' } of owner.spec.taints ?? [])
      assert.ok(ids.includes(`${key}:${how}=${text}`));
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
