import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutProgress, stepsText } from '../../../src/nodepool/rollout.ts';
import { type RolloutNode, type RolloutTimes, rolloutStep, scaled } from '../../../src/nodepool/rollout-step.ts';
import type { RolloutStrategy } from '../../../src/nodepool/types.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const ago = (seconds: number) => NOW - seconds * 1000;
const LONG_AGO = ago(1e6);
const TIMES: RolloutTimes = { now: NOW, resumed: undefined, wasComplete: false, stopped: undefined };

const node = (name: string, more: Partial<RolloutNode> = {}): RolloutNode => ({
  name,
  ready: true,
  readySince: LONG_AGO,
  changed: undefined,
  wasNotReady: false,
  isRefused: false,
  isOfThis: more.changed !== undefined && more.isPending !== true,
  isPending: false,
  ...more,
});
const pending = (name: string, more: Partial<RolloutNode> = {}) => node(name, { isPending: true, ...more });
const done = (name: string, secondsAgo: number, more: Partial<RolloutNode> = {}) =>
  node(name, { changed: ago(secondsAgo), ...more });
const broken = (name: string, changed: number, since: number, more: Partial<RolloutNode> = {}) =>
  node(name, { changed: ago(changed), ready: false, readySince: ago(since), ...more });
const step = (nodes: RolloutNode[], strategy: RolloutStrategy = {}, times: Partial<RolloutTimes> = {}) =>
  rolloutStep(nodes, strategy, { ...TIMES, ...times });
const many = (count: number, make: (name: string) => RolloutNode, from = 0) =>
  Array.from({ length: count }, (_, at) => make(`n${String(at + from).padStart(4, '0')}`));

test('counts and percentages, rounded up as maxSurge of a Deployment', () => {
  const cases: [number | string | undefined, number, number | undefined][] = [
    [undefined, 10, undefined],
    [3, 10, 3],
    ['5%', 1000, 50],
    ['5%', 10, 1],
    ['1%', 101, 2],
    ['0%', 10, 0],
    ['100%', 7, 7],
    ['7%', 100, 7],
  ];
  for (const [value, total, wanted] of cases) assert.equal(scaled(value, total), wanted, `${value} of ${total}`);
});

test('without limits all are next: Ready nodes first, then by name', () => {
  const nodes = [pending('c'), pending('a', { ready: false }), pending('b'), node('d')];
  const { next, limit, canary, pending: left } = step(nodes);
  assert.deepEqual([next, limit, canary, left], [['b', 'c', 'a'], Number.POSITIVE_INFINITY, 0, 3]);
});

test('nodes whose last write failed come last, so that they keep no place from the others', () => {
  const refused = (name: string, ready = true) => pending(name, { isRefused: true, ready });
  const nodes = [refused('a'), pending('b', { ready: false }), pending('c'), refused('d', false)];
  assert.deepEqual(step(nodes).next, ['c', 'b', 'a', 'd']);
  assert.deepEqual(step(nodes, { maxConcurrent: 1 }).next, ['c']);
});

test('at most maxConcurrent are in flight, and one place is free as soon as one has settled', () => {
  const strategy = { maxConcurrent: '5%', settleSeconds: 30 };
  const rest = (from: number) => many(1000 - from, pending, from);
  assert.deepEqual(
    step(rest(0), strategy).next,
    many(50, pending).map(({ name }) => name),
  );
  const flying = many(50, name => done(name, 31));
  const full = step([...flying, ...rest(50)], strategy);
  assert.deepEqual([full.next, full.settling, full.settlesAfterMs], [[], 50, 1_000]);
  const [first, ...others] = flying;
  assert.ok(first);
  const one = step([{ ...first, changed: ago(32) }, ...others, ...rest(50)], strategy);
  assert.deepEqual([one.next, one.settling], [['n0050'], 49]);
});

test('a node has settled when it is Ready for so long, and was changed so long ago', () => {
  const settling = (each: RolloutNode) => step([each, pending('z')], { settleSeconds: 60 }).settling;
  assert.equal(settling(done('a', 59)), 1);
  // The times are cut to whole seconds, and the request came later.
  assert.equal(settling(done('a', 61)), 1);
  assert.equal(settling(done('a', 62)), 0);
  assert.equal(settling(done('a', 600, { readySince: ago(61) })), 1);
  assert.equal(settling(done('a', 600, { readySince: ago(62) })), 0);
  const dead = (seconds: number) => broken('a', seconds, 700, { wasNotReady: true });
  assert.equal(settling(dead(61)), 1, 'it was NotReady before, and still is');
  assert.equal(settling(dead(62)), 0);
  assert.equal(settling(done('a', 600, { readySince: ago(61), wasNotReady: true })), 1, 'it came back');
  assert.equal(settling(node('a')), 0, 'it joined with the current spec');
  assert.equal(step([done('a', 59)]).settling, 1, 'by default, a minute');
  assert.equal(step([done('a', 0)], { settleSeconds: 0 }).settling, 0);
});

test('a time of another clock is never waited for without end', () => {
  const ahead = (seconds: number) => step([done('a', -seconds), pending('b')], { maxConcurrent: 1, settleSeconds: 60 });
  assert.deepEqual([ahead(120).next, ahead(120).settlesAfterMs], [[], 182_000]);
  assert.deepEqual(ahead(1e9).next, ['b']);
  const since = step([done('a', 100, { readySince: ago(-1e9) }), pending('b')], { maxConcurrent: 1 });
  assert.deepEqual(since.next, ['b']);
});

test('the canary first; the others wait until all of it has settled', () => {
  const strategy = { canary: 2, maxConcurrent: 10, settleSeconds: 60 };
  const rest = many(20, pending);
  const begun = step(rest, strategy);
  assert.deepEqual([begun.next, begun.isCanary], [['n0000', 'n0001'], true]);
  assert.equal(stepsText(begun), '2 nodes now, of the canary of 2; then 18 nodes in 2 steps of at most 10');
  const half = step([done('a', 90), done('b', 10), ...rest], strategy);
  assert.deepEqual([half.next, half.isCanary, half.settlesAfterMs], [[], true, 52_000]);
  assert.equal(
    rolloutProgress('web', half).message,
    '2 of 22 nodes updated, 1 settling, the canary of 2 has to settle first',
  );
  const over = step([done('a', 90), done('b', 62), ...rest], strategy);
  assert.deepEqual([over.next.length, over.isCanary], [10, false]);
  assert.deepEqual(
    step([node('joined'), node('too'), ...rest], strategy).next,
    ['n0000', 'n0001'],
    'joined nodes are none',
  );
  assert.deepEqual(step([done('a', 90), ...rest], strategy).next, ['n0000'], 'one of two was deleted');
  assert.deepEqual(step([done('a', 90), done('b', 62)], strategy).isCanary, false, 'no other waits for it');
  assert.deepEqual(step(rest, { canary: '10%', maxConcurrent: 1 }).next, ['n0000'], 'within the limit');
});

test('what happens to the pool while the canary settles does not let the others through', () => {
  const settling = (count: number) => many(count, name => done(name, 10));
  const waits = (nodes: RolloutNode[], canary: number | string) => {
    const { isCanary, next } = step(nodes, { canary, settleSeconds: 60 });
    assert.deepEqual([isCanary, next], [true, []]);
  };
  waits([...settling(50), ...many(929, pending, 50)], '5%'); // of 1,000, and 21 were deleted
  waits([...settling(5), ...many(3, pending, 5)], '50%'); // of 9
  waits([...settling(4), ...many(36, pending, 4)], 1); // it was 4
  const half = [...many(2, name => done(name, 90)), ...many(2, name => done(name, 10), 2), ...many(36, pending, 4)];
  assert.equal(step(half, { canary: 2 }).isCanary, false, 'so many of them have settled');
});

test('nodes that an earlier rollout changed are no canary of this one, nor do they stop it', () => {
  const earlier = (name: string) => done(name, 1e5, { isOfThis: false });
  const strategy = { canary: 1, settleSeconds: 60 };
  const begun = step([...many(40, earlier), ...many(60, pending, 40)], strategy);
  assert.deepEqual([begun.isCanary, begun.next], [true, ['n0040']]);
  const broken1 = broken('a', 1e5, 10, { isOfThis: false });
  assert.deepEqual(step([broken1, ...many(3, pending)], strategy).next, ['n0000']);
  const flying = done('a', 10, { isOfThis: false });
  assert.deepEqual(step([flying, ...many(3, pending)], { maxConcurrent: 1 }).next, [], 'it takes its place');
});

test('a changed node that turns NotReady stops it, until it is Ready, the spec changes or somebody resumes', () => {
  const strategy = { canary: 1, maxConcurrent: 3, settleSeconds: 60 };
  const rest = many(5, pending);
  const stopped = step([broken('a', 40, 10), ...rest], strategy);
  assert.deepEqual([stopped.next, stopped.failed], [[], ['a']]);
  assert.deepEqual(rolloutProgress('web', stopped), {
    reason: 'RolloutStopped',
    message:
      '1 of 6 nodes updated; stopped: node a turned NotReady after the change; mend it, edit the pool, or continue with `kubectl nodepool rollout resume web`',
  });
  assert.deepEqual(step([broken('a', 400, 10), ...rest], strategy).failed, ['a'], 'also when it had settled');
  assert.deepEqual(step([broken('a', 40, 40), ...rest], strategy).failed, ['a'], 'in the same second');
  const before = step([broken('a', 40, 10, { wasNotReady: true }), ...rest], strategy);
  const [failedBefore, nextBefore] = [before.failed, before.next];
  assert.deepEqual([failedBefore, nextBefore], [[], []], 'NotReady before its change: it only has to settle');
  assert.deepEqual(step([broken('a', 40, 10), ...rest], { ...strategy, stopOnNotReady: false }).failed, []);
  const back = step([done('a', 100, { readySince: ago(10) }), ...rest], strategy);
  assert.deepEqual([back.failed, back.next, back.settlesAfterMs], [[], [], 52_000]);
  const undone = step([broken('a', 40, 10, { isPending: true })], strategy);
  assert.deepEqual([undone.failed, undone.next], [[], ['a']], 'the spec changed');
  const resumed = step([broken('a', 40, 10), ...rest], strategy, { resumed: ago(5) });
  assert.deepEqual([resumed.failed, resumed.next.length], [[], 3]);
  const again = step([broken('a', 40, 3), ...rest], strategy, { resumed: ago(5) });
  assert.deepEqual(again.failed, ['a'], 'it failed after that');
  assert.deepEqual(step([broken('a', 40, 10), ...rest], strategy, { resumed: ago(-1e9) }).failed, ['a'], 'forged');
});

test('a node that was NotReady when it was changed does not keep the rollout from its end, nor others from their turn', () => {
  const dead = (name: string, seconds: number) => broken(name, seconds, 1e6, { wasNotReady: true });
  const settled = many(3, name => done(name, 1e4));
  const waits = step([...settled, dead('a', 20)], { settleSeconds: 60 });
  assert.deepEqual([waits.settling, waits.settlesAfterMs, waits.notReady], [1, 42_000, []]);
  const ended = step([...settled, dead('a', 62)], { settleSeconds: 60 });
  assert.deepEqual(rolloutProgress('web', ended), { reason: 'RolloutComplete', message: '4 of 4 nodes updated' });
  const next = step([...settled, dead('a', 62), pending('b', { ready: false })], { maxConcurrent: 1 });
  assert.deepEqual(next.next, ['b']);
});

test('a node that turned NotReady and does not stop it is named, and can be accepted', () => {
  const nodes = [done('b', 1e4), ...many(5, name => broken(name, 30, 10))];
  const strategy = { settleSeconds: 60, stopOnNotReady: false };
  const waits = step(nodes, strategy);
  assert.deepEqual([waits.settling, waits.settlesAfterMs, waits.notReady.length], [5, undefined, 5]);
  assert.deepEqual(rolloutProgress('web', waits), {
    reason: 'RolloutInProgress',
    message:
      '6 of 6 nodes updated, 5 settling; nodes n0000, n0001, n0002 and 2 more are NotReady: mend them, or continue without them with `kubectl nodepool rollout resume web`',
  });
  assert.equal(rolloutProgress('web', step(nodes, strategy, { resumed: ago(10) })).reason, 'RolloutComplete');
});

test('a stopped rollout stays stopped when the failed node is deleted', () => {
  const rest = many(3, pending);
  const strategy = { canary: 1, settleSeconds: 60 };
  const gone = step(rest, strategy, { stopped: ago(20) });
  assert.deepEqual([gone.next, gone.isStopped, gone.failed], [[], true, []]);
  assert.deepEqual(rolloutProgress('web', gone), {
    reason: 'RolloutStopped',
    message:
      '0 of 3 nodes updated; stopped: a node that turned NotReady after the change is gone; edit the pool, or continue with `kubectl nodepool rollout resume web`',
  });
  assert.equal(stepsText(gone), 'stopped, since a node that turned NotReady is gone; 3 nodes left');
  const healthy = [done('a', 300), done('b', 300, { readySince: ago(21) })];
  assert.equal(
    step([...healthy, ...rest], strategy, { stopped: ago(20) }).isStopped,
    true,
    'the others have not failed',
  );
  const was = done('a', 300, { readySince: ago(5), wasNotReady: true });
  assert.equal(
    step([was, ...rest], strategy, { stopped: ago(20) }).isStopped,
    true,
    'nor has one that was NotReady before',
  );
  const back = done('a', 300, { readySince: ago(20) });
  assert.equal(step([back, ...rest], strategy, { stopped: ago(20) }).isStopped, false, 'it is Ready again');
  assert.deepEqual(step(rest, strategy, { stopped: ago(20), resumed: ago(20) }).next, ['n0000']);
  assert.equal(step(rest, strategy, { stopped: ago(20), resumed: ago(21) }).isStopped, true, 'resumed before');
  assert.equal(step([node('a')], strategy, { stopped: ago(20) }).isStopped, false, 'no node waits for it');
  const future = { stopped: ago(-3600), resumed: ago(-3600) };
  assert.equal(step(rest, strategy, future).isStopped, false, 'stopped by a clock that was ahead, and resumed');
});

test('nodes in flight for a former spec are in flight, and take no second place', () => {
  const strategy = { maxConcurrent: 3, settleSeconds: 60 };
  const flying = [done('x', 10, { isPending: true }), done('y', 10, { isPending: true })];
  assert.deepEqual(step([...flying, ...many(5, pending)], strategy).next, ['x', 'y', 'n0000']);
  const settled = [done('x', 100, { isPending: true }), done('y', 100, { isPending: true })];
  assert.deepEqual(step([...settled, ...many(5, pending)], strategy).next, ['n0000', 'n0001', 'n0002']);
  const canary = step([...flying, ...many(5, pending)], { ...strategy, canary: 1 });
  assert.deepEqual(canary.next, ['x'], 'the canary of the new spec may be one of them');
  // Broken since long: it comes last, and holds no place meanwhile.
  const old = broken('x', 1e5, 1e4, { isPending: true });
  assert.deepEqual(step([old, ...many(3, pending)], strategy).next, ['n0000', 'n0001', 'n0002']);
});

test('a rollout that is done stays done, whatever happens to its nodes later', () => {
  const nodes = [broken('a', 1e5, 10), done('b', 1e5, { readySince: ago(5) }), done('c', 1e5)];
  assert.equal(rolloutProgress('web', step(nodes, {}, { wasComplete: true })).reason, 'RolloutComplete');
  assert.equal(step(nodes, {}, { wasComplete: true }).settlesAfterMs, undefined);
  // Of a lost status only what may still settle counts.
  assert.equal(rolloutProgress('web', step(nodes)).reason, 'RolloutInProgress');
  assert.equal(rolloutProgress('web', step([broken('a', 1e5, 10)])).message, '1 of 1 node updated');
  assert.equal(rolloutProgress('web', step([broken('a', 30, 10)])).reason, 'RolloutStopped');
  assert.equal(
    rolloutProgress('web', step([...nodes, pending('d')], {}, { wasComplete: true })).reason,
    'RolloutStopped',
  );
});

test('a node whose pods are evicted is in flight for as long as that takes, and nothing waits for it to settle', () => {
  const draining = (name: string, secondsAgo: number) => pending(name, { changed: ago(secondsAgo), isDraining: true });
  const nodes = [draining('a', 3_600), draining('b', 10), pending('c'), pending('d')];
  const limited = step(nodes, { maxConcurrent: 3 });
  assert.deepEqual([limited.next, limited.settling, limited.pending], [['a', 'b', 'c'], 2, 4]);
  assert.equal(limited.settlesAfterMs, undefined);
  assert.deepEqual(step(nodes, { maxConcurrent: 2 }).next, ['a', 'b']);
  assert.deepEqual(step(nodes, { canary: 2 }).next, ['a', 'b']);
  assert.deepEqual(step([...nodes, broken('e', 100, 50)], { maxConcurrent: 9 }).next, [], 'a changed node has failed');
});

test('a node that was NotReady before its drain began stops nothing, and gives its place away when it could have settled', () => {
  const node = (secondsAgo: number, more: Partial<RolloutNode> = {}) =>
    pending('a', {
      changed: ago(secondsAgo),
      isOfThis: true,
      isDraining: true,
      wasNotReady: true,
      ready: false,
      readySince: ago(3_600),
      ...more,
    });
  const rest = [pending('b')];
  const begun = step([node(10), ...rest], { maxConcurrent: 1 });
  assert.deepEqual([begun.failed, begun.isStopped, begun.next, begun.settling], [[], false, ['a'], 1]);
  assert.equal(begun.settlesAfterMs, 52_000);
  const later = step([node(100), ...rest], { maxConcurrent: 1 });
  assert.deepEqual([later.isStopped, later.next, later.settling, later.pending], [false, ['b'], 0, 2]);
  assert.equal(later.settlesAfterMs, undefined);
  assert.deepEqual(step([node(100), ...rest], { canary: 1 }).next, ['b'], 'another is the canary');
  assert.deepEqual(step([node(100)], { maxConcurrent: 1 }).next, ['a'], 'it is drained after the others');
  const back = node(100, { ready: true, readySince: ago(1) });
  assert.deepEqual(step([back, ...rest], { maxConcurrent: 1 }).next, ['a'], 'it is Ready, and has its place');
});

test('a node that turns NotReady while its pods are evicted stops the rollout, its own drain included', () => {
  const node = (more: Partial<RolloutNode>) =>
    pending('a', { changed: ago(3_600), isOfThis: true, isDraining: true, ready: false, readySince: ago(30), ...more });
  const rest = [pending('b')];
  const stopped = step([node({}), ...rest], { maxConcurrent: 5 });
  assert.deepEqual([stopped.failed, stopped.isStopped, stopped.next, stopped.settling], [['a'], true, [], 1]);
  const resumed = step([node({}), ...rest], { maxConcurrent: 5 }, { resumed: ago(30), stopped: ago(30) });
  assert.deepEqual([resumed.isStopped, resumed.next, resumed.settling], [false, ['b', 'a'], 0]);
  assert.deepEqual(step([node({}), ...rest], { canary: 1 }, { resumed: ago(30) }).next, ['b'], 'without it');
  const back = node({ ready: true, readySince: ago(10) });
  assert.deepEqual(step([back, ...rest], { maxConcurrent: 1 }, { stopped: ago(30) }).next, ['a'], 'it is Ready again');
  for (const more of [{ wasNotReady: true }, { isOfThis: false }]) assert.equal(step([node(more)]).isStopped, false);
  assert.equal(step([node({})], { stopOnNotReady: false }).isStopped, false);
});
