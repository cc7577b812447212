import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Manager, type ManagerEnd, type ManagerOptions } from '../../../src/controller/manager.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

/** Parts that record their calls, and wait where the test says. */
function create(options: { elected?: boolean } = {}) {
  const clock = new FakeClock();
  const done: string[] = [];
  const synced = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<void>();
  const lead = Promise.withResolvers<void>();
  const election = Promise.withResolvers<'lost' | 'stopped'>();
  let leader = false;
  const note = (text: string) => {
    done.push(text);
  };
  const elector: ManagerOptions['elector'] = {
    run: ({ onStarted }) => {
      note('campaign');
      lead.promise.then(() => onStarted(new AbortController().signal));
      return election.promise;
    },
    stop: async ({ release }) => note(release ? 'lease released' : 'lease left'),
    isLeader: () => leader,
  };
  const manager = new Manager({
    caches: [{ start: () => note('cache'), synced: () => synced.promise, stop: async () => note('cache stopped') }],
    controllers: [
      {
        start: () => note('controller'),
        stop: () => {
          note('controller stopping');
          return finished.promise;
        },
        abort: async () => note('controller aborted'),
      },
    ],
    recorder: {
      flush: async ms => {
        note(`flushed within ${ms}`);
        return true;
      },
      stop: () => note('recorder stopped'),
    },
    ...(options.elected ? { elector } : {}),
    clock,
    log: () => {},
  });
  let end: ManagerEnd | undefined;
  manager.run().then(how => {
    end = how;
  });
  const setLeader = (isLeader: boolean) => {
    leader = isLeader;
  };
  return { clock, manager, done, synced, finished, lead, election, setLeader, end: () => end };
}

test('stops all parts when one throws at its start, and reports the error', async () => {
  const done: string[] = [];
  const manager = new Manager({
    caches: [{ start: () => {}, synced: async () => {}, stop: async () => void done.push('cache stopped') }],
    controllers: [
      {
        start: () => {
          throw new Error('a bug');
        },
        stop: async () => {},
        abort: async () => void done.push('controller aborted'),
      },
    ],
    clock: new FakeClock(),
    log: () => {},
  });
  await assert.rejects(manager.run(), /a bug/);
  assert.deepEqual(done, ['controller aborted', 'cache stopped']);
});

const GRACEFUL = ['recorder stopped', 'lease released', 'cache stopped'];

describe('the manager', () => {
  test('starts caches, waits for them, campaigns, then starts controllers', async () => {
    const { manager, done, synced, lead } = create({ elected: true });
    await flushPromises();
    assert.deepEqual(done, ['cache']);
    assert.equal(manager.isReady, false);
    synced.resolve();
    await flushPromises();
    assert.deepEqual(done, ['cache', 'campaign']);
    assert.equal(manager.isReady, true);
    lead.resolve();
    await flushPromises();
    assert.deepEqual(done, ['cache', 'campaign', 'controller']);
  });

  test('the first stop finishes reconciles, then flushes events, then releases the lease', async () => {
    const { clock, manager, done, synced, lead, finished, end } = create({ elected: true });
    synced.resolve();
    lead.resolve();
    await flushPromises();
    done.length = 0;
    manager.stop();
    assert.equal(manager.isReady, false);
    await clock.advance(10_000);
    assert.deepEqual(done, ['controller stopping']);
    finished.resolve();
    await flushPromises();
    assert.deepEqual(done, ['controller stopping', 'flushed within 5000', ...GRACEFUL]);
    assert.equal(end(), 'stopped');
    assert.equal(clock.pending, 0);
  });

  test('the second stop ends at once and keeps the lease, as a reconcile is still in flight', async () => {
    const { manager, done, synced, lead, end } = create({ elected: true });
    synced.resolve();
    lead.resolve();
    await flushPromises();
    done.length = 0;
    manager.stop();
    manager.stop();
    await flushPromises();
    assert.equal(end(), 'aborted');
    assert.deepEqual(done, [
      'controller stopping',
      'recorder stopped',
      'controller aborted',
      'cache stopped',
      'lease left',
    ]);
  });

  test('the first stop becomes the second after 30 s', async () => {
    const { clock, manager, done, synced, end } = create();
    synced.resolve();
    await flushPromises();
    manager.stop();
    await clock.advance(29_999);
    assert.equal(end(), undefined);
    await clock.advance(1);
    assert.equal(end(), 'aborted');
    assert.ok(done.includes('controller aborted'));
  });

  test('a lost lease ends everything at once, without a release', async () => {
    const { done, synced, lead, election, end } = create({ elected: true });
    synced.resolve();
    lead.resolve();
    await flushPromises();
    done.length = 0;
    election.resolve('lost');
    await flushPromises();
    assert.equal(end(), 'lost');
    assert.deepEqual(done, ['recorder stopped', 'controller aborted', 'cache stopped', 'lease left']);
  });

  test('allows writes while it is leader, and always without leader election', () => {
    const { manager, setLeader } = create({ elected: true });
    assert.equal(manager.isLeader, false);
    setLeader(true);
    assert.equal(manager.isLeader, true);
    assert.equal(create().manager.isLeader, true);
  });

  test('starts no controller when stopped before the caches have synced or before it is leader', async () => {
    for (const when of ['unsynced', 'candidate']) {
      const { manager, done, synced, lead, finished, end } = create({ elected: true });
      finished.resolve();
      if (when === 'candidate') synced.resolve();
      await flushPromises();
      manager.stop();
      lead.resolve();
      await flushPromises();
      assert.equal(end(), 'stopped');
      assert.equal(done.includes('controller'), false);
    }
  });
});

test('restored() forbids writes, ends after the reconciles in flight, and keeps the lease', async () => {
  const { manager, done, synced, lead, setLeader, election, end } = create({ elected: true });
  synced.resolve();
  await flushPromises();
  lead.resolve();
  setLeader(true);
  await flushPromises();
  assert.equal(manager.isLeader, true);
  manager.restored();
  assert.deepEqual([manager.isLeader, manager.isReady], [false, false]);
  await flushPromises();
  assert.deepEqual(done.slice(-4), ['recorder stopped', 'controller aborted', 'lease left', 'cache stopped']);
  assert.equal(end(), 'restored');
  election.resolve('stopped');
});

test('restored() before it is leader ends the process without starting controllers', async () => {
  const { manager, done, synced, lead, end } = create({ elected: true });
  synced.resolve();
  await flushPromises();
  manager.restored();
  lead.resolve();
  await flushPromises();
  assert.equal(end(), 'restored');
  assert.equal(done.includes('controller'), false);
});
