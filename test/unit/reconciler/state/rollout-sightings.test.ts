import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { RolloutSightings } from '../../../../src/reconciler/state/rollout-sightings.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode } from '../../nodepool/fixtures.ts';

const CHANGED = '2026-01-01T00:00:10Z';
const NOW = Date.parse(CHANGED) + 500;
const recordOf = (more: object) =>
  parseRecord(JSON.stringify({ pool: 'worker', changed: CHANGED, ...more })) ?? assert.fail();

test('two changes of a node with the same time are two changes', () => {
  const clock = new FakeClock();
  const sightings = new RolloutSightings(clock);
  const see = (ready: boolean, rollout: string) =>
    sightings.see('worker', aNode({ ready, readySince: NOW / 1000 - 100 }), recordOf({ rollout }), NOW);
  assert.equal(see(true, 'abcdef0123').wasReady, true);
  clock.freeze(400);
  const { changedAgo, wasReady } = see(false, 'abcdef0124');
  assert.deepEqual([changedAgo, wasReady], [0, false]);
  clock.freeze(400);
  assert.equal(see(false, 'abcdef0124').changedAgo, 400);
});

test('the end of a drain is a change, also in the second in which it began', () => {
  const clock = new FakeClock();
  const sightings = new RolloutSightings(clock);
  const see = (more: object) => sightings.see('worker', aNode(), recordOf({ rollout: 'abcdef0123', ...more }), NOW);
  see({ draining: { 'a:NoExecute': '' } });
  clock.freeze(400);
  assert.equal(see({ draining: { 'a:NoExecute': '' } }).changedAgo, 900);
  assert.equal(see({}).changedAgo, 0);
});
