import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutState } from '../../../../src/commands/shared/rollout-state.ts';
import { type Condition, type NodePoolStatus, RESUMED_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aPool } from '../../nodepool/fixtures.ts';

const aCondition = (
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  message: string,
): Condition => ({
  ...{ type, status, reason, message },
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const status = (more: Partial<NodePoolStatus>, ...conditions: Condition[]): NodePoolStatus => ({
  ...{ status: 200, nodeCount: 3, updatedNodeCount: 3, observedGeneration: 1, conditions },
  ...more,
});
const text = (found: NodePoolStatus | undefined, metadata = {}) => {
  const state = rolloutState(aPool({}, { ...metadata, ...(found === undefined ? {} : { status: found }) }));
  return [state.kind, state.text];
};
const progressing = (reason: string, message = reason) =>
  aCondition('Progressing', reason === 'RolloutInProgress' ? 'True' : 'False', reason, message);

test('prints the progress like kubectl rollout status', () => {
  const observed = ['waiting', 'Waiting for nodepool "worker" spec update to be observed...'];
  const waits = (what: string) => ['waiting', `Waiting for nodepool "worker" rollout to finish: ${what}...`];
  const done = ['done', 'nodepool "worker" successfully rolled out'];
  assert.deepEqual(text(undefined), observed);
  assert.deepEqual(text(status({ observedGeneration: 0 })), observed);
  assert.deepEqual(text(status({})), done);
  assert.deepEqual(text(status({}, progressing('RolloutComplete'))), done);
  assert.deepEqual(
    text(status({ updatedNodeCount: 2 }, progressing('RolloutComplete'))),
    done,
    'one has drifted since',
  );
  assert.deepEqual(text(status({}, progressing('RolloutInProgress', '3 settling'))), waits('3 settling'));
  assert.deepEqual(text(status({ updatedNodeCount: 1 }, progressing('Paused', 'paused'))), waits('paused'));
  assert.deepEqual(text(status({}, progressing('Paused', 'paused'))), done);
  const applied = aCondition('Applied', 'False', 'WriteFailed', 'no');
  assert.deepEqual(text(status({ updatedNodeCount: 1, status: 500 }, applied)), waits('no'));
  assert.deepEqual(text(status({ status: 500 }, applied)), waits('no'), 'nobody knows what failed');
  assert.deepEqual(text(status({ status: 503 })), done, 'whether nodes are Ready is another question');
  const conflict = aCondition('Conflict', 'True', 'NodeConflict', 'node a is in pool b');
  const failed = ['failed', 'nodepool "worker": node a is in pool b'];
  assert.deepEqual(text(status({ status: 409, nodeCount: 0, updatedNodeCount: 0 }, conflict)), failed);
  assert.deepEqual(text(status({ updatedNodeCount: 1 })), waits('1 of 3 nodes updated'));
  const stalled = aCondition('Stalled', 'True', 'RolloutStopped', 'stopped: node a');
  assert.deepEqual(text(status({}, progressing('RolloutStopped'), stalled)), [
    'failed',
    'nodepool "worker": stopped: node a',
  ]);
  const resumed = (time: string) =>
    text(status({}, progressing('RolloutStopped'), stalled), { annotations: { [RESUMED_ANNOTATION]: time } });
  assert.deepEqual(resumed('2025-12-31T23:59:59Z')[0], 'failed', 'an earlier stop was resumed');
  assert.deepEqual(resumed('2026-01-01T00:00:00Z'), [
    'waiting',
    'Waiting for nodepool "worker" resume to be observed...',
  ]);
  assert.deepEqual(text(status({}), { deletionTimestamp: '2026-01-01T00:00:00Z' }), [
    'failed',
    'nodepool "worker" is being deleted',
  ]);
});
