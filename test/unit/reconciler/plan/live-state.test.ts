import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { liveState } from '../../../../src/reconciler/plan/live-state.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const SPEC = { labels: { tier: 'gold' } };

/** A member that pool `web` has given tier=gold. */
function member(name: string, tier: string | undefined, more: Partial<Node> = {}): Node {
  const labels = { 'node-role.kubernetes.io/web': '', ...(tier === undefined ? {} : { tier }) };
  const record = JSON.stringify({ pool: 'web', labels: { tier: 'gold' }, taints: {} });
  return aNode({ name, uid: name, labels, record, ...more });
}

function seen(spec: NodePool['spec'], nodes: Node[], status?: NodePool['status']) {
  const pool = { ...aPool(spec, { name: 'web', generation: 1 }), ...(status === undefined ? {} : { status }) };
  return liveState(new ClusterState([pool], nodes, []), pool, NOW);
}

test('counts a foreign change as drift, and a spec change only as due', () => {
  const nodes = [member('a', 'gold'), member('b', 'mine', { ready: false }), member('c', undefined)];
  const { nodes: count, ready, due, drifted } = seen(SPEC, nodes);
  assert.deepEqual([count, ready, due, drifted], [3, 2, 2, 2]);
  const edited = seen({ labels: { tier: 'silver' } }, nodes.slice(0, 1));
  assert.deepEqual([edited.due, edited.drifted], [1, 0]);
  const joining = seen(SPEC, [aNode({ labels: { 'node-role.kubernetes.io/web': '' } })]);
  assert.deepEqual([joining.due, joining.drifted], [1, 0]);
  // Nothing is written there, and it is counted all the same.
  const paused = seen({ ...SPEC, paused: true }, nodes);
  assert.deepEqual([paused.due, paused.drifted], [2, 2]);
});

test('counts no node as due for an invalid spec', () => {
  const { isInvalid, due } = seen({ labels: { 'a b': 'c' } }, [member('a', 'mine')]);
  assert.deepEqual([isInvalid, due], [true, 0]);
});

test('a rollout is in progress while nodes are due and a reconcile has seen the spec', () => {
  const spec = { labels: { tier: 'silver' }, rollout: { maxConcurrent: 1 } };
  const rollout = (observedGeneration: number, tier: string) =>
    seen(spec, [member('a', tier)], { status: 200, nodeCount: 1, observedGeneration }).rollout;
  assert.equal(rollout(1, 'gold'), 'Progressing');
  assert.equal(rollout(0, 'gold'), undefined);
  assert.equal(seen({ rollout: {}, ...SPEC }, [member('a', 'gold')]).rollout, undefined);
});

test('counts a node that left but still has settings as due, not as member', () => {
  const left = member('a', 'gold');
  delete left.labels['node-role.kubernetes.io/web'];
  const { nodes, ready, due, drifted } = seen(SPEC, [left, member('b', 'gold')]);
  assert.deepEqual([nodes, ready, due, drifted], [1, 1, 1, 0]);
});

test('startup taints are stuck after 15 minutes on a node', () => {
  const agent = { key: 'agent', effect: 'NoSchedule' as const };
  const stuckAfter = (ms: number) => {
    const readySince = (NOW.getTime() - ms) / 1000;
    return seen({ startupTaints: [agent] }, [member('a', 'gold', { taints: [agent], readySince })]).isStartupStuck;
  };
  assert.deepEqual([stuckAfter(899_000), stuckAfter(900_000)], [false, true]);
});
