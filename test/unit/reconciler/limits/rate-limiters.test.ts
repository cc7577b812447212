import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../src/nodepool/plan/plan.ts';
import { WriteRateLimiter } from '../../../../src/reconciler/limits/rate-limiters.ts';
import { FakeClock } from '../../controller/fake-clock.ts';

const spec: Change = { kind: 'label', key: 'tier', action: 'change', from: 'a', to: 'b', reason: 'spec' };
const drift: Change = { ...spec, reason: 'drift' };
const error = new NodepoolError('cluster', 'something else keeps changing it');

function create() {
  const clock = new FakeClock();
  const limiter = new WriteRateLimiter(clock);
  /** Writes when allowed, checked every 100 ms for so long; returns the times. */
  const run = (ms: number, changes: Change[], isAltered = false) => {
    const times: number[] = [];
    for (const end = clock.now() + ms; clock.now() < end; clock.freeze(100)) {
      const state = limiter.check('uid', changes);
      if (state.kind === 'limit') limiter.limited('uid', error, state.isContested);
      if (state.kind !== 'free') continue;
      limiter.written('uid', changes);
      if (isAltered) limiter.altered('uid', changes, error);
      times.push(clock.now());
    }
    return times;
  };
  return { clock, limiter, run };
}

test('allows 10 writes to a node within a minute, separately for each node', () => {
  const { clock, limiter, run } = create();
  const times = run(300_000, [spec]);
  for (const from of times) assert.ok(times.filter(at => at >= from && at < from + 60_000).length <= 10);
  assert.equal(times.length, 50);
  assert.equal(limiter.check('other', [spec]).kind, 'free');
  clock.freeze(60_000);
  assert.equal(limiter.check('uid', [spec]).kind, 'free');
});

test('allows a contested node one write a minute after ten, and reports it as contested', () => {
  const { clock, limiter, run } = create();
  const times = run(300_000, [drift]);
  assert.equal(times.length, 10 + 4);
  assert.equal(limiter.check('uid', [drift]).kind, 'throttled');
  clock.freeze(60_000);
  assert.equal(limiter.check('uid', [drift]).kind, 'free');
  limiter.written('uid', [drift]);
  clock.freeze(4_000);
  assert.deepEqual(limiter.contested('uid'), { error, ms: 6_000 });
  clock.freeze(6_000);
  assert.equal(limiter.contested('uid'), undefined);
  assert.equal(limiter.check('uid', [drift]).kind, 'free', 'the next ten are free again');
});

test('repeats altered writes after 1 s, 2 s, 4 s and so on, at most a minute apart', () => {
  const { run } = create();
  const times = run(300_000, [drift], true);
  const delays = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1000));
  assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('does not delay another write after an altered one', () => {
  const { limiter } = create();
  limiter.written('uid', [drift]);
  assert.equal(limiter.altered('uid', [drift], error), 1000);
  assert.deepEqual(limiter.check('uid', [drift]), { kind: 'throttled', error, ms: 1000 });
  assert.equal(limiter.check('uid', [{ ...drift, to: 'c' }]).kind, 'free');
  limiter.written('uid', [{ ...drift, to: 'c' }]);
  limiter.unaltered('uid');
  assert.equal(limiter.check('uid', [drift]).kind, 'free');
});

test('forgets a node two minutes after its last write', () => {
  /** The delay after the third altered write of `uid`, the second one `ms` ago; others are written in between. */
  const delayAfter = (ms: number) => {
    const { clock, limiter } = create();
    const alter = () => {
      limiter.written('uid', [drift]);
      return limiter.altered('uid', [drift], error);
    };
    limiter.written('busy', [drift]);
    alter();
    alter();
    clock.freeze(60_000);
    limiter.written('busy', [drift]);
    clock.freeze(ms - 60_000);
    limiter.written('another', [drift]);
    return alter();
  };
  assert.deepEqual([delayAfter(60_000), delayAfter(119_999), delayAfter(120_000)], [4000, 4000, 1000]);
});

test('marks a node as contested when most of its writes repair changes of others', () => {
  const stripped: Change = { ...spec, reason: 'unmanaged' };
  for (const [repairs, changes, isContested] of [
    [5, [drift], false],
    [6, [drift], true],
    [6, [stripped], true],
    [6, [spec, drift], true],
  ] as const) {
    const { limiter } = create();
    for (let write = 0; write < 10; write++) limiter.written('uid', write < repairs ? changes : [spec]);
    assert.deepEqual(limiter.check('uid', [spec]), { kind: 'limit', isContested }, `${repairs} repairs`);
  }
});

test('keeps a node contested after a write for a change of the pool', () => {
  const { clock, limiter } = create();
  for (let write = 0; write < 10; write++) limiter.written('uid', [drift]);
  assert.equal(limiter.limited('uid', error, true), 60_000);
  clock.freeze(60_000);
  limiter.written('uid', [spec]);
  assert.deepEqual(limiter.check('uid', [spec]), { kind: 'limit', isContested: true });
});

test('delays a node at its limit until the first of its ten writes is a minute old', () => {
  const { clock, limiter } = create();
  clock.freeze(5000);
  for (let write = 0; write < 10; write++) {
    limiter.written('uid', [spec]);
    clock.freeze(1000);
  }
  assert.equal(limiter.limited('uid', error, false), 50_000);
  assert.deepEqual(limiter.check('uid', [spec]), { kind: 'throttled', error, ms: 50_000 });
});

test('does not delay a node that was not written', () => {
  const { limiter } = create();
  limiter.unaltered('uid');
  assert.deepEqual([limiter.limited('uid', error, true), limiter.altered('uid', [drift], error)], [0, 1000]);
  assert.deepEqual([limiter.check('uid', [drift]), limiter.contested('uid')], [{ kind: 'free' }, undefined]);
});
