import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Controller, type ReconcileResult } from '../../../src/controller/controller.ts';
import { WorkQueue } from '../../../src/controller/work-queue.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

const DONE: ReconcileResult = { kind: 'done' };

function create(reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult>, workers = 2) {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock });
  const [log, debug, results]: [string[], string[], string[]] = [[], [], []];
  const controller = new Controller({
    name: 'test',
    queue,
    workers,
    reconcile,
    clock,
    log: (level, message) => (level === 'debug' ? debug : log).push(`${level} ${message}`),
    metrics: {
      workers: () => {},
      active: () => {},
      reconciled: (result, seconds) => results.push(`${result} ${seconds}`),
    },
  });
  controller.start();
  return { clock, queue, controller, log, debug, results };
}

/** Reconciles that end when the test says. */
function manual() {
  const running = new Map<string, () => void>();
  const reconcile = (key: string) =>
    new Promise<ReconcileResult>(resolve => {
      assert.ok(!running.has(key), `two workers on ${key}`);
      running.set(key, () => {
        running.delete(key);
        resolve(DONE);
      });
    });
  return { running, reconcile };
}

describe('a controller', () => {
  test('reconciles as many keys at once as it has workers, and each key on one worker', async () => {
    const { running, reconcile } = manual();
    const { queue } = create(reconcile);
    for (const key of ['a', 'a', 'b', 'c']) queue.add(key);
    await flushPromises();
    queue.add('a');
    await flushPromises();
    assert.deepEqual([...running.keys()], ['a', 'b']);
    running.get('b')?.();
    await flushPromises();
    assert.deepEqual([...running.keys()], ['a', 'c']);
    running.get('a')?.();
    await flushPromises();
    assert.deepEqual([...running.keys()].sort(), ['a', 'c'], 'a was added while it ran');
  });

  test('retries a key after an error or a throw, with a growing delay until it succeeds', async () => {
    let calls = 0;
    const { clock, queue, log, debug, results } = create(async () => {
      calls += 1;
      if (calls === 1) return { kind: 'error', error: new Error('first') };
      if (calls === 2) throw new Error('second');
      return DONE;
    });
    queue.add('a');
    await flushPromises();
    assert.equal(queue.retries('a'), 1);
    await clock.advance(5);
    assert.equal(calls, 2);
    await clock.advance(9);
    assert.equal(calls, 2);
    await clock.advance(1);
    assert.equal(calls, 3);
    assert.equal(queue.retries('a'), 0);
    assert.deepEqual(log, [
      'error test: a failed, attempt 1; retrying: first',
      'error test: a failed, attempt 2; retrying: second',
    ]);
    assert.deepEqual(results, ['error 0', 'error 0', 'done 0']);
    assert.equal(debug.at(-1), 'debug test: a done after 0 ms');
    await clock.advance(10_000_000);
    assert.equal(calls, 3);
  });

  test('retries a key after the time that its error has', async () => {
    const answers: ReconcileResult[] = [{ kind: 'error', error: 'no permission', ms: 30_000 }, DONE];
    const { clock, queue, log } = create(async () => answers.shift() ?? DONE);
    queue.add('a');
    await clock.advance(29_999);
    assert.equal(answers.length, 1);
    await clock.advance(1);
    assert.equal(answers.length, 0);
    assert.deepEqual(log, ['error test: a failed; retrying in 30 s: no permission']);
  });

  test('requeueAfter queues the key after its time and resets earlier failures', async () => {
    const answers: ReconcileResult[] = [{ kind: 'error', error: 'x' }, { kind: 'requeueAfter', ms: 60_000 }, DONE];
    const { clock, queue } = create(async () => answers.shift() ?? DONE);
    queue.add('a');
    await clock.advance(5);
    assert.equal(answers.length, 1);
    assert.equal(queue.retries('a'), 0);
    await clock.advance(59_999);
    assert.equal(answers.length, 1);
    await clock.advance(1);
    assert.equal(answers.length, 0);
  });

  test('requeue queues the key at once, and with growing delays if it comes time after time', async () => {
    const at: number[] = [];
    const { clock, queue } = create(async () => {
      at.push(clock.now());
      return at.length === 6 ? DONE : { kind: 'requeue' };
    });
    queue.add('a');
    await clock.advance(1_000);
    assert.deepEqual(at, [0, 0, 10, 30, 70, 150]);
    assert.equal(queue.retries('a'), 0);
  });

  test('stop() waits for reconciles in flight and begins no other', async () => {
    const { running, reconcile } = manual();
    const { queue, controller } = create(reconcile);
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await flushPromises();
    let stopped = false;
    controller.stop().then(() => {
      stopped = true;
    });
    running.get('a')?.();
    await flushPromises();
    assert.deepEqual([...running.keys()], ['b']);
    assert.equal(stopped, false);
    running.get('b')?.();
    await flushPromises();
    assert.equal(stopped, true);
    assert.equal(running.size, 0);
  });

  test('stop() ends idle workers; abort() aborts the reconciles in flight', async () => {
    const idle = create(async () => DONE);
    await idle.controller.stop();
    let signal: AbortSignal | undefined;
    const busy = create((_, given) => {
      signal = given;
      return new Promise(resolve => given.addEventListener('abort', () => resolve(DONE)));
    });
    busy.queue.add('a');
    await flushPromises();
    assert.equal(signal?.aborted, false);
    await busy.controller.abort();
    assert.equal(signal?.aborted, true);
  });

  test('refuses a worker count of zero', () => {
    for (const workers of [0, -1, 1.5]) assert.throws(() => create(async () => DONE, workers), /needs a worker/);
  });
});
