import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseWaitCondition } from '../../../../src/commands/wait/command.ts';
import { type WaitDeps, waitForEach } from '../../../../src/commands/wait/run.ts';
import type { NodePoolsClient, RawPool } from '../../../../src/kube/cluster.ts';
import { FakeClock, flushPromises } from '../../controller/fake-clock.ts';
import { FakeSource, initialEnd } from '../../controller/fake-source.ts';

let version = 100;

function makePool(name: string, status: number, uid = `uid-${name}`): RawPool {
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name, uid, resourceVersion: String(version++), generation: 1 },
    spec: {},
    status: { status, nodeCount: 1, observedGeneration: 1 },
  };
}

/** Waits for conditions of pools a and b, of which these exist; the test sends the watch events. */
function start(condition: string, pools: RawPool[], timeoutMs = 30_000, names = ['a', 'b']) {
  const clock = new FakeClock();
  const source = new FakeSource();
  const [met, asked]: [string[], string[][]] = [[], []];
  const get: NodePoolsClient['get'] = async name => pools.find(({ metadata }) => metadata.name === name);
  const deps: WaitDeps = {
    nodes: { get: async () => undefined, list: async () => [] },
    pools: {
      get,
      firstNames: async () => [],
      list: async () => pools,
      watchRaw({ names }) {
        asked.push([...names]);
        return { source, transform: raw => raw as RawPool };
      },
    },
    clock,
    random: () => 0,
    log: () => {},
    onFound: () => {},
    onMet: name => void met.push(name),
  };
  const waiting = async () =>
    waitForEach(
      { pools: { names }, conditions: await Promise.all(condition.split(' ').map(parseWaitCondition)), timeoutMs },
      deps,
    );
  const ended = waiting();
  const send = async (type: string, ...objects: RawPool[]) => {
    for (const object of objects) source.watches.at(-1)?.send({ type, object });
    await flushPromises();
  };
  /** The initial events of the watch. */
  const begin = async (...objects: RawPool[]) => {
    await flushPromises();
    await send('ADDED', ...objects);
    source.watches.at(-1)?.send(initialEnd(version++));
    await flushPromises();
  };
  const errors = async () => (await ended).map(({ message }) => message);
  return { clock, source, met, asked, begin, send, errors };
}

test('reports a condition that is already met without a watch', async () => {
  const { source, met, errors } = start('status=200', [makePool('a', 200), makePool('b', 200)]);
  assert.deepEqual(await errors(), []);
  assert.deepEqual(met, ['a', 'b']);
  assert.equal(source.watches.length, 0);
});

test('reports each pool once, in order, and watches only pools that it waits for', async () => {
  const pools = [makePool('a', 503), makePool('b', 200), makePool('c', 422)];
  const { met, asked, begin, send, errors, clock } = start('status=200', pools, 30_000, ['a', 'b', 'c', 'a']);
  await begin(makePool('a', 503), makePool('c', 422));
  assert.deepEqual([met, asked], [['b'], [['a', 'c']]]);
  await send('MODIFIED', makePool('c', 200), makePool('c', 503), makePool('c', 200));
  await send('MODIFIED', makePool('a', 200));
  assert.deepEqual(await errors(), []);
  assert.deepEqual(met, ['b', 'c', 'a']);
  assert.equal(clock.pending, 0);
});

test('reports what changed before the watch began', async () => {
  const { met, begin, errors } = start('status=200', [makePool('a', 503)], 30_000, ['a']);
  await begin(makePool('a', 200));
  assert.deepEqual([await errors(), met], [[], ['a']]);
});

test('ends at the timeout', async () => {
  const { met, clock, begin, send, errors } = start('status=200', [makePool('a', 503), makePool('b', 503)], 5_000);
  await begin(makePool('a', 200), makePool('b', 503));
  await send('MODIFIED', makePool('b', 422));
  await clock.advance(5_000);
  assert.deepEqual(await errors(), ['timed out waiting for the condition on nodepools/b: status.status is 422']);
  assert.deepEqual(met, ['a']);
});

test('checks once with a timeout of zero', async () => {
  const { source, met, errors } = start('status=200', [makePool('a', 503), makePool('b', 200)], 0);
  assert.deepEqual(await errors(), ['condition not met for nodepools/a: status.status is 503']);
  assert.deepEqual([met, source.watches.length], [['b'], 0]);
});

test('reports a missing pool, and one that is deleted and not recreated in time', async () => {
  const names = ['a', 'b', 'c'];
  const { met, begin, send, errors, clock } = start(
    'status=200',
    [makePool('b', 503), makePool('c', 503)],
    30_000,
    names,
  );
  await begin(makePool('b', 503), makePool('c', 503));
  await send('DELETED', makePool('b', 503), makePool('c', 503));
  await send('ADDED', makePool('c', 200, 'uid-new'));
  await clock.advance(30_000);
  const late = 'timed out waiting for the condition on nodepools/b: it was deleted';
  assert.deepEqual(await errors(), ['nodepool "a" not found', late]);
  assert.deepEqual(met, ['c']);
});

describe('waiting for deletion', () => {
  test('neither waits for a missing pool nor reports it', async () => {
    const { met, errors } = start('delete', []);
    assert.deepEqual([await errors(), met], [[], []]);
  });

  test('reports the deletion, not the deletionTimestamp', async () => {
    const { met, begin, send, errors } = start('delete', [makePool('a', 200)]);
    await begin(makePool('a', 200));
    await send('MODIFIED', makePool('a', 200));
    assert.deepEqual(met, []);
    await send('DELETED', makePool('a', 200));
    assert.deepEqual([await errors(), met], [[], ['a']]);
  });

  test('reports a deletion before the watch began', async () => {
    const { met, begin, errors } = start('delete', [makePool('a', 200), makePool('b', 200)]);
    await begin(makePool('b', 200, 'recreated'));
    assert.deepEqual([await errors(), met], [[], ['a', 'b']]);
  });

  test('times out while the pool stays', async () => {
    const { clock, begin, errors } = start('delete', [makePool('a', 200)], 1_000);
    await begin(makePool('a', 200));
    await clock.advance(1_000);
    assert.deepEqual(await errors(), ['timed out waiting for the condition on nodepools/a']);
  });
});

describe('waiting for creation', () => {
  test('is met by existing pools, and waits for the others', async () => {
    const { met, begin, send, errors } = start('create', [makePool('b', 503)]);
    await begin();
    assert.deepEqual(met, ['b']);
    await send('ADDED', makePool('a', 503));
    assert.deepEqual([await errors(), met], [[], ['b', 'a']]);
  });

  test('times out', async () => {
    const { clock, begin, errors } = start('create', [], 1_000, ['a']);
    await begin();
    await clock.advance(1_000);
    assert.deepEqual(await errors(), ['timed out waiting for the condition on nodepools/a']);
  });
});

test('a path to an object ends the wait for that pool only', async () => {
  const { met, begin, errors } = start('jsonpath={.status.x}=1', [makePool('a', 200), makePool('b', 200)]);
  const status = (x: unknown) => ({ status: 200, nodeCount: 1, x });
  await begin({ ...makePool('a', 200), status: status({}) }, { ...makePool('b', 200), status: status(1) });
  assert.deepEqual(
    [await errors(), met],
    [['--for=jsonpath: jsonpath leads to a nested object or list which is not supported'], ['b']],
  );
});

test('with several conditions, each pool meets one after the other within one timeout', async () => {
  const { met, begin, send, errors, clock } = start('status=200 create nodes=1', [makePool('a', 503)]);
  await begin();
  await send('ADDED', makePool('b', 200));
  assert.deepEqual(met, ['a', 'b']);
  await begin(makePool('a', 200));
  assert.deepEqual(met.slice(2), ['a', 'a']);
  await clock.advance(30_000);
  assert.deepEqual(await errors(), ['nodepool "b" not found']);
});

test('does not check the next condition of a pool that misses one', async () => {
  const { met, errors, source } = start('status=200 nodes=1', [makePool('a', 200), makePool('b', 503)], 0);
  assert.deepEqual(await errors(), ['condition not met for nodepools/b: status.status is 503']);
  assert.deepEqual([met, source.watches.length], [['a', 'a'], 0]);
});
