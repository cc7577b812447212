import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RecordedEvent, Recorder, type SinkResult } from '../../../src/controller/recorder.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';

const WRITTEN: SinkResult = { kind: 'written' };
const FAILED: SinkResult = { kind: 'failed', message: 'overloaded', retryAfterMs: undefined };

/** The sink records requests and responds with `answer`. */
function create(answer: (verb: string, event: RecordedEvent) => SinkResult | Promise<SinkResult> = () => WRITTEN) {
  const clock = new FakeClock();
  const [asked, log]: [string[], string[]] = [[], []];
  const call = (verb: string) => async (event: RecordedEvent) => {
    asked.push(`${verb} ${event.id} ${event.reason} x${event.count}`);
    return answer(verb, event);
  };
  let ids = 0;
  const recorder = new Recorder({
    sink: { create: call('create'), patch: call('patch') },
    clock,
    wall: clock.wall,
    random: () => 0,
    newId: () => `id${++ids}`,
    log: (level, message) => level === 'warning' && log.push(message),
  });
  const tell = (reason: string, name = 'a') =>
    recorder.event({
      regarding: { apiVersion: 'v1', kind: 'Node', name },
      type: 'Normal',
      reason,
      action: 'Act',
      note: 'n',
    });
  return { clock, recorder, tell, asked, log };
}

describe('the event recorder', () => {
  test('creates an event once and patches its count, with one write for all calls of a tick', async () => {
    const { tell, asked } = create();
    for (let times = 0; times < 3; times++) tell('R');
    tell('S');
    await flushPromises();
    assert.deepEqual(asked, ['create id1 R x3', 'create id2 S x1']);
    tell('R');
    await flushPromises();
    assert.deepEqual(asked.slice(2), ['patch id1 R x4']);
  });

  test('retries 429, 5xx and throws with the same id, and obeys Retry-After', async () => {
    const answers = [FAILED, { ...FAILED, retryAfterMs: 5_000 } as const, new Error('no network'), WRITTEN];
    const { clock, tell, asked, log } = create(() => {
      const answer = answers.shift() ?? WRITTEN;
      if (answer instanceof Error) throw answer;
      return answer;
    });
    tell('R');
    await clock.advance(799);
    assert.equal(asked.length, 1);
    await clock.advance(1);
    assert.equal(asked.length, 2);
    await clock.advance(4_999);
    assert.equal(asked.length, 2);
    await clock.advance(1);
    assert.equal(asked.length, 3);
    await clock.advance(3_200);
    assert.deepEqual(new Set(asked), new Set(['create id1 R x1']));
    assert.equal(asked.length, 4);
    assert.deepEqual(log, []);
  });

  test('writes the new count of an event that repeats during retries, and keeps the order', async () => {
    let broken = true;
    const { clock, tell, asked } = create(() => (broken ? FAILED : WRITTEN));
    tell('R');
    tell('S');
    await flushPromises();
    tell('R');
    broken = false;
    await clock.advance(800);
    assert.deepEqual(asked, ['create id1 R x1', 'create id1 R x2', 'create id2 S x1', 'patch id1 R x2']);
  });

  test('creates a deleted Event again, without looping when it keeps disappearing', async () => {
    const { tell, asked } = create(verb => (verb === 'patch' ? { kind: 'missing' } : WRITTEN));
    tell('R');
    await flushPromises();
    tell('R');
    await flushPromises();
    assert.deepEqual(asked, ['create id1 R x1', 'patch id1 R x2', 'create id2 R x2']);
    const gone = create(() => ({ kind: 'missing' }));
    gone.tell('R');
    await flushPromises();
    assert.equal(gone.asked.length, 12);
    assert.match(gone.log[0] ?? '', /deleted repeatedly/);
  });

  test('drops a refused event at once and a failing event after 12 attempts, and continues', async () => {
    const refusing = create((_, { reason }) => (reason === 'R' ? { kind: 'refused', message: 'bad reason' } : WRITTEN));
    refusing.tell('R');
    refusing.tell('S');
    await flushPromises();
    assert.equal(refusing.asked.length, 2);
    assert.deepEqual(refusing.log, ['event R of a dropped: bad reason']);

    const failing = create((_, { reason }) => (reason === 'R' ? FAILED : WRITTEN));
    failing.tell('R');
    failing.tell('S');
    await failing.clock.advance(600_000);
    assert.equal(failing.asked.filter(text => text.includes(' R ')).length, 12);
    assert.match(failing.asked.at(-1) ?? '', /create id2 S/);
    assert.deepEqual(failing.log, ['event R of a dropped: overloaded']);
  });

  test('queues at most 1,000 events, and still counts repeats of queued events', async () => {
    const { recorder, tell, log } = create(() => new Promise(() => {}));
    for (let index = 0; index < 1_005; index++) tell('R', `node-${index}`);
    assert.equal(log.length, 5);
    tell('R', 'node-7');
    assert.equal(log.length, 5);
    recorder.stop();
  });

  test('flush() waits for all events or its timeout, and stop() drops the others', async () => {
    const gate = Promise.withResolvers<SinkResult>();
    const { clock, recorder, tell, asked, log } = create(() => gate.promise);
    assert.equal(await recorder.flush(1_000), true);
    tell('R');
    tell('S');
    const early = recorder.flush(1_000);
    await clock.advance(1_000);
    assert.equal(await early, false);
    const late = recorder.flush(1_000);
    gate.resolve(WRITTEN);
    assert.equal(await late, true);
    assert.equal(asked.length, 2);
    assert.equal(clock.pending, 0);
    recorder.stop();
    tell('T');
    await flushPromises();
    assert.equal(asked.length, 2);
    assert.deepEqual(log, []);
  });

  test('stop() ends a retry delay', async () => {
    const { clock, recorder, tell, asked, log } = create(() => FAILED);
    for (const reason of ['R', 'S', 'T']) tell(reason);
    await flushPromises();
    recorder.stop();
    assert.equal(await recorder.flush(1_000), true);
    await clock.advance(600_000);
    assert.equal(asked.length, 1);
    assert.deepEqual(log, ['2 events dropped: shutting down', 'event R of a dropped: overloaded']);
  });
});
