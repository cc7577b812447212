/** Which plans wait for their turn in a rollout, and the time of the last turn in the record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatRecord,
  MAX_CHANGE_LENGTH,
  MAX_RECORD_LENGTH,
  parseRecord,
  recordProblem,
  withRolloutChange,
} from '../../../../src/nodepool/plan/record.ts';
import { LONG_REGISTERED } from '../../../../src/nodepool/plan/startup-taints.ts';
import { rolloutHash } from '../../../../src/nodepool/rollout/rollout.ts';
import type { Node, NodePoolSpec } from '../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../fixtures.ts';
import { planMerge } from './plan-view.ts';

const TIME = '2026-05-01T12:00:00Z';
const HASH = 'abcdef0123';
const plain = { pool: 'worker', labels: { tier: 'gold' } };
const stamped = { ...plain, changed: TIME };
const node = (record: object | undefined, labels: Record<string, string>): Node =>
  aNode({ labels, ...(record === undefined ? {} : { record: recordOf(record) }) });
const plan = (spec: NodePoolSpec, of: Node) => planMerge(of, parseRecord(of.record), aPool(spec));
const gold = { labels: { tier: 'gold' } };
const silver = { labels: { tier: 'silver' } };

test('a changed spec waits for its turn; joins, drift and record writes do not', () => {
  const rollout = {};
  assert.equal(plan({ ...silver, rollout }, node(plain, { tier: 'gold' })).isRolloutStep, true);
  assert.equal(plan(silver, node(plain, { tier: 'gold' })).isRolloutStep, false, 'without spec.rollout');
  assert.equal(plan({ ...gold, rollout }, node(undefined, {})).isRolloutStep, false, 'joins');
  assert.equal(plan({ ...gold, rollout }, node({ pool: 'other' }, {})).isRolloutStep, false, 'comes from another pool');
  const born = { ...node({ pool: 'worker', labels: {} }, { tier: 'mine' }), birthRecord: 'record' as const };
  assert.equal(plan({ ...gold, rollout }, born).isRolloutStep, false, 'was born with a label of its own, and joins');
  assert.equal(
    plan({ ...gold, rollout }, { ...born, birthRecord: 'unused' }).isRolloutStep,
    true,
    'a birth record beside its record',
  );
  assert.equal(plan({ ...gold, rollout }, node(plain, { tier: 'drifted' })).isRolloutStep, false, 'drift');
  const alone = plan({ ...silver, rollout }, node(plain, { tier: 'silver' }));
  assert.deepEqual([alone.changes, alone.isRolloutStep, alone.kind], [[], false, 'write']);
  assert.equal(plan({ rollout }, node(plain, { tier: 'gold' })).isRolloutStep, true, 'a label that left the spec');
  const strip: NodePoolSpec = { ...gold, rollout, unmanaged: 'Remove' };
  assert.equal(plan(strip, node(plain, { tier: 'gold', theirs: 'x' })).isRolloutStep, true, 'a label that is removed');
});

test('a node that returns to a pool with a stopped rollout joins without the spec', () => {
  const stopped = (spec: NodePoolSpec, at = spec) => {
    const stop = { rollout: rolloutHash(aPool(at)), time: TIME, nodes: ['broken'] };
    return { ...aPool(spec), status: { status: 200, nodeCount: 0, stoppedRollouts: [stop] } };
  };
  const rollout = {};
  const spec = { ...gold, rollout };
  const back = node(undefined, {});
  const planned = (pool: ReturnType<typeof stopped>, of = back, birth = LONG_REGISTERED) =>
    planMerge(of, parseRecord(of.record), pool, [], false, {}, birth);
  const joined = planned(stopped(spec));
  const record = recordOf({ pool: 'worker' });
  assert.deepEqual(
    [joined.owner, joined.previous, joined.changes, joined.patch],
    ['worker', undefined, [], { resourceVersion: back.resourceVersion, record }],
  );
  assert.equal(planned(stopped(spec), { ...back, record }).isRolloutStep, true, 'then it is a member');
  const isThrottled = (...args: Parameters<typeof planned>) => planned(...args).changes.length === 0;
  assert.equal(isThrottled(stopped(gold)), false, 'without spec.rollout');
  assert.equal(isThrottled(stopped(spec, { ...silver, rollout })), false, 'another spec was stopped');
  const later = { ...back, creationTimestamp: '2026-05-01T12:00:01Z' };
  assert.equal(isThrottled(stopped(spec), later), false, 'it registered after the stop');
  const young = { ...LONG_REGISTERED, isYoung: true };
  assert.equal(isThrottled(stopped(spec), back, young), false, 'a new node');
  for (const each of [back, later])
    assert.equal(isThrottled(stopped(spec), each, { ...young, wasMember: true }), true, 'a new node that has left');
  assert.equal(isThrottled(stopped(spec), node({ pool: 'other' }, {})), false, 'comes from another pool');
});

test('keeps the rollout time while the spec stays, and writes nothing for it', () => {
  const settled = node(stamped, { tier: 'gold' });
  for (const spec of [gold, { ...gold, rollout: {} }, { ...gold, rollout: { canary: 3 }, handler: 'runc' }]) {
    assert.equal(plan(spec, settled).patch, undefined);
  }
  const repaired = plan({ ...gold, rollout: {} }, node(stamped, { tier: 'drifted' }));
  assert.deepEqual([repaired.patch?.labels, repaired.patch?.record], [{ tier: 'gold' }, undefined]);
  const later = plan(silver, node(stamped, { tier: 'gold' }));
  assert.equal(parseRecord(later.patch?.record ?? undefined)?.changed, undefined, 'changed without a rollout');
  const moved = planMerge(settled, parseRecord(settled.record), aPool(gold, { name: 'other' }));
  assert.equal(parseRecord(moved.patch?.record ?? undefined)?.changed, undefined, 'it belongs to the other pool');
});

test('records a time only for changes by a rollout', () => {
  const before = '{"pool":"worker","labels":{"tier":"gold"}}';
  assert.equal(recordOf(plain), before);
  for (const [stamp, added] of [
    // As an earlier version wrote it.
    [{ changed: TIME }, `"changed":"${TIME}"`],
    [{ changed: TIME, rollout: HASH }, `"changed":"${TIME}","rollout":"${HASH}"`],
    [{ changed: TIME, rollout: HASH, wasNotReady: true }, `"changed":"${TIME}","rollout":"${HASH}","wasNotReady":true`],
  ] as const) {
    const after = withRolloutChange(before, stamp);
    assert.equal(after, `{"pool":"worker","labels":{"tier":"gold"},${added}}`);
    const record = parseRecord(after);
    assert.ok(record);
    assert.deepEqual([record.changed, formatRecord(record), recordProblem(after ?? '')], [TIME, after, undefined]);
    assert.equal(plan({ ...gold, rollout: {} }, aNode({ labels: gold.labels, record: after ?? '' })).patch, undefined);
  }
  for (const forged of [5, '', 'soon', '2026-99-01T12:00:00Z', '2026-05-01', `${TIME}\n`, null]) {
    assert.equal(parseRecord(JSON.stringify({ ...plain, changed: forged }))?.changed, undefined, String(forged));
  }
  for (const forged of [5, '', 'x', `${HASH}0`, HASH.toUpperCase()]) {
    assert.equal(parseRecord(JSON.stringify({ ...stamped, rollout: forged }))?.rollout, undefined, String(forged));
  }
  assert.equal(parseRecord(JSON.stringify({ ...plain, rollout: HASH }))?.rollout, undefined, 'without a time');
  assert.equal(withRolloutChange('no record', { changed: TIME }), undefined);
});

test('rolloutHash() depends only on what the spec changes on members', () => {
  const hash = (spec: NodePoolSpec) => rolloutHash(aPool(spec));
  const spec: NodePoolSpec = {
    labels: { a: '1', b: '2' },
    taints: [taint('x=1:NoSchedule'), taint('y:NoSchedule')],
    annotations: { c: '3' },
  };
  const { labels, taints = [], annotations } = spec;
  assert.match(hash(spec), /^[0-9a-f]{10}$/);
  assert.equal(hash(gold), 'aaaa5bc9fd', 'nodes have it in their records');
  const same: NodePoolSpec[] = [
    { ...spec, rollout: { canary: 1, settleSeconds: 5 }, paused: true, handler: 'runc', unmanaged: 'Keep' },
    { ...spec, labels: { b: '2', a: '1' }, taints: taints.toReversed() },
    { ...spec, nodeSelector: { a: 'b' } },
    { ...spec, startupTaints: [taint('z:NoSchedule')] },
  ];
  for (const other of same) assert.equal(hash(other), hash(spec), JSON.stringify(other));
  const others: NodePoolSpec[] = [
    { ...spec, labels: { ...labels, a: '2' } },
    { ...spec, labels: { a: '1' } },
    { ...spec, taints: [taint('x=2:NoSchedule'), taint('y:NoSchedule')] },
    { ...spec, taints: [taint('x=1:NoExecute'), taint('y:NoSchedule')] },
    { ...spec, annotations: { ...annotations, c: '4' } },
    { ...spec, annotations: {}, labels: { ...labels, c: '3' } },
    { ...spec, unmanaged: 'Remove' },
    { ...spec, matchExpressions: [{ key: 'a', operator: 'Exists' }] },
  ];
  assert.equal(new Set([spec, ...others].map(hash)).size, others.length + 1);
});

test('a record without room for the rollout stamp counts as oversized', () => {
  const rest = recordOf({ pool: 'worker', generation: 1, annotations: { note: '' } }).length;
  const big = (less: number) => ({ annotations: { note: 'x'.repeat(MAX_RECORD_LENGTH - rest - less) } });
  const of = { ...node({ pool: 'worker', annotations: { note: 'x' } }, {}), annotations: { note: 'x' } };
  assert.equal(plan(big(0), of).kind, 'write');
  assert.equal(plan({ ...big(MAX_CHANGE_LENGTH - 1), rollout: {} }, of).kind, 'oversized');
  const { patch, kind } = plan({ ...big(MAX_CHANGE_LENGTH), rollout: {} }, of);
  assert.equal(kind, 'rollout step');
  const stamp = { changed: TIME, rollout: HASH, wasNotReady: true } as const;
  const written = withRolloutChange(patch?.record ?? undefined, stamp);
  assert.equal(written?.length, MAX_RECORD_LENGTH);
  assert.equal(parseRecord(written)?.rollout, HASH);
});
