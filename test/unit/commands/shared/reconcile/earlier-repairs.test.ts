import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierRepairs } from '../../../../../src/commands/shared/reconcile/earlier-repairs.ts';
import type { Change } from '../../../../../src/nodepool/plan/change.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

const drift: Change = { kind: 'label', key: 'tier', action: 'change', from: 'silver', to: 'gold', reason: 'drift' };
const NOW = new Date('2026-05-01T12:00:00Z');

test('counts only nodes that the note names', async () => {
  const note = '9 nodes updated (label tier changed from silver to gold (drift)): n1, n10, and 7 more';
  const event = { pool: 'worker', poolUid: 'p', type: 'Normal', reason: 'NodesUpdated', note, count: 2, reporter: 'x' };
  const times = { firstSeen: '2026-05-01T11:50:00Z', lastSeen: '2026-05-01T11:50:00Z' };
  const object = { metadata: { name: 'e', creationTimestamp: times.firstSeen } };
  const events = { listObjects: async () => [{ ...event, ...times, object }] };
  const found = await earlierRepairs(aPool({}, { uid: 'p' }), events, () => NOW);
  const counts = ['n1', 'n10', 'n2', 'n', 'more', '7'].map(name => found?.count(drift, name));
  assert.deepEqual(counts, [2, 2, 0, 0, 0, 0]);
  assert.equal(found?.hasAny, true);
});

test('counts an Event of the last hour regardless of the clock of its reporter', async () => {
  const note = '1 node updated (label tier changed from silver to gold (drift)): n1';
  const event = { pool: 'worker', poolUid: 'p', type: 'Normal', reason: 'NodesUpdated', note, count: 1, reporter: 'x' };
  const isRecent = async (creationTimestamp: string, firstSeen: string, lastSeen = firstSeen) => {
    const object = { metadata: { name: 'e', creationTimestamp } };
    const events = { listObjects: async () => [{ ...event, firstSeen, lastSeen, object }] };
    return (await earlierRepairs(aPool({}, { uid: 'p' }), events, () => NOW))?.hasAny;
  };
  assert.equal(await isRecent('2026-05-01T11:00:01Z', '2026-05-01T02:00:00Z'), true, 'behind');
  assert.equal(await isRecent('2026-05-01T11:00:00Z', '2026-05-01T20:00:00Z'), false, 'ahead');
  assert.equal(
    await isRecent('2026-05-01T10:00:00Z', '2026-05-01T01:00:00Z', '2026-05-01T02:30:00Z'),
    true,
    'a series',
  );
});
