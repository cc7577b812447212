import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { WriteRateLimiter } from '../../../../src/reconciler/limits/rate-limiters.ts';
import {
  alteredFields,
  alteredStatus,
  assertStatusFree,
  lackingFields,
} from '../../../../src/reconciler/write/status-writer.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
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
  ['what a schema drops is not altered', earlier, []],
  ['what a schema drops, beside a value', { ...earlier, status: 500 }, ['status.status 200 500']],
] as [string, NodePoolStatus, string[]][]) {
  test(`detects a status that the server stored differently: ${name}`, () => {
    const altered = alteredFields({ sent, next: sent }, kept, lackingFields(sent, kept));
    assert.deepEqual(
      altered.map(({ name, sent, found }) => `${name} ${sent} ${found}`),
      expected,
    );
  });
}

test('ignores differences that the next status takes over from the response', () => {
  const kept = { ...sent, conditions: [{ ...ready, lastTransitionTime: 'later' }] };
  assert.deepEqual(alteredFields({ sent, next: kept }, kept, []), []);
});

const P = { name: 'p', uid: 'u', generation: 1 };

test('doubles the delay of an altered status until the server stores it as sent', () => {
  const clock = new FakeClock();
  const writeLimiter = new WriteRateLimiter(clock);
  const altered = [{ name: 'status.nodeCount', sent: '2', found: '7' }];
  assertStatusFree(P, writeLimiter);
  const error = alteredStatus(P, altered, writeLimiter);
  assert.deepEqual(
    [error?.message, error?.retryAfterMs],
    [
      'the status of nodepool p was changed by an admission policy or webhook while it was written: status.nodeCount was sent with value "2" and is "7"',
      1_000,
    ],
  );
  assert.throws(() => assertStatusFree(P, writeLimiter), { isThrottled: true, retryAfterMs: 1_000 });
  assertStatusFree({ ...P, generation: 2 }, writeLimiter);
  clock.freeze(1_000);
  assertStatusFree(P, writeLimiter);
  assert.equal(alteredStatus(P, altered, writeLimiter)?.retryAfterMs, 2_000);
  clock.freeze(2_000);
  assert.equal(alteredStatus(P, [], writeLimiter), undefined);
  assert.equal(alteredStatus(P, altered, writeLimiter)?.retryAfterMs, 1_000);
});
