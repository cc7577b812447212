/**
 * The objects of one resource as last seen, by key and by named indices.
 * - The events of one object come in the order of its changes. `deleted` comes between two objects with the same name
 *   (new UID).
 * - Events follow the change: when a listener is called, the store has the new state.
 *
 * Not guaranteed: an order between objects, every intermediate state, or that the server still has this state. The
 * store compares no resourceVersions: the reflector drops older states (restore-detector.ts). Objects are shared, not
 * copied: do not modify them.
 */

export interface Item<T> {
  /** `namespace/name`, or `name` for cluster-scoped objects. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly object: T;
}

/** The last known state of a deleted object. */
type Tombstone<T> =
  /** The state at the deletion. */
  | { kind: 'final'; item: Item<T> }
  /** The deletion was missed; this is the last state that was seen, perhaps not the object's last state. */
  | { kind: 'unknown'; item: Item<T> };

export type StoreEvent<T> =
  | { type: 'added'; item: Item<T> }
  | { type: 'updated'; old: Item<T>; item: Item<T> }
  | { type: 'deleted'; tombstone: Tombstone<T> };

export type IndexFunction<T> = (object: T) => readonly string[];

export class Store<T> {
  readonly #items = new Map<string, Item<T>>();
  readonly #indices: Map<string, { valuesOf: IndexFunction<T>; keys: Map<string, Set<string>> }>;

  constructor(indices: Record<string, IndexFunction<T>> = {}) {
    this.#indices = new Map(
      Object.entries(indices).map(([name, valuesOf]) => [name, { valuesOf, keys: new Map<string, Set<string>>() }]),
    );
  }

  get size(): number {
    return this.#items.size;
  }

  get(key: string): Item<T> | undefined {
    return this.#items.get(key);
  }

  items(): IterableIterator<Item<T>> {
    return this.#items.values();
  }

  keys(): IterableIterator<string> {
    return this.#items.keys();
  }

  /** The items with this value in the index. Throws for an unknown index. */
  byIndex(name: string, value: string): Item<T>[] {
    const keys = this.#index(name).keys.get(value) ?? [];
    return [...keys].flatMap(key => this.#items.get(key) ?? []);
  }

  /** Adds or updates the object. No event if its state is unchanged. */
  set(item: Item<T>): StoreEvent<T>[] {
    const old = this.#items.get(item.key);
    if (old === undefined) {
      this.#put(item);
      return [{ type: 'added', item }];
    }
    if (item.resourceVersion === old.resourceVersion && item.uid === old.uid) return [];
    this.#put(item);
    if (item.uid === old.uid) return [{ type: 'updated', old, item }];
    return [
      { type: 'deleted', tombstone: { kind: 'unknown', item: old } },
      { type: 'added', item },
    ];
  }

  /** Removes an object, deleted in this state. No event if the store does not have it, or has another UID. */
  delete(item: Item<T>): StoreEvent<T>[] {
    const old = this.#items.get(item.key);
    if (old === undefined || old.uid !== item.uid) return [];
    this.#drop(old);
    return [{ type: 'deleted', tombstone: { kind: 'final', item } }];
  }

  /** A complete list: objects that are not in it are deleted. */
  replace(items: Iterable<Item<T>>): StoreEvent<T>[] {
    const listed = new Map([...items].map(item => [item.key, item]));
    const events: StoreEvent<T>[] = [];
    for (const old of [...this.#items.values()]) {
      if (listed.has(old.key)) continue;
      this.#drop(old);
      events.push({ type: 'deleted', tombstone: { kind: 'unknown', item: old } });
    }
    for (const item of listed.values()) events.push(...this.set(item));
    return events;
  }

  #put(item: Item<T>): void {
    const old = this.#items.get(item.key);
    if (old !== undefined) this.#drop(old);
    this.#items.set(item.key, item);
    for (const { valuesOf, keys } of this.#indices.values()) {
      for (const value of valuesOf(item.object)) {
        const found = keys.get(value);
        if (found === undefined) keys.set(value, new Set([item.key]));
        else found.add(item.key);
      }
    }
  }

  #drop({ key, object }: Item<T>): void {
    this.#items.delete(key);
    for (const { valuesOf, keys } of this.#indices.values()) {
      for (const value of valuesOf(object)) {
        const found = keys.get(value);
        found?.delete(key);
        if (found?.size === 0) keys.delete(value);
      }
    }
  }

  #index(name: string) {
    const index = this.#indices.get(name);
    if (index === undefined) throw new Error(`the store has no index ${name}`);
    return index;
  }
}
