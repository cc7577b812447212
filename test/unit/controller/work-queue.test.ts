import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TakenKey, WorkQueue } from '../../../src/controller/work-queue.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { seeded } from './random.ts';

function create() {
  const clock = new FakeClock();
  const seen: string[] = [];
  let running = (): number[] => [];
  const queue = new WorkQueue({
    clock,
    metrics: {
      depth: keys => seen.push(`depth ${keys}`),
      added: () => seen.push('added'),
      retried: () => seen.push('retried'),
      waited: seconds => seen.push(`waited ${seconds}`),
      worked: seconds => seen.push(`worked ${seconds}`),
      running: seconds => {
        running = seconds;
      },
    },
  });
  return { clock, queue, seen, running: () => running() };
}

/** The key of one get(), or undefined when it waits. */
async function take(queue: WorkQueue): Promise<string | undefined> {
  let taken: TakenKey<string> | undefined;
  queue.get().then(value => {
    taken = value;
  });
  await flushPromises();
  return taken?.kind === 'key' ? taken.key : taken?.kind;
}

describe('the work queue', () => {
  test('returns keys in order, and once however often they were added', async () => {
    const { queue } = create();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    assert.equal(queue.length, 3);
    assert.deepEqual([await take(queue), await take(queue), await take(queue)], ['a', 'b', 'c']);
  });

  test('gives a key to one worker at a time, and returns a key added meanwhile after done()', async () => {
    const { queue } = create();
    queue.add('a');
    assert.equal(await take(queue), 'a');
    queue.add('a');
    queue.add('a');
    assert.equal(queue.length, 0);
    const second = queue.get();
    queue.done('a');
    assert.deepEqual(await second, { kind: 'key', key: 'a' });
    queue.done('a');
    assert.equal(queue.length, 0);
  });

  test('serves waiting workers in order', async () => {
    const { queue } = create();
    const gets = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    assert.deepEqual(await Promise.all(gets), [
      { kind: 'key', key: 'a' },
      { kind: 'key', key: 'b' },
    ]);
  });

  test('returns a delayed key at the earliest of its times; a delay of 0 is immediate', async () => {
    const { clock, queue } = create();
    queue.addAfter('a', 100);
    queue.addAfter('a', 50);
    queue.addAfter('a', 200);
    queue.addAfter('now', 0);
    assert.equal(await take(queue), 'now');
    await clock.advance(49);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(await take(queue), 'a');
    queue.done('a');
    await clock.advance(1000);
    assert.equal(queue.length, 0);
    assert.equal(clock.pending, 0);
  });

  test('increases the delay with failures until forget()', async () => {
    const { clock, queue } = create();
    queue.addRateLimited('a');
    await clock.advance(4);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(await take(queue), 'a');
    queue.addRateLimited('a');
    queue.done('a');
    assert.equal(queue.retries('a'), 2);
    await clock.advance(9);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
    queue.forget('a');
    assert.equal(queue.retries('a'), 0);
  });

  test('after shutDown() adds nothing, returns the queued keys, then `shutdown`', async () => {
    const { clock, queue } = create();
    queue.add('a');
    queue.addAfter('later', 10);
    queue.shutDown();
    queue.add('b');
    queue.addAfter('c', 1);
    assert.equal(clock.pending, 0);
    assert.equal(await take(queue), 'a');
    assert.equal(await take(queue), 'shutdown');
    assert.equal(await take(queue), 'shutdown');
  });

  test('shutDown() wakes waiting workers', async () => {
    const { queue } = create();
    const waiting = [queue.get(), queue.get()];
    queue.shutDown();
    assert.deepEqual(await Promise.all(waiting), [{ kind: 'shutdown' }, { kind: 'shutdown' }]);
  });

  test('done() without get() throws', () => {
    assert.throws(() => create().queue.done('a'), /the key a is with no worker/);
  });

  test('reports its metrics', async () => {
    const { clock, queue, seen } = create();
    queue.add('a');
    queue.add('a');
    await clock.advance(2000);
    await take(queue);
    await clock.advance(500);
    queue.done('a');
    queue.addRateLimited('a');
    assert.deepEqual(seen, ['added', 'depth 1', 'waited 2', 'depth 0', 'worked 0.5', 'retried']);
  });

  test('measures queue duration from the add', async () => {
    const { clock, queue, seen } = create();
    await clock.advance(5_000);
    queue.add('a');
    await clock.advance(1_500);
    await take(queue);
    assert.deepEqual(seen, ['added', 'depth 1', 'waited 1.5', 'depth 0']);
  });

  test('measures the queue duration of a key that is added again during its work from that add', async () => {
    const { queue, seen } = create();
    queue.add('a');
    await take(queue);
    seen.length = 0;
    queue.add('a');
    assert.deepEqual(seen, ['added', 'depth 1']);
    queue.done('a');
    assert.deepEqual(seen.slice(2), ['worked 0']);
    await take(queue);
    assert.deepEqual(seen.slice(3), ['waited 0', 'depth 0']);
  });

  test('reports how long each worker has held its key', async () => {
    const { clock, queue, running } = create();
    assert.deepEqual(running(), []);
    queue.add('a');
    queue.add('b');
    await take(queue);
    await clock.advance(1500);
    await take(queue);
    await clock.advance(500);
    assert.deepEqual(running(), [2, 0.5]);
    queue.done('a');
    assert.deepEqual(running(), [0.5]);
    queue.done('b');
    assert.deepEqual(running(), []);
  });

  test('delays failures beyond 100 through the bucket, but not plain adds', async () => {
    const { clock, queue } = create();
    for (let key = 0; key < 120; key++) queue.addRateLimited(`failed ${key}`);
    queue.add('fine');
    assert.equal(queue.length, 1);
    await clock.advance(5);
    assert.equal(queue.length, 1 + 100);
    await clock.advance(995);
    assert.equal(queue.length, 1 + 110);
    await clock.advance(1000);
    assert.equal(queue.length, 1 + 120);
  });

  test('accepts another rate limiter', async () => {
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock, limiter: { when: () => 7, retries: () => 3, forget: () => {} } });
    queue.addRateLimited('a');
    await clock.advance(6);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
    assert.equal(queue.retries('a'), 3);
  });

  test('never gives a key to two workers or loses an add, in random histories', async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const random = seeded(seed);
      const { clock, queue } = create();
      const running = new Set<string>();
      /** The version of each key at its last change, and at its last work. */
      const [changed, worked] = [new Map<string, number>(), new Map<string, number>()];
      const worker = async () => {
        for (;;) {
          const taken = await queue.get();
          if (taken.kind === 'shutdown') return;
          const { key } = taken;
          assert.ok(!running.has(key), `seed ${seed}: two workers on ${key}`);
          running.add(key);
          worked.set(key, changed.get(key) ?? 0);
          await new Promise<void>(resolve => {
            clock.after(random() * 20, resolve);
          });
          running.delete(key);
          queue.done(key);
        }
      };
      const workers = [worker(), worker(), worker()];
      for (let step = 0; step < 60; step++) {
        const key = `k${Math.floor(random() * 6)}`;
        changed.set(key, step);
        if (random() < 0.7) queue.add(key);
        else queue.addAfter(key, random() * 30);
        if (random() < 0.5) await clock.advance(random() * 10);
      }
      await clock.advance(1000);
      assert.deepEqual([...worked].sort(), [...changed].sort(), `seed ${seed}`);
      queue.shutDown();
      await Promise.all(workers);
    }
  });
});

test('is idle once no key is queued, delayed or being processed', async () => {
  const { clock, queue } = create();
  let isIdle = false;
  queue.add('a');
  queue.addAfter('b', 1_000);
  const idle = queue.idle().then(() => {
    isIdle = true;
  });
  assert.equal(await take(queue), 'a');
  queue.done('a');
  await flushPromises();
  assert.equal(isIdle, false, 'b is delayed');
  await clock.advance(1_000);
  assert.equal(await take(queue), 'b');
  await flushPromises();
  assert.equal(isIdle, false, 'b is being processed');
  queue.done('b');
  await idle;
});

test('is idle after shutDown() with delayed keys', async () => {
  const { queue } = create();
  queue.addAfter('a', 1_000);
  queue.shutDown();
  await queue.idle();
});
