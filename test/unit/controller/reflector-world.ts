/** A reflector of things on a fake clock, with an API server of which the test holds all strings. */
import assert from 'node:assert/strict';
import { Reflector } from '../../../src/controller/reflector.ts';
import { Store } from '../../../src/controller/store.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { type AskedWatch, added, FakeSource, initialEnd } from './fake-source.ts';

interface Thing {
  name: string;
}

/** Back-off without jitter: 0.8 s first. Watches last 30 s. */
export function create(random = () => 0) {
  const clock = new FakeClock();
  const source = new FakeSource();
  const [told, log]: [string[], string[]] = [[], []];
  const reflector = new Reflector<Thing>({
    name: 'things',
    source,
    transform: raw => {
      const { metadata } = raw as { metadata: { name: string } };
      if (metadata.name === 'poison') throw new Error('the transform does not like it');
      return { name: metadata.name };
    },
    store: new Store<Thing>(),
    clock,
    random,
    log: (level, message) => level !== 'debug' && log.push(`${level} ${message}`),
  });
  reflector.subscribe(event => {
    if (event.type === 'deleted') told.push(`deleted ${event.tombstone.item.key} ${event.tombstone.kind}`);
    else told.push(`${event.type} ${event.item.key}@${event.item.resourceVersion}`);
  });
  reflector.start();
  const nth = (index: number): AskedWatch => {
    const watch = source.watches[index];
    assert.ok(watch, `watch ${index} was not asked for`);
    return watch;
  };
  return { clock, source, reflector, told, log, nth };
}

/** One that has synced with `a` at version 10, and watches: that is watch 1. */
export async function createSynced(random?: () => number) {
  const world = create(random);
  await flushPromises();
  world.nth(0).send(added('a', 5), initialEnd(10));
  await flushPromises();
  world.told.length = 0;
  return world;
}
