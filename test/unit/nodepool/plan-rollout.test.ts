/** Which plans wait for their turn in a rollout, and the time of the last turn in the record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planNode } from '../../../src/nodepool/plan.ts';
import { formatRecord, parseRecord, recordProblem, stampedRecord } from '../../../src/nodepool/record.ts';
import type { Node, NodePoolSpec } from '../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf } from './fixtures.ts';

const TIME = '2026-05-01T12:00:00Z';
const plain = { pool: 'worker', labels: { tier: 'gold' } };
const stamped = { ...plain, changed: TIME };
const node = (record: object | undefined, labels: Record<string, string>): Node =>
  aNode({ labels, ...(record === undefined ? {} : { record: recordOf(record) }) });
const plan = (spec: NodePoolSpec, of: Node) => planNode(of, parseRecord(of.record), aPool(spec));
const gold = { labels: { tier: 'gold' } };
const silver = { labels: { tier: 'silver' } };

test('a changed spec waits; joins, drift and the record alone do not', () => {
  const rollout = {};
  assert.equal(plan({ ...silver, rollout }, node(plain, { tier: 'gold' })).isRollout, true);
  assert.equal(plan(silver, node(plain, { tier: 'gold' })).isRollout, undefined, 'without spec.rollout');
  assert.equal(plan({ ...gold, rollout }, node(undefined, {})).isRollout, undefined, 'joins');
  assert.equal(plan({ ...gold, rollout }, node({ pool: 'other' }, {})).isRollout, undefined, 'comes from another pool');
  assert.equal(plan({ ...gold, rollout }, node(plain, { tier: 'drifted' })).isRollout, undefined, 'drift');
  const alone = plan({ ...silver, rollout }, node(plain, { tier: 'silver' }));
  assert.deepEqual([alone.changes, alone.isRollout, alone.patch !== undefined], [[], undefined, true]);
  assert.equal(plan({ rollout }, node(plain, { tier: 'gold' })).isRollout, true, 'a label that left the spec');
  const strip: NodePoolSpec = { ...gold, rollout, unmanaged: 'Remove' };
  assert.equal(plan(strip, node(plain, { tier: 'gold', theirs: 'x' })).isRollout, true, 'a label that is removed');
});

test('the time stays while the spec does, and nothing is written for it', () => {
  const settled = node(stamped, { tier: 'gold' });
  for (const spec of [gold, { ...gold, rollout: {} }, { ...gold, rollout: { canary: 3 }, handler: 'runc' }]) {
    assert.equal(plan(spec, settled).patch, undefined);
  }
  const repaired = plan({ ...gold, rollout: {} }, node(stamped, { tier: 'drifted' }));
  assert.deepEqual([repaired.patch?.labels, repaired.patch?.record], [{ tier: 'gold' }, undefined]);
  const later = plan(silver, node(stamped, { tier: 'gold' }));
  assert.equal(parseRecord(later.patch?.record ?? undefined)?.changed, undefined, 'changed without a rollout');
  const moved = planNode(settled, parseRecord(settled.record), aPool(gold, { name: 'other' }));
  assert.equal(parseRecord(moved.patch?.record ?? undefined)?.changed, undefined, 'it belongs to the other pool');
});

test('the record has the time only where a rollout has set it', () => {
  const before = '{"pool":"worker","labels":{"tier":"gold"}}';
  assert.equal(recordOf(plain), before);
  const after = stampedRecord(before, TIME);
  assert.equal(after, `{"pool":"worker","labels":{"tier":"gold"},"changed":"${TIME}"}`);
  const record = parseRecord(after);
  assert.ok(record);
  assert.deepEqual([record.changed, formatRecord(record), recordProblem(after ?? '')], [TIME, after, undefined]);
  for (const forged of [5, '', 'soon', '2026-99-01T12:00:00Z', '2026-05-01', `${TIME}\n`, null]) {
    assert.equal(parseRecord(JSON.stringify({ ...plain, changed: forged }))?.changed, undefined, String(forged));
  }
  assert.equal(stampedRecord('no record', TIME), undefined);
});
