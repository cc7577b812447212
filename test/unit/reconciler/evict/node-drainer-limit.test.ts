/** Drains by the node writer: how long one reconcile evicts pods of a node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { RemovalResult } from '../../../../src/kube/cluster.ts';
import { FINALIZER } from '../../../../src/nodepool/types.ts';
import { limitersOf } from '../../../../src/reconciler/limits/limiters.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';
import { BUDGET, drained, pod, pool } from '../drained.ts';
import { role } from '../node-server.ts';
import { emptyNodeOutcome } from '../reconciler-options.ts';

/** Each eviction takes 1.5 s. */
function slow(
  names: string[],
  answer: RemovalResult = { kind: 'accepted' },
  labels = (name: string) => ({ app: name }),
) {
  const clock = new FakeClock();
  const found = drained(
    names.map(name => pod(name, { labels: labels(name) })),
    { clock },
  );
  for (const name of names) found.answers.set(name, answer);
  const { evict } = found.evictions;
  found.evictions.evict = async (...args) => {
    await clock.advance(1_500);
    return evict(...args);
  };
  const evictions = async () => (await found.write()).filter(call => call.startsWith('evict'));
  return { ...found, evictions };
}

test('interrupts slow evictions, and continues them in the next reconcile at once', async () => {
  const { evictions } = slow(['a', 'b', 'c', 'd', 'e']);
  assert.deepEqual(
    [await evictions(), await evictions(), await evictions()],
    [['evict a', 'evict b'], ['evict c', 'evict d'], ['evict e']],
  );
});

test('does not try to evict further pods that are like a blocked pod', async () => {
  const { evictions } = slow(['a', 'b', 'c'], BUDGET, () => ({ app: 'x' }));
  assert.deepEqual([await evictions(), await evictions()], [['evict a'], []]);
});

test('the next reconcile handles a node that waited long for its turn to be polled', async () => {
  const clock = new FakeClock();
  let waitMs = 2_000;
  const limitPolls = async <T>(work: () => Promise<T>) => {
    await clock.advance(waitMs);
    return work();
  };
  const { write } = drained([pod('a')], { clock, limitPolls });
  assert.deepEqual(await write(), ['patch n1']);
  waitMs = 1_000;
  assert.deepEqual(await write(), ['list', 'evict a']);
});

test('a node that another pool is evicting needs no slot while the second pool waits for it', async () => {
  const before = { pool: 'earlier', labels: { tier: '1' } };
  const node = aNode({ labels: { ...role('worker'), tier: '1' }, record: recordOf(before) });
  const earlier = aPool({ labels: { tier: '1' } }, { name: 'earlier', uid: 'uid-earlier', finalizers: [FINALIZER] });
  const found = drained([pod('a')], limitersOf(1), pool(), node);
  found.state.setPool(earlier);
  const { podsOn } = found.evictions;
  let second: Promise<boolean> | undefined;
  found.evictions.podsOn = async (...args) => {
    second ??= found.writer.apply('worker', emptyNodeOutcome());
    await setImmediate();
    return podsOn(...args);
  };
  let hasEnded = false;
  void found.writer.apply('earlier', emptyNodeOutcome()).then(() => {
    hasEnded = true;
  });
  for (let turns = 0; turns < 10 && !hasEnded; turns++) await setImmediate();
  assert.ok(hasEnded, 'the first pool is not stuck');
  assert.equal(await second, true);
  assert.deepEqual(found.calls, ['patch n1', 'list', 'evict a']);
});
