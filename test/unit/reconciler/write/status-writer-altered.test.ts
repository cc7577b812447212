import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { alteredFields, lackingFields } from '../../../../src/reconciler/write/status-writer.ts';
import { ready, sent } from '../fake-status-server.ts';

const { observedGeneration: _generation, ...earlier } = sent;

for (const [name, kept, expected] of [
  ['all is kept', sent, []],
  ['a value', { ...sent, nodeCount: 7 }, ['status.nodeCount 2 7']],
  ['a value that is added', { ...sent, podCount: 3 }, ['status.podCount undefined 3']],
  [
    'a resource that is removed',
    { ...sent, allocatable: { cpu: '1' } },
    ['status.allocatable.nvidia.com/gpu 2 undefined'],
  ],
  [
    'a condition that is changed',
    { ...sent, conditions: [{ ...ready, reason: 'Theirs' }] },
    ['status.conditions[Ready].reason PoolReady Theirs'],
  ],
  ['fields that a schema drops do not count', earlier, []],
  ['fields that a schema drops, and a changed value', { ...earlier, status: 500 }, ['status.status 200 500']],
] as [string, NodePoolStatus, string[]][]) {
  test(`detects a status that the server stored differently: ${name}`, () => {
    const altered = alteredFields({ sent, next: sent }, kept, lackingFields(sent, kept));
    assert.deepEqual(
      altered.map(({ name, sent, found }) => `${name} ${sent} ${found}`),
      expected,
    );
  });
}

test('ignores differences that the next status takes from the response', () => {
  const kept = { ...sent, conditions: [{ ...ready, lastTransitionTime: 'later' }] };
  assert.deepEqual(alteredFields({ sent, next: kept }, kept, []), []);
});
