/** The work that is left after a reconcile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyOutcome, nextReconcile, type PoolOutcome } from '../../../src/reconciler/outcome.ts';

const refused = { message: 'lacks the permission', isPermanent: true };
const throttled = { message: 'throttled', isThrottled: true };
const overloaded = { message: 'overloaded' };
const drain = { nodes: ['a'], pods: 1, blocked: undefined, afterMs: 2_000 };
const pods = { kind: 'pods', podsMs: 2_000, drain };

const CASES: [name: string, outcome: Partial<PoolOutcome>, next: object][] = [
  ['nothing to do', {}, { kind: 'done' }],
  ['the pool was changed, even if writes failed', { isChanged: true, failures: [overloaded] }, { kind: 'changed' }],
  ['the reconcile was interrupted', { kind: 'interrupted', unwritten: 1 }, { kind: 'interrupted' }],
  ['a write limit', { retryAfterMs: 500, failures: [throttled] }, { kind: 'after', ms: 500 }],
  ['pods to evict', { drain }, { ...pods, ms: 2_000 }],
  ['pods to evict, and an earlier write limit', { drain, retryAfterMs: 500 }, { ...pods, ms: 500 }],
  ['pods to evict without a next poll', { drain: { ...drain, afterMs: undefined } }, { kind: 'done' }],
  [
    'a temporary error',
    { failures: [throttled, refused, overloaded], retryAfterMs: 500 },
    { kind: 'error', failure: refused, isPermanent: false, rest: { kind: 'after', ms: 500 } },
  ],
  [
    'a permanent error, and pods to evict',
    { failures: [throttled, refused], drain },
    { kind: 'error', failure: refused, isPermanent: true, rest: { ...pods, ms: 2_000 } },
  ],
];

for (const [name, outcome, next] of CASES) {
  test(name, () => assert.deepEqual(nextReconcile({ ...emptyOutcome('worker'), ...outcome }), next));
}
