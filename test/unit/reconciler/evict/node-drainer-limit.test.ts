/** Drains by the node writer: how long one reconcile evicts pods of a node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RemovalResult } from '../../../../src/kube/cluster.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { BUDGET, drained, pod } from '../drained.ts';

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
