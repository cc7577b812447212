/** What a candidate requests, logs and reports to its callers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sleep } from '../../../src/controller/clock.ts';
import { type ElectorOptions, LeaderElector } from '../../../src/controller/leader-election.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { FakeLease } from './fake-lease.ts';

/** A candidate whose requests and log are recorded. */
function candidate(server: FakeLease, clock: FakeClock, options: Partial<ElectorOptions> = {}) {
  const { port, state } = server.port();
  const [requests, reported, log, events]: [string[], boolean[], string[], string[]] = [[], [], [], []];
  const asked = <T>(request: string, answer: T): T => {
    requests.push(request);
    return answer;
  };
  const elector = new LeaderElector({
    port: {
      get: () => asked('get', port.get()),
      create: record => asked('create', port.create(record)),
      update: (record, version) => asked('update', port.update(record, version)),
    },
    lease: 'kube-system/candidates',
    identity: 'a',
    clock,
    wall: clock.wall,
    random: () => 0,
    log: (level, message) => log.push(`${level}: ${message}`),
    onLeaderChange: isLeader => reported.push(isLeader),
    ...options,
  });
  const run = () =>
    elector.run({
      onStarted: signal => {
        events.push('started');
        signal.addEventListener('abort', () => events.push('aborted'));
      },
    });
  return { elector, state, requests, reported, log, events, run };
}

/** A Lease that another candidate renews every second. */
function held(clock: FakeClock) {
  const server = new FakeLease();
  const date = clock.wall();
  const record = { holder: 'x', durationSeconds: 15, acquired: date, renewed: date, transitions: 1 };
  server.write(record, undefined);
  const renew = () => server.write({ ...record, renewed: clock.wall() }, server.lease?.resourceVersion);
  return { server, renew };
}

describe('a candidate', () => {
  test('requires an identity', () => {
    assert.throws(() => candidate(new FakeLease(), new FakeClock(), { identity: '' }), {
      message: 'a candidate needs an identity',
    });
  });

  for (const [draw, asks] of [
    [0, 31],
    [0.999, 21],
  ] as const) {
    test(`polls every 2 to 3 s: ${asks} times in a minute with a random draw of ${draw}`, async () => {
      const clock = new FakeClock();
      const { server, renew } = held(clock);
      const { requests, run, elector } = candidate(server, clock, { random: () => draw });
      run();
      for (let second = 0; second < 60; second++) {
        await clock.advance(1_000);
        renew();
      }
      assert.deepEqual(requests, new Array(asks).fill('get'));
      assert.equal(elector.isLeader(), false);
    });
  }

  test('logs once which lease it waits for, and who holds it', async () => {
    const clock = new FakeClock();
    const { server } = held(clock);
    const { log, run } = candidate(server, clock);
    run();
    await clock.advance(15_000);
    assert.deepEqual(log, ['info: waiting for lease kube-system/candidates, held by x', 'info: became leader: a']);
  });

  test('reports when it is leader, when it has lost the lease, and why a renewal failed', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const { state, reported, log, run } = candidate(server, clock);
    const end = run();
    await flushPromises();
    assert.deepEqual([reported, log], [[false, true], ['info: became leader: a']]);
    state.network = 'down';
    await clock.advance(10_000);
    assert.equal(await end, 'lost');
    assert.deepEqual(reported, [false, true, false]);
    assert.deepEqual(log.slice(1, 2), ['warning: the lease was not renewed: no network']);
    assert.deepEqual(log.slice(-1), ['error: a lost the lease']);
  });

  test('reports "stopped", not a lost lease, when it is stopped while it is leader', async () => {
    const { elector, reported, log, events, run } = candidate(new FakeLease(), new FakeClock());
    const end = run();
    await flushPromises();
    await elector.stop({ release: false });
    assert.equal(await end, 'stopped');
    assert.deepEqual(
      [reported, events],
      [
        [false, true, false],
        ['started', 'aborted'],
      ],
    );
    assert.deepEqual(log, ['info: became leader: a']);
  });

  test('runs once, however often run() is called', async () => {
    const { events, run } = candidate(new FakeLease(), new FakeClock());
    assert.equal(run(), run());
    await flushPromises();
    assert.deepEqual(events, ['started']);
  });

  test('renews its lease with one request', async () => {
    const clock = new FakeClock();
    const { requests, run } = candidate(new FakeLease(), clock);
    run();
    await clock.advance(10_000);
    assert.deepEqual(requests, ['get', 'create', ...new Array(5).fill('update')]);
  });

  test('keeps acquireTime and leaseTransitions while it renews', async () => {
    const clock = new FakeClock();
    const { server } = held(clock);
    const { run } = candidate(server, clock);
    run();
    await clock.advance(15_000);
    const acquired = server.lease?.record.acquired;
    assert.deepEqual([server.lease?.record.holder, server.lease?.record.transitions], ['a', 2]);
    assert.equal(acquired?.getTime(), clock.wall().getTime());
    await clock.advance(10_000);
    assert.deepEqual([server.lease?.record.acquired, server.lease?.record.transitions], [acquired, 2]);
  });

  test('releases with an empty holder and a duration of 1 s, and keeps a lease of another holder', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const { elector, requests, run } = candidate(server, clock);
    run();
    await clock.advance(3_000);
    await elector.stop({ release: true });
    assert.deepEqual([server.lease?.record.holder, server.lease?.record.durationSeconds], ['', 1]);
    assert.equal(server.lease?.record.renewed.getTime(), clock.wall().getTime());

    const other = candidate(server, clock);
    other.run();
    await flushPromises();
    const { lease } = server;
    assert.ok(lease);
    server.write({ ...lease.record, holder: 'thief' }, lease.resourceVersion);
    await other.elector.stop({ release: true });
    assert.equal(server.lease?.record.holder, 'thief');
    assert.deepEqual([requests.length, other.requests.slice(-2)], [4, ['update', 'get']]);
  });

  test('reports a failed release, and ends', async () => {
    const { elector, state, log, run } = candidate(new FakeLease(), new FakeClock());
    run();
    await flushPromises();
    state.network = 'down';
    await elector.stop({ release: true });
    assert.deepEqual(log.slice(-1), ['warning: the lease was not released: no network']);
    assert.equal(elector.isLeader(), false);
  });

  test('waits for a release only as long as it is leader', async () => {
    const clock = new FakeClock();
    const { elector, state, run } = candidate(new FakeLease(), clock);
    run();
    await clock.advance(1_000);
    state.network = 'silent';
    const stopped = Promise.race([elector.stop({ release: true }).then(() => true), sleep(clock, 60_000)]);
    await clock.advance(9_000);
    assert.equal(await Promise.race([stopped, flushPromises()]), true);
  });

  for (const network of ['down', 'silent', 'answers are lost'] as const) {
    test(`starts nothing while its network is ${network}`, async () => {
      const clock = new FakeClock();
      const { elector, state, reported, events, run } = candidate(new FakeLease(), clock);
      state.network = network;
      run();
      for (let second = 0; second < 30; second++) {
        await clock.advance(1_000);
        assert.equal(elector.isLeader(), false, `after ${second + 1} s`);
      }
      assert.deepEqual([reported, events], [[false], []]);
    });
  }

  test('does not reacquire a lost lease when the network returns in the last second', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const { elector, state, run } = candidate(server, clock);
    const end = run();
    await flushPromises();
    state.network = 'down';
    await clock.advance(9_000);
    state.network = 'up';
    await clock.advance(1_000);
    assert.equal(elector.isLeader(), false);
    assert.deepEqual([await end, server.writes], ['lost', ['a@1']]);
  });

  test('releases nothing, and reports nothing, when the lease was deleted', async () => {
    const server = new FakeLease();
    const { elector, log, run } = candidate(server, new FakeClock());
    run();
    await flushPromises();
    server.remove();
    await elector.stop({ release: true });
    assert.deepEqual([server.lease, log], [undefined, ['info: became leader: a']]);
  });

  test('never becomes leader when it is stopped before the first response', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const { elector, state, reported, events, run } = candidate(server, clock);
    state.network = 'silent';
    const end = run();
    await flushPromises();
    await elector.stop({ release: true });
    assert.deepEqual([await end, reported, events, server.writes], ['stopped', [false], [], []]);
  });
});
