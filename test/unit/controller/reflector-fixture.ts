/** A reflector on a fake clock and a FakeSource. */
import assert from 'node:assert/strict';
import { Reflector } from '../../../src/controller/reflector.ts';
import { Store } from '../../../src/controller/store.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { type AskedWatch, added, FakeSource, initialEnd } from './fake-source.ts';

interface Thing {
  name: string;
}

/** Back-off without jitter: 0.8 s first. Watches last 30 s. */
export function createReflector(random = () => 0) {
  const clock = new FakeClock();
  const source = new FakeSource();
  const [reported, log]: [string[], string[]] = [[], []];
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
    if (event.type === 'deleted') reported.push(`deleted ${event.tombstone.item.key} ${event.tombstone.kind}`);
    else reported.push(`${event.type} ${event.item.key}@${event.item.resourceVersion}`);
  });
  reflector.start();
  const nth = (index: number): AskedWatch => {
    const watch = source.watches[index];
    assert.ok(watch, `watch ${index} was not asked for`);
    return watch;
  };
  return { clock, source, reflector, reported, log, nth };
}

/** Synced with `a` at version 10; its watch is watch 1. */
export async function createSyncedReflector(random?: () => number) {
  const fixture = createReflector(random);
  await flushPromises();
  fixture.nth(0).send(added('a', 5), initialEnd(10));
  await flushPromises();
  fixture.reported.length = 0;
  return fixture;
}
