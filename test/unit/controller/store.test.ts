import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Item, Store, type StoreEvent } from '../../../src/controller/store.ts';
import { seeded } from './random.ts';

interface Fruit {
  colors: string[];
}

const item = (key: string, version: number, uid = key, colors: string[] = []): Item<Fruit> => ({
  key,
  uid,
  resourceVersion: String(version),
  object: { colors },
});

const create = () => new Store<Fruit>({ color: ({ colors }) => colors });

function reported(events: StoreEvent<Fruit>[]): string[] {
  return events.map(event => {
    if (event.type === 'deleted') {
      const { kind, item: last } = event.tombstone;
      return `deleted ${last.key}@${last.resourceVersion} ${kind}`;
    }
    const from = event.type === 'updated' ? `${event.old.resourceVersion}->` : '';
    return `${event.type} ${event.item.key}@${from}${event.item.resourceVersion}`;
  });
}

describe('the store', () => {
  test('reports added, updated and deleted objects', () => {
    const store = create();
    assert.deepEqual(reported(store.set(item('a', 1))), ['added a@1']);
    assert.deepEqual(reported(store.set(item('a', 2))), ['updated a@1->2']);
    assert.deepEqual(reported(store.delete(item('a', 3))), ['deleted a@3 final']);
    assert.equal(store.size, 0);
  });

  test('reports nothing for an unchanged object, and for the deletion of a missing object', () => {
    const store = create();
    store.set(item('a', 5));
    assert.deepEqual(store.set(item('a', 5)), []);
    assert.deepEqual(store.delete(item('b', 6)), []);
    assert.deepEqual(store.delete(item('a', 6, 'another')), []);
    assert.equal(store.size, 1);
  });

  test('reports another UID under a name as a deletion and an addition', () => {
    const store = create();
    store.set(item('a', 1, 'first'));
    assert.deepEqual(reported(store.set(item('a', 3, 'second'))), ['deleted a@1 unknown', 'added a@3']);
    assert.equal(store.get('a')?.uid, 'second');
  });

  test('replace() reports the difference, with tombstones of deleted objects', () => {
    const store = create();
    for (const each of [item('gone', 1), item('same', 2), item('moved', 3), item('reborn', 4, 'x')]) store.set(each);
    const list = [item('same', 2), item('moved', 7), item('reborn', 8, 'y'), item('new', 9)];
    assert.deepEqual(reported(store.replace(list)), [
      'deleted gone@1 unknown',
      'updated moved@3->7',
      'deleted reborn@4 unknown',
      'added reborn@8',
      'added new@9',
    ]);
    assert.deepEqual([...store.keys()].sort(), ['moved', 'new', 'reborn', 'same']);
  });

  test('updates indices with every change', () => {
    const store = create();
    store.set(item('apple', 1, 'apple', ['red', 'green']));
    store.set(item('pear', 2, 'pear', ['green']));
    const green = () => store.byIndex('color', 'green').map(({ key }) => key);
    assert.deepEqual(green(), ['apple', 'pear']);
    store.set(item('apple', 3, 'apple', ['red']));
    assert.deepEqual(green(), ['pear']);
    store.delete(item('pear', 4));
    assert.deepEqual(green(), []);
    assert.equal(store.byIndex('color', 'red').length, 1);
    store.replace([]);
    assert.deepEqual(store.byIndex('color', 'red'), []);
    assert.throws(() => store.byIndex('taste', 'sweet'), /no index taste/);
  });

  test('events build the same state and indices as a full scan, for random histories', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seeded(seed);
      const [store, follower] = [create(), new Map<string, Item<Fruit>>()];
      const pick = (version: number) => {
        const key = `k${Math.floor(random() * 5)}`;
        const colors = ['red', 'green', 'blue'].filter(() => random() < 0.5);
        return item(key, version, `${key}-${Math.floor(random() * 2)}`, colors);
      };
      for (let version = 1; version < 80; version++) {
        const choice = random();
        const events =
          choice < 0.7
            ? store.set(pick(Math.max(1, version - Math.floor(random() * 3))))
            : choice < 0.9
              ? store.delete(pick(version))
              : store.replace([pick(version), pick(version)]);
        for (const event of events) follow(follower, event);
        assert.deepEqual([...follower.values()].sort(byKey), [...store.items()].sort(byKey), `seed ${seed}`);
        for (const color of ['red', 'green', 'blue']) {
          const scan = [...store.items()].filter(({ object }) => object.colors.includes(color));
          assert.deepEqual(store.byIndex('color', color).sort(byKey), scan.sort(byKey), `seed ${seed}`);
        }
      }
    }
  });
});

/** A listener that keeps a copy, and checks that each event fits it. */
function follow(copy: Map<string, Item<Fruit>>, event: StoreEvent<Fruit>): void {
  if (event.type === 'deleted') {
    assert.equal(copy.get(event.tombstone.item.key)?.uid, event.tombstone.item.uid);
    copy.delete(event.tombstone.item.key);
    return;
  }
  const { item: now } = event;
  const before = copy.get(now.key);
  assert.deepEqual(before, event.type === 'updated' ? event.old : undefined);
  assert.notEqual(now.resourceVersion, before?.resourceVersion);
  copy.set(now.key, now);
}

function byKey(a: Item<Fruit>, b: Item<Fruit>): number {
  return a.key < b.key ? -1 : 1;
}
