/** One patch for a chain of changes, and its reported changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePatch, WritePlan } from '../../../../src/nodepool/plan/plan.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { nodePlan, noExecuteOf, patchedNode, withNextSteps } from '../../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool, recordOf, taint } from '../../nodepool/fixtures.ts';
import { viewOf } from '../../nodepool/plan/plan-view.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const planned = (pools: NodePool[], node: Node) =>
  viewOf(nodePlan(new ClusterState(pools, [node], []), 'n1') ?? assert.fail());

/** A node that has just left `a`, and joins `b` by a restored label. */
function handedOver(spec: NodePool['spec'], held: { labels?: object; taints?: object } = {}) {
  const a = aPool({ labels: { tier: 'gold', ...held.labels } }, { name: 'a' });
  const b = aPool({ nodeSelector: { tier: 'legacy' }, ...spec }, { name: 'b' });
  const applied = { tier: 'gold', ...held.labels };
  const record = recordOf({
    pool: 'a',
    labels: applied,
    taints: held.taints,
    displaced: { labels: { tier: 'legacy' } },
  });
  const taints = Object.entries(held.taints ?? {}).map(([id, value]) => taint(id.replace(':', `=${value}:`)));
  return planned([a, b], aNode({ labels: applied, taints, record }));
}

test('neither writes nor reports a key that one pool removes and the next sets again', () => {
  const same = handedOver(
    { labels: { x: '1' }, taints: [taint('d=v:NoSchedule')] },
    { labels: { x: '1' }, taints: { 'd:NoSchedule': 'v' } },
  );
  assert.deepEqual(same.patch, {
    resourceVersion: '7',
    labels: { tier: 'legacy' },
    record: recordOf({ pool: 'b', generation: 1, labels: { x: '1' }, taints: { 'd:NoSchedule': 'v' } }),
  });
  assert.deepEqual(
    same.changes.map(({ key }) => key),
    ['tier'],
  );
});

test('reports one change when one pool removes a key and the next sets another value', () => {
  const { patch, changes } = handedOver(
    { labels: { x: '2' }, taints: [taint('d=w:NoSchedule')] },
    { labels: { x: '1' }, taints: { 'd:NoSchedule': 'v' } },
  );
  assert.deepEqual(patch?.labels, { tier: 'legacy', x: '2' });
  assert.deepEqual(patch?.taints, [taint('d=w:NoSchedule')]);
  assert.deepEqual(changes, [
    { kind: 'label', key: 'tier', action: 'restore', from: 'gold', to: 'legacy', reason: 'left the pool' },
    { kind: 'label', key: 'x', action: 'change', from: '1', to: '2', reason: 'spec' },
    { kind: 'taint', key: 'd', effect: 'NoSchedule', action: 'change', from: 'v', to: 'w', reason: 'spec' },
  ]);
});

test('a chain of moves that begins with a rollout step is a rollout step', () => {
  const [a, b] = [
    aPool({ rollout: {} }, { name: 'a' }),
    aPool({ labels: { x: '1' }, nodeSelector: { y: '2' } }, { name: 'b' }),
  ];
  const node = aNode({ labels: role('a') });
  const patch = { resourceVersion: '7', labels: { ...role('a'), 'node-role.kubernetes.io/a': null, y: '2' } };
  const whose = { node, owner: 'a', previous: 'a' };
  const write: WritePlan = { ...whose, kind: 'write', changes: [], patch };
  const state = new ClusterState([a, b], [node], []);
  const whole = viewOf(withNextSteps(state, [{ ...whose, kind: 'rollout step', after: write }]));
  assert.deepEqual([whole.owner, whole.previous, whole.kind, whole.patch?.labels?.x], ['b', 'a', 'rollout step', '1']);
  assert.equal(withNextSteps(state, [write]).kind, 'write');
});

test('reports taints of one key and two effects as two changes', () => {
  const { patch, changes } = handedOver({ taints: [taint('d=v:NoExecute')] }, { taints: { 'd:NoSchedule': 'v' } });
  assert.deepEqual(patch?.taints, [taint('d=v:NoExecute')]);
  assert.deepEqual(
    changes.map(({ key, effect, action }) => [key, effect, action]),
    [
      ['tier', undefined, 'restore'],
      ['d', 'NoSchedule', 'remove'],
      ['d', 'NoExecute', 'add'],
    ],
  );
});

/**
 * A node that has left `p0`. Each pool selects by what the one before sets, and that is taken back as the next gets the
 * node: it runs through all of them, and belongs to none in the end.
 * @param more further labels of each pool, by its number
 */
function runThrough(pools: number, more: Record<number, Record<string, string>> = {}, displaced: object = {}) {
  const chain = Array.from({ length: pools }, (_, index) => {
    const labels = { [`s${index + 2}`]: '1', ...more[index + 1] };
    return aPool({ nodeSelector: { [`s${index + 1}`]: '1' }, labels }, { name: `p${index + 1}` });
  });
  const labels = { s1: '1', ...more[0] };
  const record = recordOf({ pool: 'p0', labels, displaced: { labels: displaced } });
  return nodePlan(new ClusterState(chain, [aNode({ labels, record })], []), 'n1') ?? assert.fail();
}

test('writes a chain of moves as one patch with the final difference', () => {
  for (const pools of [1, 2, 9]) {
    const plan = viewOf(runThrough(pools));
    assert.deepEqual(plan.patch, { resourceVersion: '7', labels: { s1: null }, record: null }, `${pools} pools`);
    assert.deepEqual([plan.previous, plan.owner, plan.kind], ['p0', undefined, 'write']);
    assert.deepEqual(
      plan.changes.map(({ key, action }) => [key, action]),
      [['s1', 'remove']],
    );
  }
});

test('refuses a chain of more than ten moves, names its pools, and writes nothing', () => {
  const plan = runThrough(10);
  assert.deepEqual([plan.kind, plan.owner], ['circle', 'p0']);
  assert.deepEqual('pools' in plan && plan.pools, ['p1', 'p10', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p9']);
});

test('reports a key that several pools of a chain set once, from first to last value', () => {
  const reports = (...args: Parameters<typeof runThrough>) =>
    viewOf(runThrough(...args))
      .changes.filter(({ key }) => key === 'k')
      .map(({ action, from, to }) => [action, from, to]);
  assert.deepEqual(reports(2, { 1: { k: 'a' }, 2: { k: 'b' } }), [], 'set, and taken back');
  assert.deepEqual(reports(2, { 0: { k: 'a' }, 1: { k: 'b' } }), [['remove', 'a', undefined]]);
  assert.deepEqual(reports(2, { 0: { k: 'a' }, 1: { k: 'b' } }, { k: 'old' }), [['restore', 'a', 'old']]);
});

test('reports a label that a chain adds and changes once, as added', () => {
  const first = aPool({ nodeSelector: { s1: '1' }, labels: { k: 'a' } }, { name: 'first' });
  const younger = { name: 'last', creationTimestamp: '2027-01-01T00:00:00Z' };
  const last = aPool({ nodeSelector: { at: 'home' }, labels: { k: 'b' } }, younger);
  const record = recordOf({ pool: 'p0', labels: { s1: '1' } });
  const plan = planned([first, last], aNode({ labels: { s1: '1', at: 'home' }, record }));
  assert.deepEqual([plan.owner, plan.patch?.labels], ['last', { s1: null, k: 'b' }]);
  assert.deepEqual(plan.changes, [
    { kind: 'label', key: 'k', action: 'add', to: 'b', reason: 'spec' },
    { kind: 'label', key: 's1', action: 'remove', from: '1', reason: 'left the pool' },
  ]);
});

test('returns the same plan for an up-to-date node each time', () => {
  const record = recordOf({ pool: 'worker', labels: { tier: 'gold' } });
  const member = aNode({ labels: { ...role('worker'), tier: 'gold' }, record });
  const free = aNode({ name: 'free' });
  const state = new ClusterState([aPool({ labels: { tier: 'gold' } })], [member, free], []);
  for (let times = 0; times < 3; times++) {
    assert.deepEqual(nodePlan(state, 'n1'), {
      kind: 'same',
      node: member,
      owner: 'worker',
      previous: 'worker',
    });
    assert.deepEqual(nodePlan(state, 'free'), {
      kind: 'same',
      node: free,
      owner: undefined,
      previous: undefined,
    });
  }
});

test('lists the NoExecute taints that plans add, with their nodes', () => {
  const node = aNode({ taints: [taint('old:NoExecute')] });
  const taints = ['old:NoExecute', 'new=x:NoExecute', 'bare:NoExecute', 'other:NoSchedule'].map(taint);
  const write = (patch: NodePatch): WritePlan => {
    return { kind: 'write', node, owner: undefined, previous: undefined, changes: [], patch };
  };
  const arriving = noExecuteOf([write({ resourceVersion: '7', taints })]);
  assert.deepEqual(arriving, new Set(['n1 new=x:NoExecute', 'n1 bare:NoExecute']));
  const nothing = noExecuteOf([write({ resourceVersion: '7', labels: { a: 'b' } })]);
  assert.deepEqual(nothing, new Set());
});

test('leaves a node of a pool with an invalid spec unchanged', () => {
  const invalid = aPool({ labels: { tier: 'gold' }, handler: 'NO' });
  const node = aNode({ labels: role('worker'), record: recordOf({ pool: 'worker', labels: { tier: 'silver' } }) });
  const plan = planned([invalid], node);
  assert.deepEqual([plan.owner, plan.changes, plan.patch], ['worker', [], undefined]);
});

test('unmanaged: Remove keeps the labels by which rival pools match', () => {
  const strict = aPool({ unmanaged: 'Remove' });
  const rival = aPool({ nodeSelector: { team: 'b' } }, { name: 'x-rival' });
  const plan = planned([strict, rival], aNode({ labels: { ...role('worker'), team: 'b', other: 'x' } }));
  assert.deepEqual([plan.owner, plan.patch?.labels], ['worker', { other: null }]);
  assert.deepEqual(planned([strict], aNode({ labels: { ...role('worker'), team: 'b' } })).patch?.labels, {
    team: null,
  });
});

test('returns no plan for an unknown node', () => {
  assert.equal(nodePlan(new ClusterState([aPool()], [], []), 'n1'), undefined);
});

test('applies a patch to a node, and keeps everything else', () => {
  const node = aNode({
    labels: { a: '1', b: '2' },
    taints: [taint('t:NoExecute')],
    record: 'old',
    unschedulable: true,
  });
  assert.deepEqual(patchedNode(node, { resourceVersion: '7' }), node);
  assert.deepEqual(
    patchedNode(node, { resourceVersion: '7', labels: { a: null, c: '3' }, taints: [], record: 'new' }),
    { ...node, labels: { b: '2', c: '3' }, taints: [], record: 'new' },
  );
  assert.equal('record' in patchedNode(node, { resourceVersion: '7', record: null }), false);
});

test('composes annotations, and requests another read if one was not kept', () => {
  const a = aPool({ labels: { tier: 'gold' }, annotations: { note: 'a', only: 'a' } }, { name: 'a' });
  const b = aPool({ nodeSelector: { tier: 'legacy' }, annotations: { note: 'b' } }, { name: 'b' });
  const record = recordOf({
    pool: 'a',
    labels: { tier: 'gold' },
    annotations: { note: 'a', only: 'a' },
    displaced: { labels: { tier: 'legacy' }, annotations: { note: 'theirs' } },
  });
  const held = aNode({ labels: { tier: 'gold' }, annotations: { note: 'a', only: 'a' }, record });
  const plan = planned([a, b], { ...held, keptAnnotations: new Set(['note', 'only']) });
  assert.deepEqual(plan.patch?.annotations, { note: 'b', only: null });
  assert.deepEqual(
    plan.changes.map(({ kind, key, from, to }) => [kind, key, from, to]),
    [
      ['label', 'tier', 'gold', 'legacy'],
      ['annotation', 'note', 'a', 'b'],
      ['annotation', 'only', 'a', undefined],
    ],
  );
  assert.deepEqual([plan.kind, planned([a, b], held).kind], ['write', 'unread']);
});
