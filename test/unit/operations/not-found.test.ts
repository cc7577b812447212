import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getPools } from '../../../src/operations/get.ts';
import { poolNotFound } from '../../../src/operations/not-found.ts';
import { aPool } from '../nodepool/fixtures.ts';

const LIST = 'list the pools with `kubectl nodepool get`';

test('names a pool of a similar name', () => {
  const pools = ['worker', 'gpu'];
  const cases: [names: string[], message: string, next?: string][] = [
    [['wroker'], 'nodepool "wroker" not found; did you mean "worker"?'],
    [['wroker', 'gpx', 'far-away'], 'nodepools "wroker", "gpx", "far-away" not found; did you mean "worker", "gpu"?'],
    [['far-away'], 'nodepool "far-away" not found', LIST],
    [['work'], 'nodepool "work" not found', '"work" is a node: `kubectl nodepool nodes --why work`'],
    [['pools'], 'nodepool "pools" not found', 'leave out "pools": names of pools follow the command'],
  ];
  for (const [names, message, next] of cases) {
    const error = poolNotFound(names, { pools, isNode: name => name === 'work' });
    assert.deepEqual([error.message, error.next], [message, next]);
  }
  assert.equal(poolNotFound(['wroker']).next, LIST);
});

test('get asks for names once, and only when a pool is missing', async () => {
  let asked = 0;
  const pools = {
    get: async (name: string) => (name === 'worker' ? aPool() : undefined),
    list: async () => [],
    firstNames: async () => {
      asked++;
      return ['worker'];
    },
  };
  const get = (names: string[], ignoreNotFound = false) =>
    getPools({ names, selector: undefined, fieldSelector: undefined, ignoreNotFound }, { pools: pools as never });
  assert.deepEqual((await get(['worker'])).missing, []);
  await get(['x'], true);
  await get(['pods-x', 'nodepools']);
  assert.equal(asked, 0);
  const { missing } = await get(['wroker', 'worker', 'nope']);
  assert.deepEqual(
    missing.map(({ message }) => message),
    ['nodepool "wroker" not found; did you mean "worker"?', 'nodepool "nope" not found'],
  );
  assert.equal(asked, 1);
});
