/** What is left of a pool after a reconcile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyOutcome, nextReconcile, type PoolOutcome } from '../../../src/reconciler/outcome.ts';

const refused = { message: 'lacks the permission', isPermanent: true };
const throttled = { message: 'throttled', isThrottled: true };
const overloaded = { message: 'overloaded' };
const drain = { nodes: ['a'], pods: 1, blocked: undefined, afterMs: 2_000 };
const pods = { kind: 'pods', podsMs: 2_000, drain };

const CASES: [name: string, outcome: Partial<PoolOutcome>, next: object][] = [
  ['nothing', {}, { kind: 'done' }],
  ['changed, whatever failed', { isChanged: true, failures: [overloaded] }, { kind: 'changed' }],
  ['interrupted', { kind: 'interrupted', unwritten: 1 }, { kind: 'interrupted' }],
  ['a limit', { retryAfterMs: 500, failures: [throttled] }, { kind: 'after', ms: 500 }],
  ['pods', { drain }, { ...pods, ms: 2_000 }],
  ['pods, and a limit before them', { drain, retryAfterMs: 500 }, { ...pods, ms: 500 }],
  ['pods that are not looked at again', { drain: { ...drain, afterMs: undefined } }, { kind: 'done' }],
  [
    'an error that may pass',
    { failures: [throttled, refused, overloaded], retryAfterMs: 500 },
    { kind: 'error', failure: refused, isPermanent: false, rest: { kind: 'after', ms: 500 } },
  ],
  [
    'an error that does not, and pods',
    { failures: [throttled, refused], drain },
    { kind: 'error', failure: refused, isPermanent: true, rest: { ...pods, ms: 2_000 } },
  ],
];

for (const [name, outcome, next] of CASES) {
  test(name, () => assert.deepEqual(nextReconcile({ ...emptyOutcome('worker'), ...outcome }), next));
}
