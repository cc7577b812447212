import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { createUsagePoll } from '../../../src/view/view-usage.ts';
import { FakeClock } from '../controller/fake-clock.ts';

const NOTHING = { byNode: new Map(), problems: [] };
/** Runs the callbacks of resolved promises. */
const flushPromises = () => new Promise(resolve => setImmediate(resolve));

test('reads pods only while visible, at most every 30 s and a twentieth of the time', async () => {
  const clock = new FakeClock();
  let [reads, changes, takes] = [0, 0, 0];
  const demand = async () => {
    reads += 1;
    clock.freeze(takes);
    return NOTHING;
  };
  const nodeUsage = async () => ({ kind: 'absent' as const });
  const poll = createUsagePoll({ pods: { demand }, nodeUsage, clock, onChange: () => void changes++ });
  await clock.advance(100_000);
  assert.equal(reads, 0);
  poll.setShown(true);
  poll.setShown(true);
  await flushPromises();
  assert.deepEqual([reads, changes, poll.current().kind, poll.version()], [1, 1, 'read', 1]);
  await clock.advance(29_000);
  assert.equal(reads, 1);
  takes = 10_000;
  await clock.advance(1_000);
  await flushPromises();
  assert.equal(reads, 2);
  await clock.advance(209_000);
  assert.equal(reads, 2);
  await clock.advance(1_000);
  await flushPromises();
  assert.equal(reads, 3);
  poll.setShown(false);
  await clock.advance(1_000_000);
  await flushPromises();
  assert.equal(reads, 3);
});

test('keeps an error of the cluster until the next read', async () => {
  const clock = new FakeClock();
  let error: Error | undefined = new NodepoolError('cluster', 'cannot list pods');
  const demand = async () => {
    if (error !== undefined) throw error;
    return NOTHING;
  };
  const nodeUsage = async () => ({ kind: 'absent' as const });
  const poll = createUsagePoll({ pods: { demand }, nodeUsage, clock, onChange() {} });
  poll.setShown(true);
  await flushPromises();
  assert.deepEqual(poll.current(), { kind: 'failed', message: 'cannot list pods' });
  error = undefined;
  await clock.advance(30_000);
  await flushPromises();
  assert.equal(poll.current().kind, 'read');
});

test('reads no sooner when it is hidden and shown again', async () => {
  const clock = new FakeClock();
  let [reads, takes] = [0, 10_000];
  const demand = async () => {
    reads += 1;
    clock.freeze(takes);
    return NOTHING;
  };
  const nodeUsage = async () => ({ kind: 'absent' as const });
  const poll = createUsagePoll({ pods: { demand }, nodeUsage, clock, onChange() {} });
  const advance = async (ms: number) => {
    await clock.advance(ms);
    await flushPromises();
  };
  poll.setShown(true);
  await flushPromises();
  takes = 0;
  for (let i = 0; i < 5; i++) {
    poll.setShown(false);
    await advance(1_000);
    poll.setShown(true);
    await flushPromises();
  }
  assert.deepEqual([reads, poll.current().kind], [1, 'read'], 'it keeps the values');
  await advance(194_000);
  assert.equal(reads, 1);
  await advance(1_000);
  assert.equal(reads, 2);
  poll.setShown(false);
  await advance(31_000);
  assert.equal(reads, 2);
  poll.setShown(true);
  assert.equal(reads, 3, 'the interval is over: at once');
  poll.setShown(false);
  poll.setShown(true);
  await flushPromises();
  await advance(29_000);
  assert.equal(reads, 3);
  await advance(1_000);
  assert.equal(reads, 4);
  poll.setShown(false);
  assert.equal(clock.pending, 0);
});

test('waits for usage 5 s longer than for the pods, as top does', async () => {
  const clock = new FakeClock();
  const demand = () => new Promise<typeof NOTHING>(resolve => void clock.after(20_000, () => resolve(NOTHING)));
  const nodeUsage = (signal: AbortSignal) =>
    new Promise<{ kind: 'failed'; reason: string }>(resolve => {
      signal.addEventListener('abort', () => resolve({ kind: 'failed', reason: 'late' }));
    });
  const poll = createUsagePoll({ pods: { demand }, nodeUsage, clock, onChange() {} });
  poll.setShown(true);
  await clock.advance(24_999);
  assert.equal(poll.current().kind, 'reading');
  await clock.advance(1);
  assert.deepEqual(poll.current(), { kind: 'read', demand: NOTHING, used: { kind: 'failed', reason: 'late' } });
});
