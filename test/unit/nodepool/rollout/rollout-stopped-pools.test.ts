/** Stopped rollouts in the status of a pool. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStopped, rolloutHash, stoppedRollout, stoppedRollouts } from '../../../../src/nodepool/rollout/rollout.ts';
import { RESUMED_ANNOTATION, type StoppedRollout } from '../../../../src/nodepool/types.ts';
import { aPool } from '../fixtures.ts';

const [TIME, LATER] = ['2026-05-01T12:00:00Z', '2026-05-01T12:00:01Z'];
const OTHER: StoppedRollout = { rollout: '0123456789', time: TIME, nodes: ['x'] };
const pool = (entries: StoppedRollout[], resumed?: string) =>
  aPool(
    { labels: { tier: '2' }, rollout: {} },
    {
      status: { status: 200, nodeCount: 1, stoppedRollouts: entries },
      ...(resumed === undefined ? {} : { annotations: { [RESUMED_ANNOTATION]: resumed } }),
    },
  );
const stop = { at: Date.parse(TIME), nodes: ['a'] };
const OWN: StoppedRollout = { rollout: rolloutHash(pool([])), time: TIME, nodes: ['a'] };

test('stoppedRollout() returns the stop of the current spec by its hash', () => {
  assert.deepEqual(stoppedRollout(pool([OTHER, OWN])), stop);
  assert.equal(stoppedRollout(pool([OTHER])), undefined);
  assert.equal(stoppedRollout(pool([{ ...OWN, time: 'x' }])), undefined);
  assert.deepEqual(stoppedRollout(pool([{ rollout: OWN.rollout, time: TIME }])), { at: stop.at, nodes: [] });
});

test('keeps the stops of ten specs in order, and updates the stop of the current spec', () => {
  assert.deepEqual(stoppedRollouts(pool([OTHER]), { stop }), [OTHER, OWN]);
  assert.deepEqual(stoppedRollouts(pool([OWN, OTHER]), { stop: { ...stop, nodes: [] } }), [
    { rollout: OWN.rollout, time: TIME },
    OTHER,
  ]);
  assert.deepEqual(stoppedRollouts(pool([OWN, OTHER]), { stop: undefined }), [OTHER]);
  assert.deepEqual(stoppedRollouts(pool([OWN, OTHER]), undefined), [OWN, OTHER]);
  const ten = Array.from({ length: 10 }, (_, at) => ({ ...OTHER, rollout: `012345678${at}` }));
  assert.deepEqual(stoppedRollouts(pool(ten), { stop }), [...ten.slice(1), OWN]);
});

test('resuming one spec does not resume others', () => {
  assert.deepEqual(stoppedRollouts(pool([OTHER], TIME), { stop: undefined }), [{ ...OTHER, time: LATER }]);
  assert.deepEqual(stoppedRollouts(pool([{ ...OTHER, time: LATER }], TIME), { stop: undefined })[0]?.time, LATER);
});

test('ignores a time whose year is outside RFC 3339', () => {
  for (const resumed of ['+275760-09-13T00:00:00.000Z', '9999-12-31T23:59:59Z'])
    assert.deepEqual(stoppedRollouts(pool([OTHER], resumed), { stop }), [OTHER, OWN]);
  assert.equal(stoppedRollout(pool([{ ...OWN, time: '9999-12-31T23:59:59-12:00' }])), undefined);
});

test('a stop is over once somebody has resumed the pool at or after its time', () => {
  const status = 'False' as const;
  const progressing = {
    type: 'Progressing',
    status,
    reason: 'RolloutStopped',
    message: '',
    lastTransitionTime: LATER,
  } as const;
  const withStop = (entries: StoppedRollout[], resumed?: string, reason = progressing.reason as string) => {
    const found = pool(entries, resumed);
    return {
      ...found,
      status: { status: 200, nodeCount: 1, stoppedRollouts: entries, conditions: [{ ...progressing, reason }] },
    };
  };
  assert.equal(isStopped(withStop([])), true);
  assert.equal(isStopped(withStop([], TIME)), true, 'resumed before it stopped again');
  assert.equal(isStopped(withStop([], LATER)), false);
  assert.equal(isStopped(withStop([OWN], TIME)), false, 'the stop of the spec is more precise than the condition');
  assert.equal(isStopped(withStop([OTHER], TIME)), true);
  assert.equal(isStopped(withStop([], undefined, 'RolloutInProgress')), false);
});
