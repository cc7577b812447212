/** Which events are shown, and which missing pools are named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosenEvents } from '../../../../src/commands/events/run.ts';
import type { EventsPort, PoolEventRecord } from '../../../../src/kube/resources/events.ts';

const EVENTS = [
  { pool: 'b', lastSeen: '2026-01-01T00:00:02Z' },
  { pool: 'a', lastSeen: '2026-01-01T00:00:01Z' },
  { pool: 'deleted', lastSeen: '2026-01-01T00:00:03Z' },
] as PoolEventRecord[];

/** Pools a, b and quiet exist. Records the requests. */
function setUp(names: readonly string[] | undefined) {
  const requests: string[] = [];
  const all = (pool?: string) => EVENTS.filter(event => pool === undefined || event.pool === pool);
  const events = {
    list: async (pool?: string) => {
      requests.push(`list ${pool ?? ''}`);
      return all(pool);
    },
    watch: () => ({ source: {}, transform: (raw: object) => raw as PoolEventRecord }),
  } as unknown as EventsPort;
  const get = async (name: string) => {
    requests.push(`get ${name}`);
    return ['a', 'b', 'quiet'].includes(name) ? { metadata: { name }, spec: {} } : undefined;
  };
  const firstNames = async () => [];
  const pools = { get, list: async () => [], firstNames, assertServed: async () => {} } as unknown as Parameters<
    typeof chosenEvents
  >[1]['pools'];
  const chosen = chosenEvents(names, { events, pools, nodes: { get: async () => undefined, list: async () => [] } });
  return { chosen, requests, names: async () => (await chosen.list()).map(({ pool }) => pool) };
}

test('lets the server select one name, and otherwise reads all events at once', async () => {
  for (const [names, expected, request] of [
    [['a'], ['a'], 'list a'],
    [['a', 'b'], ['a', 'b'], 'list '],
    [undefined, ['a', 'b', 'deleted'], 'list '],
    [['deleted'], ['deleted'], 'list deleted'],
  ] as const) {
    const set = setUp(names);
    assert.deepEqual([await set.names(), set.requests], [expected, [request]]);
  }
});

test('looks up a pool that has no events', async () => {
  assert.deepEqual(await setUp(['quiet', 'a']).names(), ['a']);
  for (const names of [['nope'], ['a', 'nope']]) {
    await assert.rejects(setUp(names).names(), { kind: 'input', message: 'nodepool "nope" not found' });
  }
});

test('sends no request when no pool is chosen', async () => {
  const set = setUp([]);
  assert.deepEqual([await set.names(), set.requests], [[], []]);
});

test('a watch of several pools skips events of other pools', () => {
  const { transform } = setUp(['a', 'b']).chosen.watch();
  assert.deepEqual(
    EVENTS.map(event => transform(event)?.pool),
    ['b', 'a', undefined],
  );
});
