/** When a reflector lists again, and which data of a stale server it ignores. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flushPromises } from './fake-clock.ts';
import {
  type AskedWatch,
  added,
  bookmark,
  deleted,
  ENDED,
  errorLine,
  initialEnd,
  modified,
  refused,
} from './fake-source.ts';
import { createSyncedReflector } from './reflector-fixture.ts';

describe('a new list', () => {
  for (const [how, expire] of [
    ['as an answer', (watch: AskedWatch) => watch.end(refused(410))],
    ['in the stream', (watch: AskedWatch) => watch.send(errorLine(410, 'Expired'))],
    ['in the stream, by its code', (watch: AskedWatch) => watch.send(errorLine(410, 'Other'))],
    ['in the stream, by its reason', (watch: AskedWatch) => watch.send(errorLine(500, 'Expired'))],
  ] as const) {
    test(`lists once after 410 ${how}, and reports what was deleted meanwhile`, async () => {
      const { clock, source, reported, nth } = await createSyncedReflector();
      expire(nth(1));
      await clock.advance(60_000);
      assert.equal(source.watches.filter(({ options }) => options.initialEvents).length, 3, 'the list hung twice');
      const list = source.watches.at(-1);
      assert.equal(list?.options.resourceVersion, undefined);
      list?.send(added('b', 40), initialEnd(50));
      await flushPromises();
      assert.deepEqual(reported, ['deleted a unknown', 'added b@40']);
      assert.equal(source.watches.at(-1)?.options.resourceVersion, '50');
    });
  }

  test('relist() ends the watch, lists at once and reports what no watch delivered', async () => {
    const { source, reflector, reported, nth } = await createSyncedReflector();
    reflector.relist();
    await flushPromises();
    assert.equal(nth(2).options.initialEvents, true);
    nth(1).send(modified('a', 20));
    nth(2).send(added('a', 5), added('b', 11), initialEnd(12));
    await flushPromises();
    assert.deepEqual(reported, ['added b@11']);
    assert.deepEqual([nth(3).options.resourceVersion, source.watches.length], ['12', 4]);
  });

  test('relist() during a list starts another list after it', async () => {
    const { source, reflector, nth } = await createSyncedReflector();
    reflector.relist();
    await flushPromises();
    reflector.relist();
    nth(2).send(added('a', 5), initialEnd(12));
    await flushPromises();
    assert.equal(nth(3).options.initialEvents, true);
    nth(3).send(added('a', 5), initialEnd(13));
    await flushPromises();
    assert.deepEqual([nth(4).options.resourceVersion, source.watches.length], ['13', 5]);
  });

  test('doubt() lasts until a list that began later', async () => {
    const { reflector, nth } = await createSyncedReflector();
    reflector.relist();
    await flushPromises();
    reflector.doubt();
    nth(2).send(added('a', 5), initialEnd(12));
    await flushPromises();
    assert.equal(reflector.isDoubted, true);
    nth(3).send(added('a', 5), initialEnd(13));
    await flushPromises();
    assert.equal(reflector.isDoubted, false);
  });
});

describe('a stale server', () => {
  test('is not asked for its newest resourceVersion when the watch missed nothing', async () => {
    const { clock, source, nth } = await createSyncedReflector();
    await clock.advance(28_000);
    nth(1).send(bookmark(10));
    nth(1).end(ENDED);
    await flushPromises();
    assert.deepEqual([nth(2).options.resourceVersion, source.looks], ['10', 0]);
    await clock.advance(28_000);
    nth(2).end(ENDED);
    await flushPromises();
    assert.deepEqual([nth(3).options.resourceVersion, source.looks], ['10', 1]);
  });

  test('does not return objects to older states through its events, bookmarks and lists', async () => {
    const { clock, reflector, reported, nth, log } = await createSyncedReflector();
    nth(1).send(modified('a', 20), modified('a', 18), added('old', 19), bookmark(15), deleted('a', 20));
    assert.deepEqual(reported, ['updated a@20']);
    assert.equal(log.filter(line => line.includes('outdated')).length, 3);
    nth(1).end(refused(410));
    await clock.advance(800);
    nth(2).send(added('a', 5), initialEnd(10));
    await flushPromises();
    assert.match(log.at(-1) ?? '', /behind: its list is from 10, but 20 was seen before/);
    assert.equal(reflector.store.get('a')?.resourceVersion, '20');
    await clock.advance(1600);
    nth(3).send(added('a', 20), initialEnd(21));
    await flushPromises();
    assert.equal(nth(4).options.resourceVersion, '21');
    assert.deepEqual(reported, ['updated a@20']);
  });
});
