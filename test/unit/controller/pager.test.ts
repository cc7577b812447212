import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flushPromises } from './fake-clock.ts';
import {
  added,
  BROKEN,
  bookmark,
  deleted,
  ENDED,
  errorLine,
  initialEnd,
  modified,
  refused,
  thing,
} from './fake-source.ts';
import { createReflector } from './reflector-fixture.ts';

describe('the initial list', () => {
  test('uses WatchList, delivers its events once it is complete, and watches from its end', async () => {
    const { source, reflector, reported, nth } = createReflector();
    await flushPromises();
    const { options, send } = nth(0);
    assert.deepEqual([options.initialEvents, options.resourceVersion, options.timeoutSeconds], [true, undefined, 300]);
    send(added('a', 5), added('b', 3), added('c', 4), modified('b', 6), deleted('c', 7), bookmark(7));
    assert.deepEqual(reported, []);
    assert.equal(reflector.hasSynced, false);
    send(initialEnd(9));
    await reflector.synced();
    assert.deepEqual(reported, ['added a@5', 'added b@6']);
    assert.equal(options.signal.aborted, true);
    await flushPromises();
    assert.equal(nth(1).options.resourceVersion, '9');
    assert.equal(source.lists.length, 0);
    assert.deepEqual(reflector.store.get('a')?.object, { name: 'a' });
  });

  for (const status of [400, 422]) {
    test(`reads pages after WatchList was answered with ${status}, from then on`, async () => {
      const { clock, source, reported, nth } = createReflector();
      await flushPromises();
      nth(0).end(refused(status));
      await flushPromises();
      assert.deepEqual(source.lists[0]?.options.limit, 500);
      source.lists[0]?.answer({ kind: 'page', items: [thing('a', 5)], resourceVersion: '9', continue: 'more' });
      await flushPromises();
      assert.equal(source.lists[1]?.options.continue, 'more');
      source.lists[1]?.answer({ kind: 'page', items: [thing('b', 6)], resourceVersion: '9', continue: undefined });
      await flushPromises();
      assert.deepEqual(reported, ['added a@5', 'added b@6']);
      nth(1).end(refused(410));
      await clock.advance(800);
      assert.equal(source.lists.length, 3);
      assert.equal(source.watches.length, 2);
    });
  }

  test('reads pages when the server ends the WatchList early, and tries WatchList again next time', async () => {
    const { clock, source, reported, nth, log } = createReflector();
    await flushPromises();
    nth(0).send(added('gone', 5));
    nth(0).end(ENDED);
    await flushPromises();
    source.lists[0]?.answer({ kind: 'page', items: [thing('a', 6)], resourceVersion: '9', continue: undefined });
    await flushPromises();
    assert.deepEqual(reported, ['added a@6']);
    assert.deepEqual(log, ['info things: the server ended the streaming list early; reading pages instead']);
    nth(1).end(refused(410));
    await clock.advance(800);
    assert.equal(nth(2).options.initialEvents, true);
    assert.equal(source.lists.length, 1);
  });

  test('requests no further page after stop()', async () => {
    const { source, reflector, nth } = createReflector();
    await flushPromises();
    nth(0).end(refused(400));
    await flushPromises();
    const stopped = reflector.stop();
    source.lists[0]?.answer({ kind: 'page', items: [thing('a', 5)], resourceVersion: '9', continue: 'more' });
    await stopped;
    await flushPromises();
    assert.equal(source.lists.length, 1);
  });

  test('restarts the pages once after an expired continue token, then fails', async () => {
    const { clock, source, nth, log } = createReflector();
    await flushPromises();
    nth(0).end(refused(400));
    await flushPromises();
    const more = { kind: 'page', resourceVersion: '9', continue: 'more' } as const;
    source.lists[0]?.answer({ ...more, items: [thing('gone', 5)] });
    await flushPromises();
    source.lists[1]?.answer(refused(410));
    await flushPromises();
    assert.equal(source.lists[2]?.options.continue, undefined);
    source.lists[2]?.answer({ ...more, items: [thing('a', 5)] });
    await flushPromises();
    source.lists[3]?.answer(refused(410));
    await flushPromises();
    assert.equal(source.lists.length, 4);
    assert.match(log.at(-1) ?? '', /answered 410.*next attempt in 0\.8 s/);
    await clock.advance(800);
    assert.equal(source.lists.length, 5);
  });

  test('fails on a repeated continue token, as such a list never ends', async () => {
    for (const tokens of [
      ['same', 'same'],
      ['one', 'two', 'one'],
    ]) {
      const { clock, source, nth, log } = createReflector();
      await flushPromises();
      nth(0).end(refused(400));
      await flushPromises();
      for (const [index, token] of tokens.entries()) {
        source.lists[index]?.answer({ kind: 'page', items: [], resourceVersion: '9', continue: token });
        await flushPromises();
      }
      assert.equal(source.lists.length, tokens.length);
      assert.match(log.at(-1) ?? '', /sent the same continue token twice.*next attempt in/);
      await clock.advance(800);
      assert.equal(source.lists.at(-1)?.options.continue, undefined, 'from the start');
    }
  });

  test('drops the pages before an expired continue token', async () => {
    const { source, reported, nth } = createReflector();
    await flushPromises();
    nth(0).end(refused(400));
    await flushPromises();
    source.lists[0]?.answer({ kind: 'page', items: [thing('gone', 5)], resourceVersion: '9', continue: 'more' });
    await flushPromises();
    source.lists[1]?.answer(refused(410));
    await flushPromises();
    source.lists[2]?.answer({ kind: 'page', items: [thing('a', 6)], resourceVersion: '12', continue: undefined });
    await flushPromises();
    assert.deepEqual(reported, ['added a@6']);
    assert.equal(nth(1).options.resourceVersion, '12');
  });

  test('ends a WatchList after 30 s without data, or after 5 min in total', async () => {
    const { clock, nth, source } = createReflector();
    await flushPromises();
    await clock.advance(29_999);
    nth(0).send(added('a', 1));
    await clock.advance(29_999);
    assert.equal(nth(0).options.signal.aborted, false);
    await clock.advance(1);
    assert.equal(nth(0).options.signal.aborted, true);
    await clock.advance(800);
    for (let second = 0; second < 300; second += 20) {
      assert.equal(source.watches.length, 2);
      nth(1).send(added('a', 1));
      await clock.advance(20_000);
    }
    assert.equal(nth(1).options.signal.aborted, true);
  });

  test('delivers nothing of a list that broke off or ended with an error, and retries', async () => {
    const { clock, reflector, nth, reported } = createReflector();
    await flushPromises();
    nth(0).send(added('a', 1));
    nth(0).end(BROKEN);
    await clock.advance(800);
    nth(1).send(added('a', 1), errorLine(500, 'InternalError'));
    await clock.advance(1600);
    nth(2).end(refused(403));
    await clock.advance(3200);
    assert.deepEqual(reported, []);
    assert.equal(reflector.hasSynced, false);
    nth(3).send(initialEnd(4));
    await reflector.synced();
  });
});
