/** When the step of a rollout is computed, and how writes in flight count. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rolloutHash } from '../../../../src/nodepool/rollout/rollout.ts';
import {
  type Condition,
  type Node,
  type NodePool,
  RESUMED_ANNOTATION,
  TRANSIENT_KEYS_ANNOTATION,
} from '../../../../src/nodepool/types.ts';
import { RolloutAdmission } from '../../../../src/reconciler/limits/rollout-admission.ts';
import { rolloutStepOf } from '../../../../src/reconciler/plan/rollout-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { FakeClock } from '../../controller/fake-clock.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const LONG_AGO = NOW.getTime() / 1000 - 1e6;
const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
const SPEC = { labels: { tier: '2' }, rollout: { maxConcurrent: 1, settleSeconds: 60 } };
const pool = (more: Partial<NodePool['spec']> = {}, metadata: Parameters<typeof aPool>[1] = {}) =>
  aPool({ ...SPEC, ...more }, { resourceVersion: '10', generation: 2, ...metadata });
const old = (name: string, more: Partial<Node> = {}): Node =>
  aNode({
    name,
    uid: name,
    labels: { ...role('worker'), tier: '1' },
    record: recordOf({ pool: 'worker', labels: { tier: '1' } }),
    readySince: LONG_AGO,
    ...more,
  });
const done = (name: string, changed: string, more: Partial<Node> = {}, ofPool = 'worker'): Node =>
  old(name, {
    labels: { ...role('worker'), tier: '2' },
    record: recordOf({ pool: ofPool, labels: { tier: '2' }, changed, rollout: rolloutHash(pool()) }),
    ...more,
  });
const begin = (nodes: Node[], pools = [pool()]) => {
  const state = new ClusterState(pools, nodes, []);
  return { state, admission: new RolloutAdmission(state, () => NOW, true, new FakeClock()) };
};

test('a write in progress occupies its slot until it ends', () => {
  const { admission } = begin([old('a'), old('b')]);
  assert.deepEqual(admission.computeStep('worker')?.next, ['a']);
  const stamp = { changed: '2026-05-01T12:00:00Z', rollout: rolloutHash(pool()) };
  assert.deepEqual(admission.takeSlot('worker', 'a'), stamp);
  const step = admission.computeStep('worker');
  assert.deepEqual([step?.next, step?.settling, step?.pending], [[], 1, 1], 'changed, and in flight');
  assert.equal(admission.takeSlot('worker', 'b'), undefined);
  assert.deepEqual(admission.takeSlot('worker', 'a'), stamp, 'its write may be sent again');
  admission.end('worker', 'a');
  assert.deepEqual(admission.computeStep('worker')?.next, ['a'], 'it failed');
});

test('a write in progress occupies its slot even when settleSeconds is 0', () => {
  const { admission } = begin([old('a'), old('b')], [pool({ rollout: { maxConcurrent: 1, settleSeconds: 0 } })]);
  assert.notEqual(admission.takeSlot('worker', 'a'), undefined);
  const step = admission.computeStep('worker');
  assert.deepEqual([step?.next, step?.settling], [[], 1]);
  assert.equal(admission.takeSlot('worker', 'b'), undefined);
  admission.end('worker', 'a');
  assert.deepEqual(admission.computeStep('worker')?.next, ['a']);
});

test('a write for an earlier spec occupies a slot, and its node is still due', () => {
  const { state, admission } = begin([old('a'), old('b'), old('c')]);
  admission.takeSlot('worker', 'a');
  state.setPool(pool({ labels: { tier: '3' } }, { resourceVersion: '11', generation: 3 }));
  const step = admission.computeStep('worker');
  assert.deepEqual([step?.pending, step?.settling, step?.next], [3, 1, ['a']]);
  state.setPool(
    pool({ labels: { tier: '3' }, rollout: { maxConcurrent: 2 } }, { resourceVersion: '12', generation: 4 }),
  );
  assert.deepEqual(admission.computeStep('worker')?.next, ['a', 'b']);
});

test('records in the stamp that a node was NotReady when it was changed', () => {
  const { admission } = begin([old('a', { ready: false })]);
  assert.equal(admission.takeSlot('worker', 'a')?.wasNotReady, true);
});

test('compares the readiness of a node with that at the start of its drain', () => {
  const drains = pool({ noExecute: 'Drain', taints: [{ key: 'a', effect: 'NoExecute' }] });
  const stamp = { changed: '2026-05-01T11:00:00Z', rollout: rolloutHash(drains) };
  const draining = (more: object, live: Partial<Node>) => {
    const labels = { tier: '2' };
    const record = { pool: 'worker', labels, taints: { 'a:NoSchedule': '' }, draining: { 'a:NoExecute': '' } };
    const taints = [{ key: 'a', effect: 'NoSchedule' as const }];
    const all = {
      labels: { ...role('worker'), ...labels },
      record: recordOf({ ...record, ...stamp, ...more }),
      taints,
    };
    return begin([old('a', { ...all, ...live }), old('b')], [drains]).admission;
  };
  const admission = draining({}, {});
  const step = admission.computeStep('worker');
  assert.deepEqual([step?.next, step?.settling, step?.settlesAfterMs], [['a'], 1, undefined]);
  admission.takeSlot('worker', 'a');
  assert.deepEqual(
    [admission.computeStep('worker')?.next, admission.computeStep('worker')?.settling],
    [['a'], 1],
    'while it is looked at',
  );

  const broken = draining({}, { ready: false });
  assert.deepEqual(broken.computeStep('worker')?.failed, ['a']);
  assert.equal(broken.takeSlot('worker', 'a'), undefined);
  const accepted = draining({ wasNotReady: true, changed: '2026-05-01T11:59:30Z' }, { ready: false });
  assert.equal(accepted.takeSlot('worker', 'a')?.wasNotReady, true);
  assert.equal(draining({ wasNotReady: true }, {}).takeSlot('worker', 'a')?.wasNotReady, undefined, 'it is Ready now');
  const former = draining({ rollout: 'abcdef0123' }, { ready: false });
  assert.equal(former.takeSlot('worker', 'a')?.wasNotReady, true, 'a drain for a former spec');
});

test('recomputes the step when the pool or the readiness of its nodes changes', () => {
  const other = aNode({ name: 'x', uid: 'x', labels: role('other') });
  const { state, admission } = begin([done('a', '2026-05-01T11:00:00Z'), old('b'), other]);
  let computed = 0;
  const members = state.members.bind(state);
  state.members = name => {
    computed++;
    return members(name);
  };
  admission.computeStep('worker');
  assert.ok(admission.mayWrite('worker', 'b') && admission.mayWrite('worker', 'b'));
  state.setNode({ ...other, ready: false, resourceVersion: '8' });
  assert.ok(admission.mayWrite('worker', 'b'));
  assert.equal(computed, 1);
  const failed = done('a', '2026-05-01T11:00:00Z', { ready: false, readySince: NOW.getTime() / 1000 });
  state.setNode({ ...failed, resourceVersion: '8' });
  assert.equal(admission.mayWrite('worker', 'b'), false, 'it is stopped');
  assert.equal(computed, 2);
  state.setPool(pool({ rollout: { stopOnNotReady: false } }, { resourceVersion: '11', generation: 3 }));
  assert.equal(admission.mayWrite('worker', 'b'), false, 'a setting that is no part of the spec that stopped');
  state.setPool(pool({ labels: { tier: '3' } }, { resourceVersion: '12', generation: 4 }));
  assert.equal(admission.mayWrite('worker', 'b'), true);
});

test('a pool without a rollout admits every node', () => {
  const { state, admission } = begin([old('a')]);
  admission.computeStep('worker');
  state.setPool(aPool({ labels: { tier: '2' } }, { resourceVersion: '11', generation: 3 }));
  assert.equal(admission.computeStep('worker'), undefined);
  assert.ok(admission.mayWrite('worker', 'a'));
});

const before = (reason: string, observedGeneration: number) => {
  const progress: Condition = {
    type: 'Progressing',
    status: 'False',
    reason,
    message: '',
    lastTransitionTime: '2026-05-01T11:59:00Z',
    observedGeneration,
  };
  return pool({}, { status: { status: 200, nodeCount: 1, conditions: [progress] } });
};

test('a rollout of this generation stays complete or stopped', () => {
  const broken = done('a', '2026-05-01T11:59:40Z', { ready: false, readySince: NOW.getTime() / 1000 - 10 });
  const settling = (of: NodePool) => rolloutStepOf(new ClusterState([of], [broken], []), of, NOW).settling;
  assert.equal(settling(before('RolloutComplete', 2)), 0);
  assert.equal(settling(before('RolloutComplete', 1)), 1, 'of an earlier generation');
  assert.equal(settling(before('RolloutInProgress', 2)), 1);
  assert.equal(settling(pool()), 1);
  const isStopped = (of: NodePool) => rolloutStepOf(new ClusterState([of], [old('b')], []), of, NOW).isStopped;
  assert.equal(isStopped(before('RolloutStopped', 2)), true);
  assert.equal(isStopped(before('RolloutStopped', 1)), false);
  assert.equal(isStopped(before('RolloutInProgress', 2)), false);
});

test('ignores a rollout stamp of another pool', () => {
  const theirs = done('a', '2026-05-01T11:59:59Z', {}, 'gone');
  const { admission } = begin([theirs, old('b')]);
  assert.deepEqual([admission.computeStep('worker')?.settling, admission.computeStep('worker')?.next], [0, ['b']]);
  const ours = begin([done('a', '2026-05-01T11:59:59Z'), old('b')]);
  assert.deepEqual(
    [ours.admission.computeStep('worker')?.settling, ours.admission.computeStep('worker')?.next],
    [1, []],
  );
});

test('wakes the pool when the first node has settled', () => {
  const { admission } = begin([done('a', '2026-05-01T11:59:30Z'), done('b', '2026-05-01T11:59:40Z')]);
  assert.equal(admission.computeStep('worker')?.settlesAfterMs, 32_000);
});

test('compares timestamps for nodes that earlier versions changed', () => {
  const record = recordOf({ pool: 'worker', labels: { tier: '2' }, changed: '2026-05-01T11:59:59Z' });
  const settled = (readySince: number) => {
    const node = old('a', { labels: { ...role('worker'), tier: '2' }, record, ready: false, readySince });
    const state = new ClusterState([pool()], [node, old('b')], []);
    return rolloutStepOf(state, pool(), NOW).notReady;
  };
  assert.deepEqual(settled(LONG_AGO), [], 'it was NotReady before');
  assert.deepEqual(settled(NOW.getTime() / 1000), ['a']);
});

test('removing a foreign label does not count as a rollout that a dead node could stop', () => {
  const strict = pool({ unmanaged: 'Remove' });
  const rollout = rolloutHash(strict);
  const record = recordOf({ pool: 'worker', labels: { tier: '2' }, changed: '2026-05-01T10:00:00Z', rollout });
  const labels = { ...role('worker'), tier: '2', theirs: 'x' };
  const { theirs: _, ...clean } = labels;
  const dead = old('dead', { labels: clean, record, ready: false, readySince: NOW.getTime() / 1000 - 100 });
  const joined = recordOf({ pool: 'worker', generation: 2, labels: { tier: '2' } });
  const nodes = [dead, old('a', { labels, record }), old('joined', { labels, record: joined })];
  const found = begin(nodes, [strict]).admission.computeStep('worker');
  assert.deepEqual([found?.pending, found?.isStopped, found?.next], [2, false, ['a']]);
  const before = old('b', { labels, record: recordOf({ pool: 'worker', generation: 1, labels: { tier: '2' } }) });
  assert.equal(
    begin([...nodes, before], [strict]).admission.computeStep('worker')?.isStopped,
    true,
    'the switch to Remove',
  );
});

test('a node that died before a spec change does not stop the undo of that change', () => {
  const [dead, isOfThis] = [{ ready: false, readySince: NOW.getTime() / 1000 - 3600 }, rolloutHash(pool())];
  const stamped = (generation: number, rollout: string) =>
    recordOf({ pool: 'worker', labels: { tier: '2' }, changed: '2026-04-01T12:00:00Z', rollout, generation });
  const nodes = (other: number) => [
    done('a', '', { ...dead, record: stamped(2, isOfThis) }),
    old('b', {
      record: recordOf({
        pool: 'worker',
        labels: { tier: '1' },
        changed: '2026-05-01T11:00:00Z',
        rollout: '0123456789',
        generation: other,
      }),
    }),
  ];
  const undo = pool({}, { generation: 4 });
  const step = begin(nodes(3), [undo]).admission.computeStep('worker');
  assert.deepEqual([step?.failed, step?.next], [[], ['b']]);
  const forward = begin(nodes(1), [undo]).admission.computeStep('worker');
  assert.deepEqual([forward?.failed, forward?.next], [['a'], []], 'it died in this rollout');
  const recreated = begin(nodes(9), [undo]).admission.computeStep('worker');
  assert.deepEqual([recreated?.failed, recreated?.next], [['a'], []], 'records of an earlier pool of the name');
});

/** Clocks that a test sets; the monotonic one starts at 0. */
function clocks(nodes: Node[], rollout = {}) {
  const state = new ClusterState([pool({ rollout: { maxConcurrent: 1, settleSeconds: 60, ...rollout } })], nodes, []);
  let [wall, mono] = [NOW.getTime(), 0];
  const admission = new RolloutAdmission(state, () => new Date(wall), true, { now: () => mono });
  const passes = (seconds: number, jump = 0) => {
    mono += seconds * 1000;
    wall += (seconds + jump) * 1000;
  };
  return { state, admission, passes, next: () => admission.computeStep('worker')?.next };
}
const stampedAt = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString().replace('.000', '');

test('counts the settle time of a node from the response, however late', () => {
  const { state, admission, passes, next } = clocks([old('a'), old('b')]);
  assert.deepEqual(next(), ['a']);
  const { changed = '' } = admission.takeSlot('worker', 'a') ?? {};
  passes(100);
  state.setNode({ ...done('a', changed), resourceVersion: '99' });
  admission.end('worker', 'a');
  assert.deepEqual(next(), []);
  passes(61.9);
  assert.deepEqual(next(), []);
  passes(0.1);
  assert.deepEqual(next(), ['b']);
});

test('counts the settle time from when the change is seen if the response was lost', () => {
  const { state, admission, passes, next } = clocks([old('a'), old('b')]);
  next();
  const { changed = '' } = admission.takeSlot('worker', 'a') ?? {};
  admission.keep('worker', 'a', old('a').resourceVersion);
  passes(100);
  assert.deepEqual(next(), ['a']);
  state.setNode({ ...done('a', changed), resourceVersion: '99' });
  assert.deepEqual(next(), []);
  passes(62);
  assert.deepEqual(next(), ['b']);
});

test('a jump of the wall clock neither settles a node nor blocks the rollout', () => {
  for (const jump of [600, -600, 1e9, -1e9]) {
    const { passes, next } = clocks([done('a', stampedAt(-10)), old('b')]);
    assert.deepEqual(next(), []);
    passes(1, jump);
    assert.deepEqual(next(), [], `${jump} s`);
    passes(51);
    assert.deepEqual(next(), ['b'], `${jump} s`);
  }
});

test('counts a timestamp in the future from when it is first seen', () => {
  const ready = (seconds: number) => ({ readySince: NOW.getTime() / 1000 + seconds });
  for (const node of [done('a', stampedAt(600)), done('a', stampedAt(-1e4), ready(600))]) {
    const { passes, next } = clocks([node, old('b')]);
    assert.deepEqual(next(), []);
    passes(61);
    assert.deepEqual(next(), []);
    passes(1);
    assert.deepEqual(next(), ['b']);
  }
});

test('a resume stays valid when the clock is set back', () => {
  const failed = done('a', stampedAt(-100), { ready: false, readySince: NOW.getTime() / 1000 - 50 });
  const { state, admission, passes } = clocks([failed, old('b')]);
  assert.equal(admission.computeStep('worker')?.isStopped, true);
  const annotations = { [RESUMED_ANNOTATION]: stampedAt(-50) };
  state.setPool(pool({ rollout: { settleSeconds: 60 } }, { resourceVersion: '11', annotations }));
  passes(1, -3_600);
  assert.deepEqual(admission.computeStep('worker')?.next, ['b']);
});

test('a node that was NotReady when changed stops the rollout once seen Ready and then NotReady', () => {
  const seconds = NOW.getTime() / 1000;
  const record = recordOf({
    pool: 'worker',
    labels: { tier: '2' },
    changed: stampedAt(-10),
    rollout: rolloutHash(pool()),
    wasNotReady: true,
  });
  const dead = done('a', '', { record, ready: false, readySince: LONG_AGO });
  const { state, admission } = clocks([dead, old('b')]);
  const failed = () => admission.computeStep('worker')?.failed;
  assert.deepEqual(failed(), []);
  // From Unknown to False: it was not Ready.
  state.setNode({ ...dead, resourceVersion: '20', readySince: seconds });
  assert.deepEqual(failed(), []);
  state.setNode({ ...dead, resourceVersion: '21', ready: true, readySince: seconds + 1 });
  assert.deepEqual(failed(), []);
  state.setNode({ ...dead, resourceVersion: '22', readySince: seconds + 2 });
  assert.deepEqual(failed(), ['a']);
  // Another process, by the times of the node.
  assert.deepEqual(clocks([{ ...dead, readySince: seconds }, old('b')]).admission.computeStep('worker')?.failed, ['a']);
});

test('a failed node that is deleted stops the rollout, one that its owner removes does not', () => {
  const failed = done('a', stampedAt(-100), { ready: false, readySince: NOW.getTime() / 1000 - 50 });
  const { state, admission, next } = clocks([failed, old('b')]);
  assert.deepEqual(admission.computeStep('worker')?.failed, ['a']);
  state.removeNode('a', 'a');
  assert.deepEqual([next(), admission.computeStep('worker')?.stop?.nodes], [[], ['a']]);
  const removed = [
    { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' as const }] },
    { deletionTimestamp: stampedAt(-50) },
  ];
  for (const sign of removed) {
    const found = clocks([{ ...failed, ...sign }, old('b')]).admission.computeStep('worker');
    assert.deepEqual([found?.isStopped, found?.next], [false, ['b']]);
  }
});

test('a node that is cordoned, being updated or has a transient key does not stop the rollout', () => {
  const taints = [{ key: 'example.com/spot', effect: 'NoSchedule' as const }];
  const canary = { canary: 1, settleSeconds: 60 };
  const failed = done('a', '2026-05-01T11:58:00Z', { ready: false, readySince: NOW.getTime() / 1000 - 60 });
  const stepWith = (sign: Partial<Node>, rules = {}, metadata = {}) => {
    const pools = [pool({ rollout: canary }, metadata)];
    const state = new ClusterState(pools, [{ ...failed, ...sign }, old('b'), old('c')], [], rules);
    return new RolloutAdmission(state, () => NOW, true, new FakeClock()).computeStep('worker');
  };
  const annotations = { [TRANSIENT_KEYS_ANNOTATION]: 'example.com/*' };
  for (const found of [
    stepWith({ unschedulable: true }),
    stepWith({ taints: [{ key: 'UpdateInProgress', effect: 'PreferNoSchedule' }] }),
    stepWith({ taints }, { transient: ['example.com/spot'] }),
    stepWith({ taints }, {}, { annotations }),
  ]) {
    assert.deepEqual([found?.isStopped, found?.next, found?.notReady], [false, [], ['a']]);
  }
  assert.equal(stepWith({ taints })?.isStopped, true, 'a taint that nobody has named');
});

test('a recreated pool does not inherit the stop of the old pool', () => {
  const failed = done('a', '2026-05-01T11:59:50Z', { ready: false, readySince: NOW.getTime() / 1000 - 5 });
  const stopped = () => {
    const found = begin([failed, old('b')]);
    assert.deepEqual(found.admission.computeStep('worker')?.failed, ['a']);
    found.state.removeNode('a', 'a');
    return found;
  };
  for (const [uid, isStopped] of [
    ['', true],
    ['another', false],
  ] as const) {
    const { state, admission } = stopped();
    state.setPool(pool({}, { resourceVersion: '11', ...(uid === '' ? {} : { uid }) }));
    assert.equal(admission.computeStep('worker')?.isStopped, isStopped, uid);
  }
});

test('limits how long a Ready time in the far future stops the rollout', () => {
  const ahead = Date.parse('2099-01-01T00:00:00Z');
  const failed = done('a', stampedAt(-100), { ready: false, readySince: ahead / 1000 });
  const at = (metadata: Parameters<typeof aPool>[1]) =>
    rolloutStepOf(begin([failed, old('b')]).state, pool({}, metadata), NOW);
  assert.deepEqual([at({}).stop, at({}).stoppedAt], [{ at: 0, nodes: ['a'] }, 0]);
  const rollout = rolloutHash(pool());
  const stoppedRollouts = [{ rollout, time: '2099-01-01T00:00:00Z', nodes: ['a'] }];
  const status = { status: 200, nodeCount: 2, stoppedRollouts } as const;
  assert.equal(at({ status }).isStopped, true);
  assert.equal(at({ status, annotations: { [RESUMED_ANNOTATION]: '2099-01-01T00:00:00Z' } }).isStopped, true);
  assert.equal(at({ status, annotations: { [RESUMED_ANNOTATION]: stampedAt(-1) } }).isStopped, false);
});
