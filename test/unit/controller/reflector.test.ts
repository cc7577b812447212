import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flushPromises } from './fake-clock.ts';
import {
  type AskedWatch,
  added,
  BROKEN,
  bookmark,
  deleted,
  ENDED,
  errorLine,
  initialEnd,
  modified,
  refused,
} from './fake-source.ts';
import { createReflector, createSyncedReflector } from './reflector-fixture.ts';

describe('the watch', () => {
  test('reports changes in order, and resumes where the watch broke off', async () => {
    const { clock, reported, nth } = await createSyncedReflector();
    nth(1).send(modified('a', 11), added('b', 12), deleted('a', 13), bookmark(20));
    assert.deepEqual(reported, ['updated a@11', 'added b@12', 'deleted a final']);
    nth(1).end(BROKEN);
    await clock.advance(799);
    assert.throws(() => nth(2));
    await clock.advance(1);
    assert.deepEqual([nth(2).options.resourceVersion, nth(2).options.initialEvents], ['20', false]);
  });

  test('starts the next watch at once after a regular end', async () => {
    const { clock, nth, log } = await createSyncedReflector();
    await clock.advance(30_000);
    nth(1).end(ENDED);
    await flushPromises();
    assert.equal(nth(2).options.resourceVersion, '10');
    assert.deepEqual(log, []);
  });

  test('backs off from a watch that ends at once and empty', async () => {
    const { clock, source, nth } = await createSyncedReflector();
    for (let round = 1; round <= 6; round++) {
      nth(round).end(ENDED);
      await clock.advance(0);
      assert.equal(source.watches.length, round + 1);
      await clock.advance(800 * 2 ** (round - 1));
    }
    assert.equal(source.watches.length, 8);
  });

  test('resets the back-off for a repeatedly broken watch that delivered events', async () => {
    const { clock, source, nth } = await createSyncedReflector();
    for (let round = 1; round <= 6; round++) {
      nth(round).send(modified('a', 10 + round));
      await clock.advance(20_000);
      nth(round).end(BROKEN);
      await clock.advance(799);
      assert.equal(source.watches.length, round + 1);
      await clock.advance(1);
      assert.equal(source.watches.length, round + 2);
    }
  });

  test('backs off from a watch that is answered with errors only', async () => {
    const { clock, source, nth } = await createSyncedReflector();
    for (let round = 1; round <= 4; round++) {
      nth(round).send(errorLine(500, 'InternalError'));
      await clock.advance(800 * 2 ** (round - 1) - 1);
      assert.equal(source.watches.length, round + 1);
      await clock.advance(1);
    }
  });

  test('detects a silent server within 40 s, whatever the random draw', async () => {
    for (const draw of [0, 0.5, 0.999_999]) {
      const { clock, nth, log } = await createSyncedReflector(() => draw);
      const { timeoutSeconds } = nth(1).options;
      assert.ok(timeoutSeconds >= 28 && timeoutSeconds <= 34);
      nth(1).send(modified('a', 11));
      await clock.advance(timeoutSeconds * 1000);
      assert.equal(nth(1).options.signal.aborted, false);
      await clock.advance(40_000 - timeoutSeconds * 1000);
      assert.equal(nth(1).options.signal.aborted, true);
      assert.match(log[0] ?? '', /stalled/);
      await clock.advance(1600);
      assert.equal(nth(2).options.resourceVersion, '11');
    }
  });

  test('ignores events of an abandoned watch', async () => {
    const { clock, reported, nth } = await createSyncedReflector();
    await clock.advance(36_000);
    nth(1).send(added('late', 99));
    assert.deepEqual(reported, []);
    assert.equal(nth(2).options.resourceVersion, '10');
  });

  test('obeys Retry-After of a 429 response or event, without a list', async () => {
    const { clock, source, nth } = await createSyncedReflector();
    nth(1).end(refused(429, 7000));
    await clock.advance(6999);
    assert.equal(source.watches.length, 2);
    await clock.advance(1);
    assert.equal(nth(2).options.initialEvents, false);
    nth(2).send(errorLine(429, 'TooManyRequests', 9));
    await clock.advance(8999);
    assert.equal(source.watches.length, 3);
    await clock.advance(1);
    assert.equal(nth(3).options.resourceVersion, '10');
    nth(3).end(refused(429, 0));
    await clock.advance(999);
    assert.equal(source.watches.length, 4);
    await clock.advance(1);
    assert.equal(source.watches.length, 5);
  });

  test('backs off from every other failure for 0.8 to 30 s, without limit and without a list', async () => {
    const failures = [
      (watch: AskedWatch) => watch.end(refused(500)),
      (watch: AskedWatch) => watch.end(refused(403)),
      (watch: AskedWatch) => watch.end(refused(404)),
      (watch: AskedWatch) => watch.send(errorLine(500, 'InternalError')),
      (watch: AskedWatch) => watch.fail(new Error('thrown')),
      (watch: AskedWatch) => watch.end(BROKEN),
    ];
    const { clock, source, log } = await createSyncedReflector();
    const times: number[] = [];
    for (let round = 0; round < 30; round++) {
      const [before, start] = [source.watches.length, clock.now()];
      const watch = source.watches.at(-1);
      if (watch !== undefined) failures[round % failures.length]?.(watch);
      while (source.watches.length === before) await clock.advance(100);
      times.push(clock.now() - start);
    }
    assert.deepEqual(times.slice(0, 6), [800, 1600, 3200, 6400, 12_800, 15_000]);
    assert.deepEqual(new Set(times.slice(6)), new Set([15_000]));
    assert.equal(source.watches.filter(({ options }) => options.initialEvents).length, 1);
    assert.equal(log.length, 30);
  });

  test('logs and skips lines that are not events', async () => {
    const { reported, nth, log } = await createSyncedReflector();
    const lines = [
      null,
      7,
      'text',
      [],
      {},
      { type: 'ADDED' },
      { type: 'WHAT', object: {} },
      { type: 'ADDED', object: {} },
      { type: 'ADDED', object: { metadata: { name: 'x', uid: 'x' } } },
      { type: 'BOOKMARK', object: {} },
      added('poison', 11),
    ];
    for (const [index, line] of lines.entries()) {
      nth(1).send(line);
      assert.equal(log.length, index + 1, JSON.stringify(line));
    }
    nth(1).send(added('b', 12));
    assert.deepEqual(reported, ['added b@12']);
  });

  test('reports a recreated object as deleted and added, even if the deletion was missed', async () => {
    const { reported, nth } = await createSyncedReflector();
    nth(1).send(deleted('a', 11), added('a', 12, 'other'));
    nth(1).send(modified('a', 15, 'third'));
    assert.deepEqual(reported, ['deleted a final', 'added a@12', 'deleted a unknown', 'added a@15']);
  });
});

describe('listeners and stop()', () => {
  test('logs a listener that throws, and continues with other listeners and the watch', async () => {
    const { reflector, reported, nth, log } = await createSyncedReflector();
    reflector.subscribe(() => {
      throw new Error('my mistake');
    });
    const late: string[] = [];
    const end = reflector.subscribe(event => late.push(event.type));
    nth(1).send(modified('a', 11));
    assert.deepEqual(reported, ['updated a@11']);
    assert.deepEqual(late, ['added', 'updated']);
    assert.match(log.join(), /a listener failed.*my mistake/);
    end();
    nth(1).send(modified('a', 12));
    assert.equal(late.length, 2);
  });

  test('a listener sees the store after the event', async () => {
    const { reflector, nth } = await createSyncedReflector();
    const sizes: number[] = [];
    reflector.subscribe(() => sizes.push(reflector.store.size));
    nth(1).send(added('b', 11), deleted('a', 12));
    assert.deepEqual(sizes, [1, 2, 1]);
  });

  test('stop() ends a list, watch or delay, after which nothing is requested or reported', async () => {
    for (const bring of ['list', 'watch', 'wait'] as const) {
      const fixture = bring === 'list' ? createReflector() : await createSyncedReflector();
      await flushPromises();
      const last = fixture.source.watches.at(-1);
      if (bring === 'wait') last?.end(BROKEN);
      await flushPromises();
      await fixture.reflector.stop();
      assert.equal(last?.options.signal.aborted, true);
      last?.send(added('late', 99), initialEnd(99));
      const asked = fixture.source.watches.length;
      await fixture.clock.advance(600_000);
      assert.equal(fixture.source.watches.length, asked);
      assert.deepEqual(fixture.reported, []);
      assert.equal(fixture.clock.pending, 0);
    }
  });
});
