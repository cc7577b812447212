import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { follow } from '../../../../src/commands/shared/follow.ts';
import { FakeClock, flushPromises } from '../../controller/fake-clock.ts';
import {
  type AskedWatch,
  added,
  BROKEN,
  deleted,
  errorLine,
  FakeSource,
  initialEnd,
  modified,
  refused,
  thing,
} from '../../controller/fake-source.ts';

/** Follows objects, except those whose name begins with "other". */
function start() {
  const clock = new FakeClock();
  const source = new FakeSource();
  const over = new AbortController();
  const [reports, log]: [string[], string[]] = [[], []];
  const transform = (raw: object) => {
    const { name, resourceVersion } = (raw as { metadata: { name: string; resourceVersion: string } }).metadata;
    return name.startsWith('other') ? undefined : `${name}@${resourceVersion}`;
  };
  const ended = follow<string>(
    {
      resource: 'things.example.com',
      watched: { source, transform },
      onStart: objects => void reports.push(`start ${objects.join(' ')}`),
      onChanged: object => void reports.push(`changed ${object}`),
      onDeleted: object => void reports.push(`deleted ${object}`),
      signal: over.signal,
    },
    { clock, random: () => 0, log: (level, message) => level !== 'debug' && log.push(`${level} ${message}`) },
  );
  const nth = (index: number): AskedWatch => {
    const watch = source.watches[index];
    assert.ok(watch, `watch ${index} was not asked for`);
    return watch;
  };
  return { clock, source, over, reports, log, ended, nth };
}

/** Synced with `a` and `b`; its watch is watch 1. */
async function started() {
  const following = start();
  await flushPromises();
  following.nth(0).send(added('a', 5), added('other', 6), added('b', 7), initialEnd(10));
  await flushPromises();
  return following;
}

describe('reports', () => {
  test('reports all objects, then each change, without objects that the transform drops', async () => {
    const { reports, nth } = await started();
    nth(1).send(modified('a', 11), modified('other', 12), added('c', 13), deleted('b', 14), deleted('other', 15));
    assert.deepEqual(reports, ['start a@5 b@7', 'changed a@11', 'changed c@13', 'deleted b@14']);
  });

  test('reports an empty list', async () => {
    const { reports, nth } = start();
    await flushPromises();
    nth(0).send(initialEnd(10));
    await flushPromises();
    nth(1).send(added('a', 11));
    assert.deepEqual(reports, ['start ', 'changed a@11']);
  });

  test('reports only differences after a new list', async () => {
    const { clock, reports, log, nth } = await started();
    nth(1).send(errorLine(410, 'Expired'));
    await clock.advance(1_000);
    nth(2).send(added('a', 5), added('c', 18), initialEnd(20));
    await flushPromises();
    assert.deepEqual(reports, ['start a@5 b@7', 'deleted b@7', 'changed c@18']);
    assert.deepEqual(log, ['info things: resourceVersion 10 has expired: listing again']);
  });

  test('warns of a broken watch, and continues', async () => {
    const { clock, reports, log, nth } = await started();
    nth(1).end(BROKEN);
    await clock.advance(800);
    nth(2).send(modified('a', 11));
    assert.deepEqual(reports.slice(1), ['changed a@11']);
    assert.deepEqual(log, ['warning things: the line is cut; next attempt in 0.8 s']);
  });
});

describe('the permission to watch', () => {
  for (const hasWatchList of [true, false]) {
    test(`missing from the start is an error after the list, ${hasWatchList ? 'with' : 'without'} WatchList`, async () => {
      const { ended, reports, log, source, nth } = start();
      await flushPromises();
      nth(0).end(refused(hasWatchList ? 403 : 400));
      await flushPromises();
      source.lists[0]?.answer({ kind: 'page', items: [thing('a', 5)], resourceVersion: '10', continue: undefined });
      await flushPromises();
      nth(1).end(refused(403));
      await assert.rejects(ended, {
        kind: 'cluster',
        message: 'cannot watch things: no',
        next: 'ask for a role with verb watch on things.example.com',
      });
      assert.deepEqual(reports, ['start a@5']);
      assert.deepEqual(
        log.filter(line => !line.startsWith('info things: the server has no WatchList')),
        [],
      );
    });
  }

  test('names the user like other commands', async () => {
    const { ended, source, nth } = start();
    await flushPromises();
    nth(0).end(refused(403));
    await flushPromises();
    const message = 'things.example.com is forbidden: User "rita" cannot list resource "things" in API group "x"';
    source.lists[0]?.answer({ kind: 'refused', status: 403, message, retryAfterMs: undefined });
    await assert.rejects(ended, { message: 'user "rita" may not list things' });
  });

  test('reports one error if list is forbidden as well', async () => {
    const { ended, reports, source, nth } = start();
    await flushPromises();
    nth(0).end(refused(403));
    await flushPromises();
    source.lists[0]?.answer(refused(403));
    await assert.rejects(ended, {
      message: 'cannot list things: no',
      next: 'ask for a role with verbs list, watch on things.example.com',
    });
    assert.deepEqual(reports, []);
  });

  test('warns if it is removed later', async () => {
    const { clock, over, ended, log, nth } = await started();
    nth(1).end(refused(403));
    await clock.advance(800);
    assert.equal(nth(2).options.resourceVersion, '10');
    assert.deepEqual(log, ['warning things: the server answered 403: no; next attempt in 0.8 s']);
    over.abort();
    await ended;
  });

  test('retries other refusals from the start', async () => {
    const { clock, reports, nth } = start();
    await flushPromises();
    nth(0).end(refused(500));
    await clock.advance(800);
    nth(1).send(added('a', 5), initialEnd(10));
    await flushPromises();
    assert.deepEqual(reports, ['start a@5']);
  });
});

describe('the abort signal', () => {
  test('ends the watch, and nothing is reported after it', async () => {
    const { over, ended, reports, clock, nth } = await started();
    const watch = nth(1);
    over.abort();
    await ended;
    assert.equal(watch.options.signal.aborted, true);
    watch.send(modified('a', 11));
    assert.deepEqual(reports, ['start a@5 b@7']);
    assert.equal(clock.pending, 0);
  });

  test('reports nothing when aborted before the first list', async () => {
    const { over, ended, reports, nth } = start();
    await flushPromises();
    over.abort();
    await ended;
    assert.equal(nth(0).options.signal.aborted, true);
    assert.deepEqual(reports, []);
  });
});
