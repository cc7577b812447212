import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutProgress, stepsText } from '../../../../src/nodepool/rollout/rollout.ts';
import { type RolloutNode, scaled } from '../../../../src/nodepool/rollout/rollout-step.ts';
import { ago, broken, done, many, NOW, node, pending, step } from './rollout-nodes.ts';

test('computes counts and percentages, rounded up as maxSurge of a Deployment', () => {
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

test('without limits all nodes are next: Ready nodes first, then by name', () => {
  const nodes = [pending('c'), pending('a', { ready: false }), pending('b'), node('d')];
  const { next, limit, canary, pending: left } = step(nodes);
  assert.deepEqual([next, limit, canary, left], [['b', 'c', 'a'], Number.POSITIVE_INFINITY, 0, 3]);
});

test('orders nodes whose last write failed last, so that they block no others', () => {
  const refused = (name: string, ready = true) => pending(name, { isRefused: true, ready });
  const nodes = [refused('a'), pending('b', { ready: false }), pending('c'), refused('d', false)];
  assert.deepEqual(step(nodes).next, ['c', 'b', 'a', 'd']);
  assert.deepEqual(step(nodes, { maxConcurrent: 1 }).next, ['c']);
});

test('keeps at most maxConcurrent nodes in flight, and continues when one settles', () => {
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

test('names nodes that settle, those that take longest first', () => {
  const flaps = done('z', 3_600, { readySince: ago(1) });
  const text = (...nodes: RolloutNode[]) => rolloutProgress('web', step([...nodes, pending('y')])).message;
  assert.equal(text(flaps), '1 of 2 nodes updated, 1 settling (z)');
  const others = [done('c', 20), done('b', 10), done('a', 10)];
  assert.equal(text(...others, flaps), '4 of 5 nodes updated, 4 settling (z, c, a and 1 more)');
});

test('a node has settled when it was changed and has been Ready for settleSeconds', () => {
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

test('limits the wait for a timestamp in the future', () => {
  const ahead = (seconds: number) => step([done('a', -seconds), pending('b')], { maxConcurrent: 1, settleSeconds: 60 });
  assert.deepEqual([ahead(120).next, ahead(120).settlesAfterMs], [[], 62_000]);
  assert.deepEqual(ahead(1e9).next, ['b']);
  const since = step([done('a', 100, { readySince: ago(-1e9) }), pending('b')], { maxConcurrent: 1 });
  assert.deepEqual(since.next, ['b']);
});

test('changes the canary first, and waits until all its nodes settle', () => {
  const strategy = { canary: 2, maxConcurrent: 10, settleSeconds: 60 };
  const rest = many(20, pending);
  const begun = step(rest, strategy);
  assert.deepEqual([begun.next, begun.isCanary], [['n0000', 'n0001'], true]);
  assert.equal(stepsText(begun), '2 nodes now (canary of 2); then 18 nodes in 2 steps of at most 10');
  const half = step([done('a', 90), done('b', 10), ...rest], strategy);
  assert.deepEqual([half.next, half.isCanary, half.settlesAfterMs], [[], true, 52_000]);
  assert.equal(
    rolloutProgress('web', half).message,
    '2 of 22 nodes updated, 1 settling (b), waiting for the canary (2) to settle',
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

test('the canary phase continues when the canary or the pool changes its size', () => {
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

test('nodes changed by an earlier rollout are no canary, and do not stop this rollout', () => {
  const earlier = (name: string) => done(name, 1e5, { isOfThis: false });
  const strategy = { canary: 1, settleSeconds: 60 };
  const begun = step([...many(40, earlier), ...many(60, pending, 40)], strategy);
  assert.deepEqual([begun.isCanary, begun.next], [true, ['n0040']]);
  const broken1 = broken('a', 1e5, 10, { isOfThis: false });
  assert.deepEqual(step([broken1, ...many(3, pending)], strategy).next, ['n0000']);
  const flying = done('a', 10, { isOfThis: false });
  assert.deepEqual(step([flying, ...many(3, pending)], { maxConcurrent: 1 }).next, [], 'it takes its place');
});

test('nodes in flight for a former spec occupy their slots, and take no second one', () => {
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

test('a node stays in flight during its evictions, and others do not wait for it to settle', () => {
  const draining = (name: string, secondsAgo: number) => pending(name, { changed: ago(secondsAgo), isDraining: true });
  const nodes = [draining('a', 3_600), draining('b', 10), pending('c'), pending('d')];
  const limited = step(nodes, { maxConcurrent: 3 });
  assert.deepEqual([limited.next, limited.settling, limited.pending], [['a', 'b', 'c'], 2, 4]);
  assert.equal(limited.settlesAfterMs, undefined);
  assert.deepEqual(step(nodes, { maxConcurrent: 2 }).next, ['a', 'b']);
  assert.deepEqual(step(nodes, { canary: 2 }).next, ['a', 'b']);
  assert.deepEqual(step([...nodes, broken('e', 100, 50)], { maxConcurrent: 9 }).next, [], 'a changed node has failed');
});

test('a NotReady node counts neither as canary nor as settled', () => {
  const strategy = { canary: 2, settleSeconds: 60 };
  const dead = (name: string, more: Partial<RolloutNode> = {}) => pending(name, { ready: false, ...more });
  // The first two are broken by another spec.
  const former = (name: string) => broken(name, 20, 10, { isPending: true });
  const begun = step([former('a'), former('b'), pending('c'), pending('d'), pending('e')], strategy);
  assert.deepEqual([begun.isCanary, begun.next], [true, ['c', 'd']]);
  const gone = broken('a', 600, 1e6, { wasNotReady: true });
  const waits = step([gone, done('b', 90), pending('c'), dead('x')], strategy);
  assert.deepEqual([waits.isCanary, waits.next], [true, ['c']], 'that of a has settled nothing');
  const proven = step([gone, done('b', 90), done('c', 90), pending('d'), dead('x')], strategy);
  assert.deepEqual([proven.isCanary, proven.next], [false, ['d', 'x']]);
  const back = { ...gone, ready: true, readySince: ago(61) };
  assert.equal(step([back, done('b', 90), pending('d')], strategy).isCanary, true);
  assert.equal(step([{ ...back, readySince: ago(62) }, done('b', 90), pending('d')], strategy).isCanary, false);
});

test('reduces the canary to the Ready nodes, and continues with NotReady nodes afterwards', () => {
  const strategy = { canary: 3, settleSeconds: 60 };
  const dead = many(4, name => pending(name, { ready: false }));
  assert.deepEqual(step([done('a', 90), pending('b'), ...dead], strategy).next, ['b']);
  assert.deepEqual(step([done('a', 90), done('b', 90), ...dead], strategy).next.length, 4);
  // An undo: the others have the spec since they joined.
  assert.deepEqual(step([node('a'), node('b'), ...dead], strategy).next.length, 4);
  assert.deepEqual(step([node('a', { readySince: ago(61) }), ...dead], strategy).next, [], 'it has joined just now');
  const none = step(dead, strategy);
  assert.deepEqual([none.next, none.notReady.length], [[], 4], 'nobody knows');
  assert.equal(step(dead, strategy, { resumed: ago(0) }).next.length, 4, 'somebody has accepted that');
});

test('with stopOnNotReady: false the others wait for a broken canary until a resume', () => {
  const strategy = { canary: 2, stopOnNotReady: false, settleSeconds: 10 };
  const nodes = [broken('a', 60, 50), done('b', 60), pending('c'), pending('d')];
  const { next, notReady, isCanary, isStopped } = step(nodes, strategy);
  assert.deepEqual([next, notReady, isCanary, isStopped], [[], ['a'], true, false]);
  assert.deepEqual(step(nodes, strategy, { resumed: NOW }).next, ['c'], 'another one in its place');
  assert.deepEqual(step(nodes.slice(1), strategy).next, ['c'], 'it is gone');
});

test('a node broken by another spec blocks its slot for at most settleSeconds', () => {
  const former = (seconds: number) => broken('a', seconds, seconds - 1, { isPending: true });
  const next = (seconds: number) => step([former(seconds), pending('b')], { maxConcurrent: 1, settleSeconds: 60 }).next;
  assert.deepEqual([next(61), next(62)], [['a'], ['b']]);
});

test('says when a node broken by another spec frees its slot, also if it cannot be the canary', () => {
  const nodes = [broken('a', 20, 10, { isPending: true }), pending('b')];
  const { next, settlesAfterMs } = step(nodes, { maxConcurrent: 1, canary: 1, settleSeconds: 60 });
  assert.deepEqual([next, settlesAfterMs], [[], 42_000]);
});

test('says when a node that joined has settled, if it is the canary', () => {
  const strategy = { canary: 1, settleSeconds: 60 };
  const dead = pending('b', { ready: false });
  const { next, settlesAfterMs } = step([node('a', { readySince: ago(20) }), dead], strategy);
  assert.deepEqual([next, settlesAfterMs], [[], 42_000]);
  assert.deepEqual(step([node('a', { readySince: ago(62) }), dead], strategy).settlesAfterMs, undefined);
});

test('a node that its owner is removing neither stops the rollout nor is a canary', () => {
  const strategy = { canary: 1, settleSeconds: 60 };
  const leaving = (more: Partial<RolloutNode>) => ({ ...done('a', 10), isLeaving: true, ...more });
  for (const ready of [true, false]) {
    const found = step([leaving({ ready, readySince: ago(5) }), pending('b'), pending('c')], strategy);
    assert.deepEqual([found.isStopped, found.next, found.isCanary], [false, ['b'], true]);
  }
  const last = step([pending('a', { isLeaving: true }), done('b', 90), pending('c')], strategy);
  assert.deepEqual(last.next, ['c', 'a']);
  const drained = pending('a', { isLeaving: true, isDraining: true, isOfThis: true, changed: ago(90), ready: false });
  assert.deepEqual(step([drained, pending('b')]).failed, []);
});

test('the canary waits, with a message, when all Ready nodes are being removed', () => {
  const strategy = { canary: 1, settleSeconds: 60 };
  const leaving = [pending('a', { isLeaving: true }), pending('b', { isLeaving: true })];
  const found = step(leaving, strategy, { resumed: ago(0) });
  assert.deepEqual([found.next, found.notReady, found.leaving], [[], [], ['a', 'b']]);
  assert.equal(
    rolloutProgress('web', found).message,
    '0 of 2 nodes updated, waiting for the canary (1) to settle; nodes a, b are being removed and cannot be the canary: wait for another Ready node, or remove the canary from the pool',
  );
  const mixed = [...leaving, pending('c', { ready: false, readySince: ago(90) })];
  assert.deepEqual([step(mixed, strategy).next, step(mixed, strategy).notReady], [[], ['c']]);
  assert.deepEqual(step(mixed, strategy, { resumed: ago(60) }).next.length, 3, 'somebody has accepted that');
  const replaced = step([...leaving, pending('c')], strategy);
  assert.deepEqual([replaced.next, replaced.leaving], [['c'], []]);
});

test('a cordoned or updating NotReady node neither stops the rollout nor counts as settled', () => {
  const strategy = { canary: 1, settleSeconds: 60 };
  const rebooting = (seconds: number, more: Partial<RolloutNode> = {}) =>
    broken('a', seconds, seconds - 1, { isInterrupted: true, ...more });
  for (const seconds of [10, 90, 90_000]) {
    const found = step([rebooting(seconds), pending('b'), pending('c')], strategy);
    assert.deepEqual([found.isStopped, found.isCanary, found.next, found.notReady], [false, true, [], ['a']]);
  }
  assert.deepEqual(step([pending('b'), pending('c')], strategy).next, ['b'], 'it is gone');
  assert.deepEqual(step([done('a', 90), pending('b'), pending('c')], strategy).next, ['b', 'c'], 'it is Ready again');
  assert.deepEqual(step([done('a', 90, { readySince: ago(9) }), pending('b')], strategy).next, [], 'but not for long');
  const failed = step([rebooting(90, { isInterrupted: false }), pending('b')], strategy);
  assert.deepEqual([failed.isStopped, failed.failed], [true, ['a']], 'the update is over, and it is not Ready');
  const place = step([rebooting(90), pending('b')], { maxConcurrent: 1, settleSeconds: 60 });
  assert.deepEqual([place.isStopped, place.next], [false, []], 'it keeps its place');
  const stopped = { at: ago(89), nodes: ['a'] };
  assert.ok(step([rebooting(90), pending('b')], strategy, { stopped }).isStopped, 'it failed before it was cordoned');
  const resumed = step([rebooting(90), pending('b')], strategy, { resumed: ago(89) });
  assert.deepEqual([resumed.next, resumed.isCanary], [['b'], true], 'somebody goes on without it');
  const drained = rebooting(90, { isPending: true, isDraining: true, isOfThis: true });
  assert.deepEqual(
    [step([drained, pending('b')], strategy).failed, step([drained, pending('b')], strategy).next],
    [[], []],
  );
});

test('uses the measured age instead of timestamps when the clock changes', () => {
  const strategy = { maxConcurrent: 1, settleSeconds: 60 };
  const settling = (more: Partial<RolloutNode>) => step([done('a', 1e4, more), pending('b')], strategy).settlesAfterMs;
  assert.equal(settling({ changedAgo: 5_000, readyAgo: 1e9 }), 57_000);
  assert.equal(settling({ changedAgo: 1e9, readyAgo: 5_000.5 }), 57_000);
  const ahead = step([done('a', -600, { changedAgo: 62_000, readyAgo: 62_000 }), pending('b')], strategy);
  assert.deepEqual(ahead.next, ['b']);
});
