import assert from 'node:assert/strict';
import { test } from 'node:test';
import { specChanges } from '../../../../src/nodepool/spec/edits.ts';

test('names each differing field, including fields of later versions', () => {
  const before = {
    labels: { tier: 'gold', gone: 'x', same: 's' },
    taints: [{ key: 'a', value: '1', effect: 'NoSchedule' }],
    startupTaints: [{ key: 's', effect: 'NoSchedule' }],
    handler: 'runc',
    later: { x: [1] },
  };
  const after = {
    labels: { tier: 'silver', same: 's' },
    taints: [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute' },
    ],
    startupTaints: [{ key: 's', effect: 'NoSchedule', until: { nodeCondition: 'Ok' } }],
    matchExpressions: [{ key: 'k', operator: 'Exists' }],
    later: { x: [2] },
  };
  assert.deepEqual(
    specChanges(before, after).map(({ path, from, to }) => [path, from, to]),
    [
      ['spec.handler', 'runc', undefined],
      ['spec.labels[gone]', 'x', undefined],
      ['spec.labels[tier]', 'gold', 'silver'],
      ['spec.later[x]', [1], [2]],
      ['spec.matchExpressions[0]', undefined, { key: 'k', operator: 'Exists' }],
      ['spec.startupTaints[s:NoSchedule]', '', { value: '', until: { nodeCondition: 'Ok' } }],
      ['spec.taints[a:NoSchedule]', '1', ''],
      ['spec.taints[b:NoExecute]', undefined, ''],
    ],
  );
  assert.deepEqual(specChanges(before, before), []);
});
