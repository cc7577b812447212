import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutProgress, stepsText } from '../../../src/nodepool/rollout.ts';
import { type RolloutNode, type RolloutTimes, rolloutStep, scaled } from '../../../src/nodepool/rollout-step.ts';
import type { RolloutStrategy } from '../../../src/nodepool/types.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const ago = (seconds: number) => NOW - seconds * 1000;
const LONG_AGO = ago(1e6);
const TIMES: RolloutTimes = { now: NOW, resumed: undefined, wasComplete: false };

const node = (name: string, more: Partial<RolloutNode> = {}): RolloutNode => ({
  name,
  ready: true,
  readySince: LONG_AGO,
  changed: undefined,
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

test('at most maxConcurrent are in flight, and one place is free as soon as one has settled', () => {
  const strategy = { maxConcurrent: '5%', settleSeconds: 30 };
  const rest = (from: number) => many(1000 - from, pending, from);
  assert.deepEqual(
    step(rest(0), strategy).next,
    many(50, pending).map(({ name }) => name),
  );
  const flying = many(50, name => done(name, 29));
  const full = step([...flying, ...rest(50)], strategy);
  assert.deepEqual([full.next, full.settling, full.settlesAfterMs], [[], 50, 1_000]);
  const [first, ...others] = flying;
  assert.ok(first);
  const one = step([{ ...first, changed: ago(30) }, ...others, ...rest(50)], strategy);
  assert.deepEqual([one.next, one.settling], [['n0050'], 49]);
});

test('a node has settled when it is Ready for so long, and was changed so long ago', () => {
  const settling = (each: RolloutNode) => step([each, pending('z')], { settleSeconds: 60 }).settling;
  assert.equal(settling(done('a', 59)), 1);
  assert.equal(settling(done('a', 60)), 0);
  assert.equal(settling(done('a', 600, { readySince: ago(59) })), 1);
  assert.equal(settling(done('a', 600, { readySince: ago(60) })), 0);
  assert.equal(settling(broken('a', 600, 700)), 1, 'it was NotReady before, and still is');
  assert.equal(settling(node('a')), 0, 'it joined with the current spec');
  assert.equal(step([done('a', 59)]).settling, 1, 'by default, a minute');
  assert.equal(step([done('a', 0)], { settleSeconds: 0 }).settling, 0);
});

test('a time of another clock is never waited for without end', () => {
  const ahead = (seconds: number) => step([done('a', -seconds), pending('b')], { maxConcurrent: 1, settleSeconds: 60 });
  assert.deepEqual([ahead(120).next, ahead(120).settlesAfterMs], [[], 180_000]);
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
  assert.deepEqual([half.next, half.isCanary, half.settlesAfterMs], [[], true, 50_000]);
  assert.equal(
    rolloutProgress('web', half).message,
    '2 of 22 nodes updated, 1 settling, the canary of 2 has to settle first',
  );
  const over = step([done('a', 90), done('b', 60), ...rest], strategy);
  assert.deepEqual([over.next.length, over.isCanary], [10, false]);
  assert.deepEqual(
    step([node('joined'), node('too'), ...rest], strategy).next,
    ['n0000', 'n0001'],
    'joined nodes are none',
  );
  assert.deepEqual(step([done('a', 90), ...rest], strategy).next, ['n0000'], 'one of two was deleted');
  assert.deepEqual(step(rest, { canary: '10%', maxConcurrent: 1 }).next, ['n0000'], 'within the limit');
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
  const before = step([broken('a', 40, 50), ...rest], strategy);
  assert.deepEqual([before.failed, before.next], [[], []], 'NotReady before its change: it only has to settle');
  assert.deepEqual(step([broken('a', 40, 10), ...rest], { ...strategy, stopOnNotReady: false }).failed, []);
  const back = step([done('a', 100, { readySince: ago(10) }), ...rest], strategy);
  assert.deepEqual([back.failed, back.next, back.settlesAfterMs], [[], [], 50_000]);
  const undone = step([broken('a', 40, 10, { isPending: true })], strategy);
  assert.deepEqual([undone.failed, undone.next], [[], ['a']], 'the spec changed');
  const resumed = step([broken('a', 40, 10), ...rest], strategy, { resumed: ago(5) });
  assert.deepEqual([resumed.failed, resumed.next.length], [[], 3]);
  const again = step([broken('a', 40, 3), ...rest], strategy, { resumed: ago(5) });
  assert.deepEqual(again.failed, ['a'], 'it failed after that');
  assert.deepEqual(step([broken('a', 40, 10), ...rest], strategy, { resumed: ago(-1e9) }).failed, ['a'], 'forged');
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
