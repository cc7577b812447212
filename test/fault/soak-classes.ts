/**
 * Whether each create and delete of a RuntimeClass had a reason, by watching etcd: the audit log of a killed API server
 * lacks requests in flight.
 */
import assert from 'node:assert/strict';
import { follow } from './etcd.ts';
import { HANDLERS } from './soak-specs.ts';

const PREFIX = '/registry/runtimeclasses';

export interface ClassLog {
  /**
   * Throws when a class was created, or recreated, more often than the pool's handler changed: each class has its own
   * change, in order. So was what went: a class goes before its successor comes, and whether the last is still there,
   * expected.ts says.
   * @param given by the pool's name, the handlers it had one after the other
   */
  judge(given: ReadonlyMap<string, readonly (string | undefined)[]>): void;
  end(): void;
}

/** Begins to listen. @param etcd http://HOST:PORT */
export async function listenToClasses(etcd: string): Promise<ClassLog> {
  const made = new Map<string, string[]>();
  const end = await follow(etcd, PREFIX, ({ key, value, isNew }) => {
    if (value === undefined || !isNew) return;
    const pool = key.slice(`${PREFIX}/node-pool-`.length);
    const handler = HANDLERS.find(each => value.includes(each)) ?? 'another';
    made.set(pool, [...(made.get(pool) ?? []), handler]);
  });
  return {
    end,
    judge(given) {
      for (const [pool, handlers] of made) {
        const had = given.get(pool) ?? [];
        const says = `RuntimeClass node-pool-${pool} was made for ${handlers}; the pool had ${had.join(', ')}`;
        assert.ok(isPartOf(handlers, changes(had)), says);
      }
    },
  };
}

/** Without consecutive repeats. */
function changes<T>(values: readonly T[]): T[] {
  return values.filter((value, at) => at === 0 || value !== values[at - 1]);
}

/** Whether all of them are in the other list, in the same order. */
function isPartOf<T>(some: readonly T[], all: readonly T[]): boolean {
  let from = 0;
  return some.every(value => {
    from = all.indexOf(value, from) + 1;
    return from > 0;
  });
}
