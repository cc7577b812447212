import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPools, checkRollouts, checkSpecs } from '../../../../src/commands/doctor/pools.ts';
import { RESUMED_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aPool, taint } from '../../nodepool/fixtures.ts';

test('names pools with a stopped rollout, unless their spec has changed since', () => {
  const message = '1 of 4 nodes updated; stopped: node a turned NotReady after the change';
  const pool = aPool({ rollout: {} }, { generation: 2 });
  const stopped = (observedGeneration: number) => ({
    ...pool,
    status: {
      status: 200,
      observedGeneration,
      nodeCount: 4,
      conditions: [
        {
          type: 'Progressing' as const,
          status: 'False' as const,
          reason: 'RolloutStopped',
          message,
          lastTransitionTime: '2026-05-01T12:00:00Z',
          observedGeneration,
        },
      ],
    },
  });
  const found = checkRollouts([stopped(2)]);
  assert.deepEqual([found.status, found.message], ['warning', 'the rollout of pool worker is stopped']);
  assert.deepEqual(found.details, [`worker: ${message}`]);
  assert.match(found.remedy ?? '', /^fix the node that failed, .*rollout resume worker`; .*rollout undo worker`$/);
  assert.equal(checkPools([stopped(2)]).status, 'ok');
  assert.equal(checkRollouts([stopped(1)]).status, 'ok');
  const annotations = { [RESUMED_ANNOTATION]: '2026-05-01T12:00:00Z' };
  const resumed = { ...stopped(2), metadata: { ...pool.metadata, annotations } };
  assert.equal(checkRollouts([resumed]).status, 'ok', 'resumed, but not reconciled yet');
  assert.equal(checkPools([stopped(1)]).message, '1 of 1 pool is not up to date');
});

test('names specs that set transient keys of other software', () => {
  const own = aPool({ taints: [taint('acme.io/boot:NoSchedule')] });
  assert.deepEqual([checkSpecs([own]).status, checkSpecs([own], ['acme.io/*']).status], ['ok', 'warning']);
  const found = checkSpecs([aPool({}), aPool({ taints: [taint('UpdateInProgress:NoSchedule')] }, { name: 'web' })]);
  assert.deepEqual(
    [found.status, found.details],
    [
      'warning',
      [
        'web: the taint UpdateInProgress (Machine Config Operator sets it while the node is updated or under maintenance)',
      ],
    ],
  );
});
