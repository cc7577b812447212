/** After etcd was restored from a backup the server has lower resourceVersions and other objects. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reflector } from '../../../src/controller/reflector.ts';
import { Store } from '../../../src/controller/store.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { added, BROKEN, bookmark, deleted, ENDED, FakeSource, initialEnd, modified, refused } from './fake-source.ts';
import { seeded } from './random.ts';

/** Synced with `a` at version 50 and `b` at 60; its watch from 100 is watch 1. */
async function create() {
  const clock = new FakeClock();
  const source = new FakeSource();
  const [reported, log]: [string[], string[]] = [[], []];
  const reflector = new Reflector<string>({
    name: 'things',
    source,
    transform: raw => (raw as { metadata: { name: string } }).metadata.name,
    store: new Store<string>(),
    clock,
    random: () => 0,
    log: (level, message) => level === 'warning' && log.push(message),
    onRestored: () => reported.push('restored'),
  });
  reflector.subscribe(event => {
    const item = event.type === 'deleted' ? event.tombstone.item : event.item;
    reported.push(`${event.type} ${item.key}@${item.resourceVersion}`);
  });
  reflector.start();
  await flushPromises();
  source.watches[0]?.send(added('a', 50), added('b', 60), initialEnd(100));
  await flushPromises();
  reported.length = 0;
  const last = () => {
    const watch = source.watches.at(-1);
    assert.ok(watch);
    return watch;
  };
  /** The connection breaks, and the reflector asks again. */
  const breakOff = async () => {
    last().end(BROKEN);
    await flushPromises();
    assert.equal(reflector.isConfirmed, false);
    await clock.advance(800);
  };
  return { clock, source, reflector, reported, log, last, breakOff };
}

test('reports a restore, and lists again, when the newest resourceVersion goes back', async () => {
  const { source, reflector, reported, log, last, breakOff } = await create();
  source.newest = '70';
  await breakOff();
  assert.deepEqual(reported, ['restored'], 'at once, before anything of the restored server is reported');
  assert.match(log.at(-1) ?? '', /restored from a backup: its newest resourceVersion is 70, but 100 was seen before/);
  assert.deepEqual([last().options.initialEvents, reflector.isConfirmed], [true, false]);
  last().send(added('a', 40), added('c', 65), initialEnd(71));
  await flushPromises();
  assert.deepEqual(reported, ['restored', 'deleted b@60', 'updated a@40', 'added c@65']);
  assert.equal(last().options.resourceVersion, '71');
  last().send(modified('a', 72), deleted('c', 73));
  assert.deepEqual(reported.slice(4), ['updated a@72', 'deleted c@73']);
  assert.equal(reflector.isConfirmed, true);
});

test('reads the newest resourceVersion after a watch without any event, not after one with a bookmark', async () => {
  const { clock, source, reported, last } = await create();
  source.newest = '70';
  last().send(bookmark(100));
  await clock.advance(28_000);
  last().end(ENDED);
  await flushPromises();
  assert.deepEqual([source.looks, reported], [0, []]);
  await clock.advance(28_000);
  last().end(ENDED);
  await flushPromises();
  assert.deepEqual(reported, ['restored']);
});

test('the resync detects a restored server whose resourceVersion has caught up', async () => {
  const { reflector, source, reported, log, last } = await create();
  source.newest = '120';
  reflector.relist();
  await flushPromises();
  // `b` was written after the backup, and discarded by the restore, during the watch.
  last().send(added('a', 50), added('b', 80), initialEnd(120));
  await flushPromises();
  assert.match(log.at(-1) ?? '', /restored from a backup: b is back at resourceVersion 80/);
  assert.deepEqual(reported, ['restored', 'updated b@80']);
});

for (const [what, newest] of [
  ['refuses the request for its newest version', refused(500)],
  ['returns a version that is no older', '100'],
] as const) {
  test(`drops an older list from a server that ${what}`, async () => {
    const { clock, source, reported, last } = await create();
    source.newest = newest;
    last().end(refused(410));
    await clock.advance(800);
    last().send(added('a', 40), initialEnd(70));
    await flushPromises();
    assert.deepEqual([reported, source.looks], [[], 1]);
    await clock.advance(1600);
    assert.equal(last().options.initialEvents, true, 'it lists again');
  });
}

for (const [what, lines] of [
  ['a known object in an older state', [added('a', 40), added('b', 60)]],
  ['an object that had been deleted', [added('a', 50), added('b', 60), added('dead', 30)]],
  ['a known object with another UID', [added('a', 50, 'other'), added('b', 60)]],
] as const) {
  test(`detects a restore by a list that is not older but has ${what}`, async () => {
    const { clock, reported, last } = await create();
    last().end(refused(410));
    await clock.advance(800);
    last().send(...lines, initialEnd(1_000_000));
    await flushPromises();
    assert.equal(reported[0], 'restored');
    assert.equal(reported.length > 1, true);
    assert.equal(last().options.resourceVersion, '1000000');
  });
}

test('does not treat changes during a gap as a restore', async () => {
  const { clock, reported, last } = await create();
  last().end(refused(410));
  await clock.advance(800);
  last().send(added('a', 50), added('b', 101), added('c', 102), initialEnd(200));
  await flushPromises();
  assert.deepEqual(reported, ['updated b@101', 'added c@102']);
});

test('lists again after the server could not be asked', async () => {
  const { clock, source, reflector, last, breakOff } = await create();
  source.newest = BROKEN;
  await breakOff();
  await clock.advance(1600);
  assert.equal(last().options.initialEvents, true);
  last().end(BROKEN);
  await clock.advance(3200);
  assert.equal(reflector.isConfirmed, false);
  last().send(added('a', 50), added('b', 60), initialEnd(100));
  await flushPromises();
  assert.equal(reflector.isConfirmed, true);
});

test('resumes the watch after an error response', async () => {
  const { clock, source, last, breakOff } = await create();
  source.newest = refused(503);
  await breakOff();
  source.newest = '120';
  await clock.advance(1600);
  assert.deepEqual([last().options.resourceVersion, last().options.initialEvents], ['100', false]);
});

test('never returns an object to an older state without a restore, in random histories', async () => {
  let [grown, restores] = [0, 0];
  for (let seed = 1; seed <= 100; seed++) {
    const random = seeded(seed);
    const upTo = (most: number) => 1 + Math.floor(random() * most);
    const { clock, source, reported, last } = await create();
    const newest = new Map([
      ['a', 50],
      ['b', 60],
    ]);
    for (let step = 1; step <= 40; step++) {
      const version = 110 + 5 * step - (random() < 0.4 ? upTo(100) : 0);
      const key = random() < 0.5 ? 'a' : 'b';
      if (random() < 0.7) last().send((random() < 0.8 ? modified : deleted)(key, version));
      else {
        source.newest = String(version + upTo(50));
        last().end(refused(410));
        await clock.advance(40_000);
        last().send(added('a', upTo(version)), added('b', upTo(version)), initialEnd(version));
        await clock.advance(40_000);
      }
      for (const line of reported.splice(0)) {
        const [, type, name = '', at] = /^(\w+)(?: (\w+)@(\d+))?$/.exec(line) ?? [];
        if (type === 'restored') {
          newest.clear();
          restores += 1;
        }
        if (type !== 'added' && type !== 'updated') continue;
        assert.ok(Number(at) > (newest.get(name) ?? 0), `seed ${seed}: ${line} after ${newest.get(name)}`);
        newest.set(name, Number(at));
        grown += 1;
      }
    }
  }
  assert.ok(grown > 500 && restores > 50, `${grown} changes, ${restores} restores`);
});
