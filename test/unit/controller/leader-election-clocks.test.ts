/** Durations count on the local clock since the local observation, as in client-go, never from a time in the Lease. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { create, FakeLease, pair } from './fake-lease.ts';
import { ProcessClock } from './process-clock.ts';
import { seeded } from './random.ts';

const HOUR = 3_600_000;

describe('leader election with skewed clocks', () => {
  test('counts the lease duration from the change it observed, not from the time of day', async () => {
    const clock = new FakeClock();
    const server = new FakeLease();
    const longAgo = new Date(0);
    server.write({ holder: 'x', durationSeconds: 15, acquired: longAgo, renewed: longAgo, transitions: 3 }, undefined);
    const a = create(server, clock, 'a');
    await clock.advance(14_999);
    assert.equal(a.elector.isLeader(), false);
    await clock.advance(1);
    assert.equal(a.elector.isLeader(), true);
    assert.equal(server.lease?.record.transitions, 4);
  });

  for (const [what, aheadMs] of [
    ['ahead, so that every renewal looks an hour old', HOUR],
    ['behind, so that every renewal comes from the future', -HOUR],
    ['30 years behind', -30 * 365 * 24 * HOUR],
  ] as const) {
    test(`a candidate whose time of day is ${what} takes an expired lease in time, and no renewed lease`, async () => {
      const { clock, server, a, b } = await pair(() => 0, { b: { aheadMs, origin: 12_345 } });
      for (let second = 0; second < 60; second++) {
        await clock.advance(1_000);
        assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false], `after ${second} s`);
      }
      a.state.network = 'down';
      await clock.advance(14_999);
      assert.equal(b.elector.isLeader(), false);
      await clock.advance(3_001);
      assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [false, true]);
      assert.equal(server.lease?.record.holder, 'b');
    });
  }

  test('a leader whose time of day is wrong keeps leading, and writes that time', async () => {
    const { clock, server, a, b } = await pair(() => 0, { a: { aheadMs: -HOUR, origin: 99_999 } });
    await clock.advance(60_000);
    assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false]);
    assert.equal(server.lease?.record.renewed.getTime(), a.clock.wall().getTime());
  });

  test('ignores a time of day that is set back, and counts one that is set forward as elapsed time', async () => {
    const { clock, a, b } = await pair();
    await clock.advance(3_000);
    a.clock.setAhead(-HOUR);
    await clock.advance(20_000);
    assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false]);
    b.clock.setAhead(HOUR);
    await clock.advance(20_000);
    assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false]);
    a.clock.setAhead(0);
    assert.equal(a.elector.isLeader(), false);
  });

  test('has one leader with clocks that run a tenth too slow and too fast', async () => {
    const { clock, a, b } = await pair(() => 0, { a: { speed: 0.9 }, b: { speed: 1.1 } });
    await clock.advance(60_000);
    assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false]);
    a.state.network = 'silent';
    let leaderless = 0;
    for (let step = 0; step < 180; step++) {
      await clock.advance(100);
      const leaders = [a, b].filter(({ elector }) => elector.isLeader()).length;
      assert.ok(leaders <= 1, `after ${step / 10} s`);
      if (leaders === 0) leaderless += 100;
    }
    assert.equal(b.elector.isLeader(), true);
    assert.ok(leaderless >= 1_000, `${leaderless} ms between them`);
  });

  test('a process halted past its lease is no leader before any timer fires, and writes nothing', async () => {
    const { clock, server, a, b } = await pair();
    await clock.advance(3_000);
    a.clock.halt();
    await clock.advance(18_000);
    assert.equal(b.elector.isLeader(), true);
    assert.equal(a.elector.isLeader(), false);
    a.clock.resume();
    assert.equal(a.elector.isLeader(), false);
    await clock.advance(60_000);
    assert.equal(a.end(), 'lost');
    assert.deepEqual(a.events, ['started', 'aborted']);
    assert.equal(b.elector.isLeader(), true);
    const later = server.writes.slice(server.writes.findIndex(write => write.startsWith('b')));
    assert.deepEqual(
      later.filter(write => write.startsWith('a')),
      [],
    );
  });

  test('a process halted for less than 10 s keeps leading', async () => {
    const { clock, server, a, b } = await pair();
    await clock.advance(2_000);
    a.clock.halt();
    await clock.advance(9_999);
    a.clock.resume();
    assert.equal(a.elector.isLeader(), true);
    await clock.advance(60_000);
    assert.equal(a.elector.isLeader(), true);
    assert.equal(b.elector.isLeader(), false);
    assert.equal(server.lease?.record.transitions, 0);
  });

  test('a machine that slept loses the lease by its time of day', async () => {
    const clock = new ProcessClock(new FakeClock());
    const { elector } = create(new FakeLease(), clock, 'a');
    await flushPromises();
    assert.equal(elector.isLeader(), true);
    clock.setAhead(HOUR);
    assert.equal(elector.isLeader(), false);
  });

  test('never has two leaders among three candidates with random networks, halts and clocks', async () => {
    let led = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = seeded(seed);
      const clock = new FakeClock();
      const server = new FakeLease();
      const candidates = ['a', 'b', 'c'].map(name => {
        const skew = { origin: random() * 1e6, aheadMs: (random() - 0.5) * 24 * HOUR, speed: 0.9 + random() * 0.2 };
        const own = new ProcessClock(clock, skew);
        return { ...create(server, own, name, random), clock: own };
      });
      for (let step = 0; step < 60; step++) {
        const candidate = candidates[Math.floor(random() * candidates.length)];
        assert.ok(candidate);
        const networks = ['up', 'up', 'down', 'silent', 'answers are lost'] as const;
        candidate.state.network = networks[Math.floor(random() * 5)] ?? 'up';
        if (random() < 0.2) candidate.clock.halt();
        else candidate.clock.resume();
        if (random() < 0.05) candidate.clock.setAhead((random() - 0.5) * 24 * HOUR);
        await clock.advance(random() * 3_000);
        const leaders = candidates.filter(({ elector }) => elector.isLeader());
        assert.ok(leaders.length <= 1, `seed ${seed}, step ${step}`);
        led += leaders.length;
      }
    }
    assert.ok(led > 600, `somebody is leader in ${led} of 3600 steps`);
  });
});
