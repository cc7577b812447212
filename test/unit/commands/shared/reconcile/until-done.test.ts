/** `reconcile --wait`: rounds that fail, find pools gone or paused, or are interrupted, and their summary. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PoolResult } from '../../../../../src/commands/shared/reconcile/apply.ts';
import { Limit, untilDone } from '../../../../../src/commands/shared/reconcile/until-done.ts';
import { DeclinedError, NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Change } from '../../../../../src/nodepool/plan/change.ts';
import type { Node, NodePoolStatus } from '../../../../../src/nodepool/types.ts';
import { emptyOutcome, type NodeMove, type PoolOutcome } from '../../../../../src/reconciler/outcome.ts';
import { ClusterState } from '../../../../../src/reconciler/state/cluster-state.ts';
import { testIo } from '../../../cli/test-io.ts';
import { FakeClock } from '../../../controller/fake-clock.ts';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';
import { role } from '../fake-server.ts';

const move = (node: string, reason: Change['reason'] = 'spec'): NodeMove => ({
  node,
  from: 'web',
  to: 'web',
  changes: [{ kind: 'label', key: 'tier', from: 'a', to: 'b', reason } as Change],
});
const statusOf = (updatedNodeCount: number) =>
  ({ status: 200, observedGeneration: 1, nodeCount: 2, updatedNodeCount }) as NodePoolStatus;
const result = (pool: string, updated: number, more: Partial<PoolOutcome> = {}): PoolResult => ({
  pool,
  outcome: { ...emptyOutcome(pool), status: statusOf(updated), ...more },
  error: undefined,
});

type Round = PoolResult[] | Error | 'asking';

/** @param gone pools that a later round does not find */
function started(
  rounds: Round[],
  {
    pools = ['web'],
    gone = [] as string[],
    paused = [] as string[],
    nodes = [] as Node[],
    limitMs = 0,
    isQuiet = false,
  } = {},
) {
  const io = testIo();
  const clock = new FakeClock();
  const stop = new AbortController();
  const limit = new Limit(clock, limitMs);
  const asked: unknown[] = [];
  const known = [...pools, ...paused].map(name => aPool({ paused: paused.includes(name) }, { name, generation: 1 }));
  const state = new ClusterState(known, nodes, []);
  const agreed = (names: readonly string[]) => ({ proposal: { pools: names, state }, consent: undefined }) as never;
  const end = untilDone({
    limit,
    first: agreed(pools),
    async again(open, written) {
      asked.push([open, written?.message]);
      if (rounds[0] === 'asking') return new Promise(() => {});
      if (rounds[0] instanceof Error) throw rounds.shift();
      return agreed(open.filter(name => !gone.includes(name)));
    },
    async run(_, signal) {
      const round = rounds.shift();
      if (!Array.isArray(round)) assert.fail('one round too many');
      return signal.aborted
        ? round.map(({ pool }) => ({ pool, outcome: { ...emptyOutcome(pool), kind: 'interrupted' }, error: undefined }))
        : round;
    },
    clock,
    signal: stop.signal,
    io,
    isQuiet,
  });
  return { end, io, clock, stop, limit, asked };
}

test('merges results and warnings of all rounds, and counts a node once', async () => {
  const warning = 'the spec is not kept';
  const { end, clock, asked } = started(
    [
      result('web', 0, { moves: [move('a')], warnings: [warning], runtimeClass: { kind: 'created', name: 'c' } }),
      result('web', 2, { moves: [move('a'), move('b')] }),
    ].map(each => [each]),
  );
  await clock.advance(1_000);
  const { summaries, exit } = await end;
  const [{ updated, outcome } = assert.fail()] = summaries;
  assert.deepEqual(
    [exit, updated, outcome?.warnings, outcome?.runtimeClass.kind],
    [undefined, 2, [warning], 'created'],
  );
  assert.deepEqual(asked, [[['web'], 'only 1 node was written']]);
});

test('Ctrl-C exits with 130 after an idle or failed round, and during a question', async () => {
  const failed = new NodepoolError('cluster', 'no answer');
  for (const [ms, ...later] of [[100], [5_100, failed], [5_100, 'asking' as const]] as const) {
    const { end, io, clock, stop } = started([[result('web', 1)], ...later]);
    await clock.advance(ms);
    stop.abort();
    assert.equal((await end).exit, 130);
    assert.match(io.stderrText(), /^interrupted: web not done; run the command again to finish\n$/m);
  }
});

test('the timeout does not restart after Ctrl-C ends a question', async () => {
  const { end, clock, stop, limit } = started([[result('web', 1)], 'asking'], { limitMs: 60_000 });
  await clock.advance(5_100);
  const question = Promise.withResolvers<void>();
  const asking = limit.aside(() => question.promise);
  stop.abort();
  await end;
  question.resolve();
  await asking;
  assert.equal(clock.pending, 0);
});

test('treats a pool deleted meanwhile as done, and continues with the others', async () => {
  const { end, io, clock } = started([[result('a', 1), result('b', 1)], [result('b', 2)]], {
    pools: ['a', 'b'],
    gone: ['a'],
  });
  await clock.advance(5_000);
  const { summaries, exit } = await end;
  assert.deepEqual(
    [exit, summaries.map(({ pool, outcome }) => [pool, outcome?.kind])],
    [
      undefined,
      [
        ['a', 'released'],
        ['b', 'reconciled'],
      ],
    ],
  );
  assert.match(io.stderrText(), /^a: the pool was deleted meanwhile$/m);
});

test('a paused pool with remaining nodes is not done, which is printed once', async () => {
  // The exit code needs its reason.
  for (const isQuiet of [false, true]) {
    const { end, io, clock } = started([[result('a', 2), result('b', 1), result('c', 1)], [result('c', 2)]], {
      pools: ['a', 'b', 'c'],
      paused: ['a', 'b'],
      isQuiet,
    });
    await clock.advance(5_000);
    const { exit, leavesPaused } = await end;
    assert.deepEqual([exit, leavesPaused], [undefined, true]);
    assert.equal(io.stderrText().match(/rollout resume/g)?.length, 1);
    assert.match(io.stderrText(), /^b: paused, with changes due; .*`kubectl nodepool rollout resume b`$/m);
  }
  assert.equal((await started([[result('a', 2)]], { pools: ['a'], paused: ['a'] }).end).leavesPaused, false);
});

test('ends and names the paused pool if all due changes wait for another pool', async () => {
  const held = (name: string) =>
    aNode({ name, labels: { ...role('b'), tier: 'a' }, record: recordOf({ pool: 'a', labels: { tier: 'a' } }) });
  const one = started([[result('b', 0)]], { pools: ['b'], paused: ['a'], nodes: [held('n1')] });
  const { exit, leavesPaused } = await one.end;
  assert.deepEqual([exit, leavesPaused], [undefined, true]);
  assert.equal(
    one.io.stderrText(),
    'b: its nodes wait for pool a, which is paused; continue with `kubectl nodepool rollout resume a`\n',
  );
  const free = aNode({
    name: 'n2',
    labels: { ...role('b'), tier: 'b' },
    record: recordOf({ pool: 'gone', labels: { tier: 'b' } }),
  });
  const nodes = [held('n1'), free];
  const { end, clock } = started([[result('b', 0)], [result('b', 2)]], { pools: ['b'], paused: ['a'], nodes });
  await clock.advance(5_000);
  assert.equal((await end).leavesPaused, false);
});

test('the next round follows a rollout step at once, and a repair after a delay', async () => {
  const { end, clock } = started([
    [result('web', 0, { moves: [move('a')] })],
    [result('web', 1, { moves: [move('a', 'drift')] })],
    [result('web', 2)],
  ]);
  await clock.advance(10);
  let isOver = false;
  void end.then(() => {
    isOver = true;
  });
  await clock.advance(4_900);
  assert.equal(isOver, false);
  await clock.advance(200);
  assert.equal(isOver, true);
});

test('a no in a later round prints what was written', async () => {
  const no = new DeclinedError('only 1 node was written', 'to continue, run `x`');
  const { end, io, clock } = started([[result('web', 1, { moves: [move('a')] })], no]);
  await clock.advance(100);
  assert.equal((await end).exit, 1);
  assert.match(io.stderrText(), /^only 1 node was written; to continue, run `x`$/m);
});

test('the limit pauses while a question is open', async () => {
  const clock = new FakeClock();
  const limit = new Limit(clock, 1_000);
  limit.start();
  await clock.advance(600);
  const asking = limit.aside(() => new Promise<void>(resolve => clock.after(600_000, resolve)));
  await clock.advance(600_000);
  await asking;
  await clock.advance(300);
  assert.equal(limit.signal.aborted, false);
  await clock.advance(200);
  assert.equal(limit.signal.aborted, true);
});
