import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Connection, Deps } from '../../../../src/cli/factory.ts';
import { followRollout, rolloutStatus } from '../../../../src/commands/rollout/status.ts';
import type { Clock } from '../../../../src/controller/clock.ts';
import type { RawPool } from '../../../../src/kube/cluster.ts';
import { ForbiddenError } from '../../../../src/nodepool/errors.ts';
import type { NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { EKS } from '../../../cloud-names.ts';
import { testIo } from '../../cli/test-io.ts';
import { FakeClock, flushPromises } from '../../controller/fake-clock.ts';
import { FakeSource, initialEnd } from '../../controller/fake-source.ts';

const TIMEOUT_MS = 60_000;

function pool(resourceVersion: number, isDone: boolean): RawPool {
  const conditions = [
    {
      type: 'Progressing',
      status: isDone ? 'False' : 'True',
      reason: isDone ? 'RolloutComplete' : 'RolloutInProgress',
    },
  ];
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name: 'web', uid: 'u', generation: 1, resourceVersion: `${resourceVersion}` },
    spec: { rollout: {} },
    status: { status: 200, nodeCount: 1, observedGeneration: 1, conditions },
  } as unknown as RawPool;
}

test('reports a completed rollout even if the timeout ends before the watch', async () => {
  const fake = new FakeClock();
  let late = () => {};
  const clock: Clock = {
    now: () => fake.now(),
    after(ms, callback) {
      if (ms === TIMEOUT_MS) late = callback;
      return fake.after(ms, callback);
    },
  };
  const source = new FakeSource();
  const states: string[] = [];
  const ended = followRollout(
    'web',
    { timeoutMs: TIMEOUT_MS, watch: true },
    {
      pools: {
        get: async () => pool(1, false),
        watchRaw: () => ({ source, transform: raw => raw as RawPool }),
        firstNames: async () => [],
      },
      nodes: { get: async () => undefined, list: async () => [] },
      dueNodes: async () => undefined,
      onState: ({ kind }) => void states.push(kind),
      ...{ clock, random: () => 0, log: () => {} },
    },
  );
  await flushPromises();
  const line = (type: string, object: RawPool) => ({ type, object });
  source.watches[0]?.send(line('ADDED', pool(1, false)), initialEnd(2));
  await flushPromises();
  assert.deepEqual(states, ['waiting']);
  source.watches[1]?.send(line('MODIFIED', pool(3, true)));
  late();
  assert.equal((await ended).kind, 'done');
});

/** A rollout without progress. `quiet` waits for 10 s and returns stderr. @param holderOf the lease, or throws */
async function quietRollout(t: TestContext, holderOf: () => string) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const source = new FakeSource();
  const record = () => ({ holder: holderOf(), renewed: new Date(0), durationSeconds: 15 });
  const cluster = {
    pools: {
      get: async () => pool(1, false),
      watchRaw: () => ({ source, transform: (raw: unknown) => raw as RawPool }),
    },
    nodes: { serverTime: () => new Date(0) },
  };
  const lease = () => ({ get: async () => ({ resourceVersion: '1', record: record() }) });
  const io = testIo();
  const flags = { watch: true, timeout: '0', revision: 0 };
  const ended = rolloutStatus('web', flags, { io } as unknown as Deps, { cluster, lease } as unknown as Connection);
  const line = (type: string, object: RawPool) => ({ type, object });
  await flushPromises();
  source.watches[0]?.send(line('ADDED', pool(1, false)), initialEnd(2));
  const quiet = async () => {
    await flushPromises();
    t.mock.timers.tick(10_000);
    await flushPromises();
    return io.stderrText();
  };
  const finish = () => {
    source.watches[1]?.send(line('MODIFIED', pool(3, true)));
    return ended;
  };
  return { quiet, finish };
}

test('warns once if the controller exits during the rollout', async t => {
  let holder = 'a';
  const { quiet, finish } = await quietRollout(t, () => holder);
  assert.equal(await quiet(), '');
  holder = '';
  const warned = await quiet();
  assert.match(warned, /^warning: no controller is running: .*\n$/);
  assert.equal(await quiet(), warned);
  assert.equal(await finish(), 0);
});

test('asks after a while whether a controller runs, if leases may not be read', async t => {
  const { quiet, finish } = await quietRollout(t, () => {
    throw new ForbiddenError('the user may not get leases', ['verb get on leases.coordination.k8s.io']);
  });
  const warned = await quiet();
  assert.match(warned, /^warning: no progress for 10 s: is a controller running\?; next: .*\n$/);
  assert.equal(await quiet(), warned);
  assert.equal(await finish(), 0);
});

test('wraps a state between words on a terminal, and keeps one line in a pipe', async () => {
  const [name = ''] = EKS;
  const raw = pool(1, false);
  const message = `30 of 40 nodes updated, 9 waiting, and 1 settling (${name})`;
  const [condition] = (raw.status as NodePoolStatus).conditions ?? [];
  Object.assign(condition ?? {}, { message });
  const cluster = { pools: { get: async () => raw }, nodes: {} };
  const shown = async (columns?: number) => {
    const io = testIo(columns === undefined ? {} : { stdoutIsTTY: true, columns });
    const flags = { watch: false, timeout: '0', revision: 0 };
    await rolloutStatus('web', flags, { io } as unknown as Deps, { cluster } as unknown as Connection);
    return io.stdoutText();
  };
  const whole = `Waiting for nodepool "web" rollout to finish: ${message}...\n`;
  assert.equal(await shown(), whole);
  const lines = (await shown(80)).split('\n');
  assert.ok(lines.every(line => line.length <= 80) && lines.join('').includes(`(${name})`), lines.join('\n'));
});
