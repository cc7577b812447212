import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sleep } from '../../../src/controller/clock.ts';
import { LeaderElector } from '../../../src/controller/leader-election.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { create, FakeLease, pair } from './fake-lease.ts';

describe('leader election', () => {
  test('the first candidate becomes leader and renews every 2 s; the second waits', async () => {
    const { clock, server, a, b } = await pair();
    assert.equal(a.elector.isLeader(), true);
    assert.deepEqual(a.events, ['started']);
    const first = server.lease?.record;
    assert.deepEqual([first?.holder, first?.durationSeconds, first?.transitions], ['a', 15, 0]);
    await clock.advance(60_000);
    assert.equal(server.writes.length, 31);
    assert.equal(server.lease?.record.acquired, first?.acquired);
    assert.equal(Number(server.lease?.record.renewed) - Number(first?.renewed), 60_000);
    assert.equal(b.elector.isLeader(), false);
    assert.deepEqual(b.events, []);
  });

  for (const network of ['down', 'silent'] as const) {
    test(`a leader whose network is ${network} stops leading 10 s after its last renewal, 5 s before another leads`, async () => {
      const { clock, server, a, b } = await pair();
      await clock.advance(4_000);
      a.state.network = network;
      await clock.advance(9_999);
      assert.equal(a.elector.isLeader(), true);
      await clock.advance(1);
      assert.equal(a.elector.isLeader(), false);
      assert.deepEqual(a.events, ['started', 'aborted']);
      assert.equal(a.end(), 'lost');
      await clock.advance(4_999);
      assert.equal(b.elector.isLeader(), false);
      await clock.advance(3_001);
      assert.equal(b.elector.isLeader(), true);
      assert.equal(server.lease?.record.transitions, 1);
    });
  }

  test('retries a hanging renewal after 5 s, and keeps the lease', async () => {
    const { clock, server, a } = await pair();
    await clock.advance(1_999);
    a.state.network = 'silent';
    await clock.advance(1);
    a.state.network = 'up';
    await clock.advance(5_000 + 2_000);
    assert.equal(server.writes.length, 2, 'the first, and the one after the hanging one');
    await clock.advance(10_000);
    assert.equal(a.elector.isLeader(), true);
    assert.deepEqual(a.events, ['started']);
  });

  test('a new leader follows a dead one within 18 s, whatever the random draw', async () => {
    for (const draw of [0, 0.3, 0.7, 0.999]) {
      for (const life of [100, 1_900, 2_500, 3_999]) {
        const { clock, a, b } = await pair(() => draw);
        await clock.advance(life);
        a.state.network = 'silent';
        await clock.advance(18_000);
        assert.equal(b.elector.isLeader(), true, `draw ${draw}, life ${life}`);
      }
    }
  });

  test('counts the renew deadline from the request, not from the response', async () => {
    const clock = new FakeClock();
    const { port } = new FakeLease().port();
    const elector = new LeaderElector({
      lease: 'kube-system/candidates',
      port: {
        ...port,
        create: record => sleep(clock, 3_000).then(() => port.create(record)),
        update: () => sleep(clock, 60_000).then(() => ({ kind: 'conflict' })),
      },
      identity: 'a',
      clock,
      wall: () => new Date(0),
      random: () => 0,
      log: () => {},
    });
    elector.run({ onStarted: () => {} });
    await clock.advance(9_999);
    assert.equal(elector.isLeader(), true);
    await clock.advance(1);
    assert.equal(elector.isLeader(), false);
  });

  test('takes a lease without holder at once, whatever its duration', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const date = clock.wall();
    server.write({ holder: '', durationSeconds: 15, acquired: date, renewed: date, transitions: 1 }, undefined);
    const a = create(server, clock, 'a');
    await flushPromises();
    assert.equal(a.elector.isLeader(), true);
  });

  test('the leader recreates a deleted lease, and the others wait its duration', async () => {
    for (const lives of [true, false]) {
      const { clock, server, a, b } = await pair();
      await clock.advance(4_000);
      if (!lives) a.state.network = 'silent';
      server.remove();
      for (let second = 0; second < 14; second++) {
        await clock.advance(1_000);
        assert.equal(b.elector.isLeader(), false, `after ${second} s`);
      }
      await clock.advance(4_000);
      assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [lives, !lives]);
    }
  });

  test('metadata writes of another client do not extend the lease of a dead leader', async () => {
    const { clock, server, a, b } = await pair();
    a.state.network = 'silent';
    for (let second = 0; second < 20; second += 5) {
      server.touch();
      await clock.advance(5_000);
    }
    assert.equal(b.elector.isLeader(), true);
  });

  test('a candidate that lost the lease does not write it when it stops', async () => {
    const { clock, server, a } = await pair();
    a.state.network = 'down';
    await clock.advance(10_000);
    a.state.network = 'up';
    await a.elector.stop({ release: true });
    assert.equal(server.writes.length, 1);
  });

  test('a response after the end makes no candidate leader again', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const { port } = server.port();
    const held = Promise.withResolvers<void>();
    let updates = 0;
    const elector = new LeaderElector({
      lease: 'kube-system/candidates',
      port: {
        ...port,
        update: async (record, version) => {
          updates += 1;
          await held.promise;
          return port.update(record, version);
        },
      },
      identity: 'a',
      clock,
      wall: clock.wall,
      random: () => 0,
      log: () => {},
    });
    elector.run({ onStarted: () => {} });
    await clock.advance(10_000);
    assert.equal(updates, 2);
    assert.equal(elector.isLeader(), false);
    held.resolve();
    await flushPromises();
    assert.equal(elector.isLeader(), false);
  });

  test('the next renewal succeeds after a lost response', async () => {
    const { clock, server, a } = await pair();
    a.state.network = 'answers are lost';
    await clock.advance(2_000);
    a.state.network = 'up';
    await clock.advance(20_000);
    assert.equal(a.elector.isLeader(), true);
    assert.equal(server.lease?.record.transitions, 0);
    assert.equal(a.log.length, 1);
  });

  test('a lease with another holder is lost at once, and a deleted lease is recreated', async () => {
    const { clock, server, a } = await pair();
    server.remove();
    await clock.advance(2_000);
    assert.equal(a.elector.isLeader(), true);
    const { lease } = server;
    assert.ok(lease);
    server.write({ ...lease.record, holder: 'thief' }, lease.resourceVersion);
    await clock.advance(2_000);
    assert.equal(a.elector.isLeader(), false);
    assert.equal(a.end(), 'lost');
  });

  test('stop() releases the lease after the callbacks; the next leader follows within 3 s', async () => {
    const { clock, server, a, b } = await pair(() => 0.999);
    await clock.advance(5_000);
    await a.elector.stop({ release: true });
    assert.deepEqual(a.events, ['started', 'aborted']);
    assert.deepEqual([a.end(), a.elector.isLeader()], ['stopped', false]);
    assert.equal(server.lease?.record.holder, '');
    await clock.advance(3_000);
    assert.equal(b.elector.isLeader(), true);
  });

  test('stop() releases the lease even after it aborted a renewal that the server applied', async () => {
    const { clock, server, a } = await pair();
    a.state.network = 'answers are lost';
    await clock.advance(2_000);
    a.state.network = 'up';
    await a.elector.stop({ release: true });
    assert.equal(server.lease?.record.holder, '');
  });

  test('stop() without release lets the lease expire; a stopping candidate writes nothing', async () => {
    const { server, a, b } = await pair();
    await b.elector.stop({ release: true });
    await a.elector.stop({ release: false });
    assert.deepEqual(server.writes, ['a@1']);
    assert.deepEqual([a.elector.isLeader(), a.end(), b.end(), b.events.length], [false, 'stopped', 'stopped', 0]);
  });
});
