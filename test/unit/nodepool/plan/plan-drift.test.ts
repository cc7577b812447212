/** Plans for nodes that others changed, that moved, or whose pool was edited. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import type { Node, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { step } from './plan-step.ts';
import { planMerge } from './plan-view.ts';

const pool = aPool({ labels: { tier: 'gold' }, taints: [taint('dedicated=x:NoSchedule')] });

test('changes only the record of a node that moves to a pool with the same spec', () => {
  const { after } = step(aNode(), pool);
  const { plan, after: moved } = step(after, aPool(pool.spec, { name: 'spot' }));
  assert.deepEqual(Object.keys(plan.patch ?? {}), ['resourceVersion', 'record']);
  assert.equal(parseRecord(moved.record)?.pool, 'spot');
  assert.deepEqual([plan.changes, plan.previous, plan.owner], [[], 'worker', 'spot']);
});

test('a plan without a patch has no changes', () => {
  assert.deepEqual(planMerge(aNode(), undefined, undefined).changes, []);
  const { after } = step(aNode(), pool);
  assert.deepEqual(planMerge(after, parseRecord(after.record), pool).changes, []);
});

test('a patch contains only changes', () => {
  const applied = step(aNode(), pool).after;
  const drifted = { ...applied, labels: { tier: 'lead' } };
  assert.deepEqual(step(drifted, pool).plan.patch, { resourceVersion: '7', labels: { tier: 'gold' } });
  const untainted = { ...applied, taints: [] };
  assert.deepEqual(step(untainted, pool).plan.patch, {
    resourceVersion: '7',
    taints: [taint('dedicated=x:NoSchedule')],
  });
});

test('repairs removed and changed taints', () => {
  const two = aPool({ taints: [taint('a=1:NoSchedule'), taint('b:NoExecute')] });
  const applied = step(aNode(), two).after;
  for (const taints of [['b:NoExecute'], ['a=1:NoSchedule'], ['a=2:NoSchedule', 'b:NoExecute'], []]) {
    const { after } = step({ ...applied, taints: taints.map(taint) }, two);
    assert.deepEqual(new Set(after.taints), new Set(two.spec.taints), String(taints));
  }
  assert.equal(step({ ...applied, taints: applied.taints.toReversed() }, two).plan.patch, undefined);
});

test('treats a taint without a value as one with the empty value', () => {
  const valueless = aPool({ taints: [{ key: 'a', value: '', effect: 'NoSchedule' }] });
  const applied = step(aNode(), valueless).after;
  assert.deepEqual(applied.taints, [taint('a:NoSchedule')]);
  assert.equal(step(applied, aPool({ taints: [taint('a:NoSchedule')] })).plan.patch, undefined);
});

test('records a value that existed before as applied, and removes it with the pool', () => {
  const applied = step(aNode(), pool).after;
  const edits: [NodePoolSpec, Partial<Node>][] = [
    [{ labels: { tier: 'silver' } }, { labels: { tier: 'silver' } }],
    [{ taints: [taint('dedicated=y:NoSchedule')] }, { taints: [taint('dedicated=y:NoSchedule')] }],
  ];
  for (const [edit, live] of edits) {
    const wanted = aPool({ ...pool.spec, ...edit });
    const { after, said } = step({ ...applied, ...live }, wanted);
    assert.deepEqual(said, []);
    assert.equal(after.record, step(aNode(), wanted).after.record);
    const { labels, taints } = step(after, undefined).after;
    assert.deepEqual([labels, taints], [{}, []]);
  }
});

test('records an existing taint value as applied when the spec had no value', () => {
  const applied = step(aNode(), aPool({ taints: [taint('a:NoSchedule')] })).after;
  const wanted = aPool({ taints: [taint('a=y:NoSchedule')] });
  const { after } = step({ ...applied, taints: [taint('a=y:NoSchedule')] }, wanted);
  assert.equal(after.record, step(aNode(), wanted).after.record);
});

test('records the displaced value when one label replaces another in the spec', () => {
  const applied = step(aNode(), aPool({ labels: { team: 'a' } })).after;
  const { after } = step({ ...applied, labels: { team: 'a', squad: 'a' } }, aPool({ labels: { squad: 'a' } }));
  assert.deepEqual(after.labels, { squad: 'a' });
  assert.deepEqual(step(after, undefined).after.labels, { squad: 'a' });
});

test('records the displaced value when one taint replaces another in the spec', () => {
  const applied = step(aNode(), aPool({ taints: [taint('t:NoSchedule')] })).after;
  const node = { ...applied, taints: [taint('t:NoSchedule'), taint('s:NoSchedule')] };
  const { after } = step(node, aPool({ taints: [taint('s:NoSchedule')] }));
  assert.deepEqual(after.taints, [taint('s:NoSchedule')]);
  assert.deepEqual(step(after, undefined).after.taints, [taint('s:NoSchedule')]);
});

test('restores a drifted label of a moved node when its new pool releases the label', () => {
  const drifted = { ...step(aNode(), pool).after, labels: { tier: 'theirs' } };
  const moved = step(drifted, aPool({ labels: { tier: 'silver' } }, { name: 'spot' }));
  assert.deepEqual(moved.after.labels, { tier: 'silver' });
  assert.deepEqual(step(moved.after, undefined).after.labels, { tier: 'theirs' });
});

test('reports no change when a value is restored to itself', () => {
  const { after } = step(aNode({ labels: { tier: 'gold' } }), aPool({ labels: { tier: 'gold' } }));
  const { plan, said } = step(after, undefined);
  assert.deepEqual(said, []);
  assert.deepEqual(plan.patch, { resourceVersion: '7', record: null });
});

test('unmanaged: Remove strips a node that no other pool matches', () => {
  const plan = planMerge(aNode({ labels: { other: 'x' } }), undefined, aPool({ unmanaged: 'Remove' }));
  assert.deepEqual(plan.patch?.labels, { other: null });
});

test('unmanaged: Remove strips labels and taints that are added later', () => {
  const strict = aPool({ labels: { tier: 'gold' }, unmanaged: 'Remove' });
  const applied = step(aNode(), strict).after;
  const { said } = step(
    { ...applied, labels: { ...applied.labels, new: 'x' }, taints: [taint('y:NoExecute')] },
    strict,
  );
  assert.deepEqual(said, ['remove label new x>- (unmanaged)', 'remove taint y:NoExecute >- (unmanaged)']);
});

test('unmanaged: Remove does not record a key that left its own spec', () => {
  const strict = aPool({ labels: { team: 'x' }, unmanaged: 'Remove' });
  const emptied = step(step(aNode(), strict).after, aPool({ unmanaged: 'Remove' }));
  assert.equal(emptied.after.record, recordOf({ pool: 'worker', generation: 1 }));
});

test('unmanaged: Remove finally restores a value that someone set over a label leaving the spec', () => {
  const applied = step(aNode(), aPool({ labels: { team: 'x' }, unmanaged: 'Remove' })).after;
  const stripped = step({ ...applied, labels: { team: 'theirs' } }, aPool({ unmanaged: 'Remove' })).after;
  assert.deepEqual(stripped.labels, {});
  assert.deepEqual(step(stripped, undefined).after.labels, { team: 'theirs' });
});

test('unmanaged: Remove does not restore a label that someone removed before it left the spec', () => {
  const strict = aPool({ labels: { team: 'x' }, unmanaged: 'Remove' });
  const applied = step(aNode({ labels: { team: 'old' } }), strict).after;
  const without = step({ ...applied, labels: {} }, aPool({ unmanaged: 'Remove' })).after;
  assert.deepEqual(step(without, undefined).after.labels, {});
});
