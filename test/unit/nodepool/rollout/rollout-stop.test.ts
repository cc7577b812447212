/** What stops a rollout, and what does not: nodes that turn NotReady. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutProgress, stepsText } from '../../../../src/nodepool/rollout/rollout.ts';
import type { RolloutNode } from '../../../../src/nodepool/rollout/rollout-step.ts';
import { ago, broken, done, many, node, pending, step } from './rollout-nodes.ts';

/** A stop whose nodes are not known, as in the condition of an earlier version. */
const at = (time: number) => ({ at: time, nodes: [] });

test('a changed node that turns NotReady stops the rollout until recovery, spec change or resume', () => {
  const strategy = { canary: 1, maxConcurrent: 3, settleSeconds: 60 };
  const rest = many(5, pending);
  const stopped = step([broken('a', 40, 10), ...rest], strategy);
  assert.deepEqual([stopped.next, stopped.failed], [[], ['a']]);
  assert.deepEqual(rolloutProgress('web', stopped), {
    reason: 'RolloutStopped',
    message:
      '1 of 6 nodes updated; stopped: node a turned NotReady after the change; fix it, edit the pool, or continue with `kubectl nodepool rollout resume web`',
    since: '2026-05-01T11:59:50Z',
  });
  assert.deepEqual(step([broken('a', 400, 10), ...rest], strategy).failed, ['a'], 'also when it had settled');
  assert.deepEqual(step([broken('a', 40, 40), ...rest], strategy).failed, ['a'], 'in the same second');
  const before = step([broken('a', 40, 10, { wasNotReady: true }), ...rest], strategy);
  const [failedBefore, nextBefore] = [before.failed, before.next];
  assert.deepEqual([failedBefore, nextBefore], [[], ['n0000']], 'NotReady before its change: it is no canary');
  assert.deepEqual(step([broken('a', 40, 10), ...rest], { ...strategy, stopOnNotReady: false }).failed, []);
  const back = step([done('a', 100, { readySince: ago(10) }), ...rest], strategy);
  assert.deepEqual([back.failed, back.next, back.settlesAfterMs], [[], [], 52_000]);
  const undone = step([broken('a', 40, 10, { isPending: true })], strategy);
  assert.deepEqual([undone.failed, undone.next, undone.notReady], [[], [], ['a']], 'the spec changed: it is no canary');
  assert.deepEqual(step([broken('a', 40, 10, { isPending: true })]).next, ['a']);
  const resumed = step([broken('a', 40, 10), ...rest], strategy, { resumed: ago(5) });
  assert.deepEqual([resumed.failed, resumed.next], [[], ['n0000']], 'another is the canary');
  const again = step([broken('a', 40, 3), ...rest], strategy, { resumed: ago(5) });
  assert.deepEqual(again.failed, ['a'], 'it failed after that');
  assert.deepEqual(step([broken('a', 40, 10), ...rest], strategy, { resumed: ago(-1e9) }).failed, ['a'], 'forged');
});

test('a node that was NotReady before its change does not block completion or other nodes', () => {
  const dead = (name: string, seconds: number) => broken(name, seconds, 1e6, { wasNotReady: true });
  const settled = many(3, name => done(name, 1e4));
  const waits = step([...settled, dead('a', 20)], { settleSeconds: 60 });
  assert.deepEqual([waits.settling, waits.settlesAfterMs, waits.notReady], [1, 42_000, []]);
  const ended = step([...settled, dead('a', 62)], { settleSeconds: 60 });
  assert.deepEqual(rolloutProgress('web', ended), {
    reason: 'RolloutComplete',
    message: '4 of 4 nodes updated without waiting for node a (NotReady before the change)',
  });
  const back = step([...settled, done('a', 62, { wasNotReady: true })], { settleSeconds: 60 });
  assert.equal(rolloutProgress('web', back).message, '4 of 4 nodes updated');
  const next = step([...settled, dead('a', 62), pending('b', { ready: false })], { maxConcurrent: 1 });
  assert.deepEqual(next.next, ['b']);
});

test('names a NotReady node that does not stop the rollout, and accepts it after a resume', () => {
  const nodes = [done('b', 1e4), ...many(5, name => broken(name, 30, 10))];
  const strategy = { settleSeconds: 60, stopOnNotReady: false };
  const waits = step(nodes, strategy);
  assert.deepEqual([waits.settling, waits.settlesAfterMs, waits.notReady.length], [5, undefined, 5]);
  assert.deepEqual(rolloutProgress('web', waits), {
    reason: 'RolloutInProgress',
    message:
      '6 of 6 nodes updated, 5 settling; nodes n0000, n0001, n0002 and 2 more are NotReady: fix them, or continue without them with `kubectl nodepool rollout resume web`',
  });
  assert.equal(rolloutProgress('web', step(nodes, strategy, { resumed: ago(10) })).reason, 'RolloutComplete');
});

test('a stopped rollout stays stopped when the failed node is deleted', () => {
  const rest = many(3, pending);
  const strategy = { canary: 1, settleSeconds: 60 };
  const gone = step(rest, strategy, { stopped: at(ago(20)) });
  assert.deepEqual([gone.next, gone.isStopped, gone.failed], [[], true, []]);
  assert.deepEqual(rolloutProgress('web', gone), {
    reason: 'RolloutStopped',
    message:
      '0 of 3 nodes updated; stopped: a node turned NotReady after the change and is gone; edit the pool, or continue with `kubectl nodepool rollout resume web`',
    since: '2026-05-01T11:59:40Z',
  });
  assert.equal(stepsText(gone), 'stopped: a node turned NotReady after the change and is gone; 3 nodes left');
  const healthy = [done('a', 300), done('b', 300, { readySince: ago(21) })];
  assert.equal(
    step([...healthy, ...rest], strategy, { stopped: at(ago(20)) }).isStopped,
    true,
    'the others have not failed',
  );
  const was = done('a', 300, { readySince: ago(5), wasNotReady: true });
  assert.equal(
    step([was, ...rest], strategy, { stopped: at(ago(20)) }).isStopped,
    true,
    'nor has one that was NotReady before',
  );
  const back = done('a', 300, { readySince: ago(19) });
  assert.equal(step([back, ...rest], strategy, { stopped: at(ago(20)) }).isStopped, false, 'it is Ready again');
  assert.deepEqual(step(rest, strategy, { stopped: at(ago(20)), resumed: ago(20) }).next, ['n0000']);
  assert.equal(step(rest, strategy, { stopped: at(ago(20)), resumed: ago(21) }).isStopped, true, 'resumed before');
  assert.equal(step([node('a')], strategy, { stopped: at(ago(20)) }).isStopped, false, 'no node waits for it');
  const future = { stopped: at(ago(-3600)), resumed: ago(-3600) };
  assert.equal(step(rest, strategy, future).isStopped, false, 'stopped by a clock that was ahead, and resumed');
});

test('a complete rollout stays complete, whatever happens to its nodes later', () => {
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

test('a node that was NotReady before its drain frees its slot after settleSeconds', () => {
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

test('a node that turns NotReady during its evictions stops the rollout and its own drain', () => {
  const node = (more: Partial<RolloutNode>) =>
    pending('a', { changed: ago(3_600), isOfThis: true, isDraining: true, ready: false, readySince: ago(30), ...more });
  const rest = [pending('b')];
  const stopped = step([node({}), ...rest], { maxConcurrent: 5 });
  assert.deepEqual([stopped.failed, stopped.isStopped, stopped.next, stopped.settling], [['a'], true, [], 1]);
  const resumed = step([node({}), ...rest], { maxConcurrent: 5 }, { resumed: ago(30), stopped: at(ago(30)) });
  assert.deepEqual([resumed.isStopped, resumed.next, resumed.settling], [false, ['b', 'a'], 0]);
  assert.deepEqual(step([node({}), ...rest], { canary: 1 }, { resumed: ago(30) }).next, ['b'], 'without it');
  const back = node({ ready: true, readySince: ago(10) });
  assert.deepEqual(
    step([back, ...rest], { maxConcurrent: 1 }, { stopped: at(ago(30)) }).next,
    ['a'],
    'it is Ready again',
  );
  for (const more of [{ wasNotReady: true }, { isOfThis: false }]) assert.equal(step([node(more)]).isStopped, false);
  assert.equal(step([node({})], { stopOnNotReady: false }).isStopped, false);
});

test('takes the stop time from node timestamps, so that recovery needs no local clock', () => {
  const rest = many(3, pending);
  const rebooted = done('b', 300, { readySince: ago(100) });
  // The clocks of all nodes are behind: it broke and came back before what is now for us.
  const failed = step([broken('a', 300, 250), rebooted, node('joined', { readySince: ago(1) }), ...rest]);
  assert.deepEqual([failed.isStopped, failed.stoppedAt], [true, ago(100)]);
  const stopped = at(failed.stoppedAt ?? 0);
  assert.equal(step([rebooted, ...rest], {}, { stopped }).isStopped, true, 'one that was Ready then has not recovered');
  const back = done('a', 300, { readySince: ago(99) });
  assert.equal(step([back, rebooted, ...rest], {}, { stopped }).isStopped, false);
  const ahead = done('c', 300, { readySince: ago(-1e9) });
  assert.equal(step([broken('a', 300, 250), ahead, ...rest]).stoppedAt, ago(250), 'a time far ahead is ignored');
  assert.equal(step(rest).stop, undefined);
  assert.deepEqual(step(rest, {}, { stopped: at(ago(5)) }).stop, at(ago(5)));
});

test('a stop after a resume is new, even if the node clock is behind', () => {
  const times = { resumed: ago(100) };
  const accepted = broken('a', 600, 100);
  const late = step([accepted, broken('b', 600, 90), ...many(3, pending)], {}, times);
  assert.deepEqual([late.failed, late.stoppedAt], [['b'], ago(90)]);
  const gone = step([accepted, ...many(3, pending)], {}, { ...times, stopped: late.stop });
  assert.deepEqual([gone.isStopped, gone.stoppedAt], [true, ago(90)]);
});

test('foreign labels on updated nodes do not make the rollout incomplete', () => {
  // With unmanaged: Remove, a label of somebody is removed in a turn.
  const labelled = (name: string) => done(name, 1e5, { isPending: true, hasSpec: true, isOfThis: true });
  const dead = broken('dead', 1e5, 10);
  for (const wasComplete of [true, false]) {
    const found = step([dead, labelled('a'), labelled('b')], { maxConcurrent: 1 }, { wasComplete });
    assert.deepEqual([found.failed, found.isStopped, found.next], [[], false, ['a']]);
  }
  const itself = { ...dead, isPending: true, hasSpec: true };
  assert.deepEqual(step([itself, labelled('a')]).next, ['a', 'dead']);
  assert.deepEqual(step([itself, pending('a')]).failed, ['dead'], 'that of the spec is not done');
  assert.deepEqual(step([dead, labelled('a'), pending('b')]).failed, ['dead']);
  const now = step([broken('c', 30, 10), labelled('a')]);
  assert.deepEqual([now.failed, now.next], [['c'], []], 'it broke by the removal');
});

test('remembers a stop with its nodes until all of them are Ready again', () => {
  const rest = many(3, pending);
  const both = step([broken('a', 300, 20), broken('b', 300, 10), ...rest]);
  assert.deepEqual(both.stop, { at: ago(10), nodes: ['a', 'b'] });
  const stopped = both.stop;
  const back = done('a', 300, { readySince: ago(5) });
  const labelled = { ...back, isPending: true, hasSpec: true };
  const only = step([labelled, ...rest], {}, { stopped: { at: ago(10), nodes: ['a'] } });
  assert.equal(only.isStopped, false, 'it waits for what others have added to it');
  const one = step([back, ...rest], {}, { stopped });
  assert.deepEqual([one.isStopped, one.stop?.nodes, one.isGone], [true, ['b'], true], 'b is gone');
  const other = done('c', 300, { readySince: ago(5) });
  assert.equal(step([other, ...rest], {}, { stopped }).isStopped, true, 'it has not failed');
  const again = step([broken('a', 300, 2), ...rest], {}, { stopped: { at: ago(10), nodes: ['b'] } });
  assert.deepEqual(again.stop, { at: ago(2), nodes: ['a', 'b'] });
  const all = step([back, { ...back, name: 'b' }, ...rest], {}, { stopped });
  assert.deepEqual([all.isStopped, all.stop], [false, undefined]);
  const second = done('a', 300, { readySince: ago(10) });
  assert.equal(
    step([second, ...rest], {}, { stopped: { at: ago(10), nodes: ['a'] } }).isStopped,
    false,
    'in one second',
  );
  const joined = node('a', { readySince: ago(1) });
  assert.equal(step([joined, ...rest], {}, { stopped: { at: ago(10), nodes: ['a'] } }).isStopped, true, 'a new node');
});

test('remembers a stop without waiting nodes until all nodes have the spec', () => {
  const stopped = { at: ago(10), nodes: ['x'] };
  const settling = step([done('a', 10)], {}, { stopped });
  assert.deepEqual([settling.isStopped, settling.stop], [false, stopped]);
  assert.deepEqual(step([], {}, { stopped }).stop, stopped, 'of no nodes nothing is known');
  assert.equal(step([done('a', 1e4)], {}, { stopped }).stop, undefined);
  const off = step(many(2, pending), { stopOnNotReady: false }, { stopped });
  assert.deepEqual([off.isStopped, off.next], [true, []], 'a setting that is no part of the spec');
});
