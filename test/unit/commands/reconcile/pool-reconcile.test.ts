import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poolReconcile } from '../../../../src/commands/reconcile/pool-reconcile.ts';
import { ForbiddenError, NodepoolError } from '../../../../src/nodepool/errors.ts';
import { emptyOutcome, type PoolOutcome, type WriteFailure } from '../../../../src/reconciler/outcome.ts';

const forbidden = new ForbiddenError('lacks the permission', ['verb patch on nodes']);
const refused: WriteFailure = { message: 'lacks the permission', isPermanent: true };
const throttled: WriteFailure = { message: 'throttled', isThrottled: true };
const overloaded: WriteFailure = { message: 'overloaded' };

/** Milliseconds after which a failed reconcile is retried; undefined: after the rate limiter's delay. */
async function retryMs(reconcile: () => Promise<PoolOutcome>): Promise<number | undefined> {
  const deps = { log: () => {}, onChanged: () => {}, onSuccess: () => {}, requeueAfter: () => {} };
  const result = await poolReconcile({ reconcile }, deps)('worker');
  assert.equal(result.kind, 'error');
  return result.kind === 'error' ? result.ms : undefined;
}

test('retries permanent errors slowly, and temporary errors at once', async () => {
  const cases: [failures: WriteFailure[], ms: number | undefined][] = [
    [[refused], 30_000],
    [[refused, throttled], 30_000],
    [[refused, overloaded], undefined],
    [[overloaded], undefined],
  ];
  for (const [failures, ms] of cases) {
    assert.equal(await retryMs(async () => ({ ...emptyOutcome('worker'), failures })), ms, JSON.stringify(failures));
  }
});

test('retries slowly a pool that cannot be prepared', async () => {
  assert.equal(await retryMs(() => Promise.reject(forbidden)), 30_000);
  await assert.rejects(
    retryMs(() => Promise.reject(new NodepoolError('cluster', 'overloaded', 'try again', { isTransient: true }))),
    { message: 'overloaded' },
  );
});

test('leaves the delay to the queue when the pool was changed meanwhile', async () => {
  const deps = { log: () => {}, onChanged: () => {}, onSuccess: () => {}, requeueAfter: () => {} };
  const changed = async () => ({ ...emptyOutcome('worker'), isChanged: true });
  assert.deepEqual(await poolReconcile({ reconcile: changed }, deps)('worker'), { kind: 'requeue' });
});

test('an interrupted reconcile does not count as a success', async () => {
  const succeeded: string[] = [];
  const deps = {
    log: () => {},
    onChanged: () => {},
    onSuccess: (pool: string) => void succeeded.push(pool),
    requeueAfter: () => {},
  };
  const interrupted = async () => ({ ...emptyOutcome('worker'), kind: 'interrupted' as const });
  assert.equal((await poolReconcile({ reconcile: interrupted }, deps)('worker')).kind, 'requeueAfter');
  assert.deepEqual(succeeded, []);
});

test('a CRD that lacks fields does not delay an earlier retry', async () => {
  const deps = { log: () => {}, onChanged: () => {}, onSuccess: () => {}, requeueAfter: () => {} };
  const lacking = { ...emptyOutcome('worker'), lacking: ['status.conditions'] };
  const ms = async (retryAfterMs?: number) => {
    const outcome = { ...lacking, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    return poolReconcile({ reconcile: async () => outcome }, deps)('worker');
  };
  const due = [undefined, 2_000, 60_000].map(ms);
  assert.deepEqual(
    await Promise.all(due),
    [10_000, 2_000, 10_000].map(each => ({ kind: 'requeueAfter', ms: each })),
  );
});
