import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe } from '../../../../../src/commands/shared/describe/describe.ts';
import { member, pool, server } from '../fake-server.ts';

test('describes existing pools, and names missing ones with the next step', async () => {
  const { cluster } = server(
    [pool('worker', {}), pool('gpu', {})],
    [member('w1', 'worker', 'a'), member('x', 'gone', 'a')],
  );
  const ask = async (...names: string[]) => {
    const { descriptions, missing } = await describe(names, {
      cluster: cluster as never,
      events: { list: async () => [] } as never,
    });
    return [descriptions.map(each => each.pool.metadata.name), missing.map(({ oneLine, next }) => next ?? oneLine)];
  };
  assert.deepEqual(await ask(), [['gpu', 'worker'], []]);
  assert.deepEqual(await ask('worker', 'gpu', 'worker'), [['worker', 'gpu'], []]);
  assert.deepEqual(await ask('worker', 'gpx', 'gone'), [
    ['worker'],
    ['nodepool "gpx" not found; did you mean "gpu"?', 'list the pools with `kubectl nodepool get`'],
  ]);
  assert.deepEqual(await ask('pool', 'worker'), [
    ['worker'],
    ['leave out "pool": write the pool names right after the command'],
  ]);
  assert.deepEqual(await ask('w1'), [
    [],
    ['"w1" is a node of pool worker: `kubectl nodepool why w1` or `kubectl describe node w1`'],
  ]);
});
