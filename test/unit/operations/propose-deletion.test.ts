/** The question before pools are deleted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../src/nodepool/types.ts';
import { NO_CHANGE } from '../../../src/operations/consent.ts';
import type { RawPool } from '../../../src/operations/ports.ts';
import { proposeDeletion } from '../../../src/operations/propose-deletion.ts';
import type { ClusterPlan } from '../../../src/reconciler/cluster-plan.ts';
import { aNode, aPool, taint } from '../nodepool/fixtures.ts';
import { member, pool, role } from './fake-server.ts';

const withStatus = (of: NodePool, nodeCount: number): NodePool => ({ ...of, status: { status: 200, nodeCount } });

/** @param options of the deletion of pool a */
async function propose(
  known: NodePool[],
  nodes: Node[] | NodepoolError,
  options: Partial<Parameters<typeof proposeDeletion>[0]> = {},
) {
  const read: string[] = [];
  const listNodes = async () => {
    read.push('nodes');
    if (nodes instanceof Error) throw nodes;
    return nodes;
  };
  const listPools = async () => {
    read.push('pools');
    return known;
  };
  const get = async (name: string) => known.find(({ metadata }) => metadata.name === name) as RawPool | undefined;
  const choice = { names: ['a'], ignoreNotFound: false, detachNodes: false, countsNodes: true, ...options };
  const proposal = await proposeDeletion(choice, {
    cluster: {
      pools: { get, list: async () => known as RawPool[], listCoerced: listPools },
      nodes: { list: listNodes },
    },
  });
  return { ...proposal, read };
}

function planOf({ plan }: { plan: ClusterPlan | NodepoolError }): ClusterPlan {
  assert.ok(!(plan instanceof NodepoolError));
  return plan;
}

test("counts current nodes, and asks about each node and the pools' UIDs", async () => {
  const nodes = [member('n1', 'a', 'x'), member('n2', 'a', 'x'), member('n3', 'b', 'x'), aNode({ name: 'n4' })];
  const proposal = await propose([withStatus(pool('a', { tier: 'x' }), 7), pool('b', { tier: 'x' })], nodes);
  assert.deepEqual(proposal.question, {
    text: 'Delete pool a (2 nodes)?',
    covers: ['pool uid-a', 'node n1', 'node n2'],
  });
  assert.deepEqual(
    planOf(proposal).nodes.map(({ node, patch }) => [node.name, patch?.labels, patch?.record]),
    [
      ['n1', { tier: null }, null],
      ['n2', { tier: null }, null],
    ],
  );
  assert.deepEqual(
    proposal.pools.map(({ metadata }) => metadata.name),
    ['a'],
  );
});

test('accepts several pools, each once', async () => {
  const { question, pools } = await propose([pool('a', {}), pool('b', {})], [member('n1', 'b', 'x')], {
    names: ['a', 'b', 'a'],
  });
  assert.equal(question?.text, 'Delete pools a (0 nodes), b (1 node)?');
  assert.equal(pools.length, 2);
});

test('reads nodes for NoExecute taints of next owners', async () => {
  const other = aPool({ nodeSelector: { zone: 'z' }, taints: [taint('d:NoExecute')] }, { name: 'b', uid: 'uid-b' });
  const node = { ...member('n1', 'a', 'x'), labels: { ...member('n1', 'a', 'x').labels, zone: 'z' } };
  const proposal = await propose([pool('a', { tier: 'x' }), other], [node], { countsNodes: false });
  assert.deepEqual(proposal.read, ['pools', 'nodes']);
  assert.deepEqual(
    planOf(proposal).nodes.map(({ owner, patch }) => [owner, patch?.taints]),
    [['b', [taint('d:NoExecute')]]],
  );
});

test('reads no nodes when nothing is counted and no pod can be evicted: the status has the numbers', async () => {
  const proposal = await propose([withStatus(pool('a', {}), 7), pool('b', {})], [member('n1', 'a', 'x')], {
    names: ['a', 'b'],
    countsNodes: false,
  });
  const { plan, question, read } = proposal;
  assert.deepEqual([plan, read], [NO_CHANGE, ['pools']]);
  assert.deepEqual(question, {
    text: 'Delete pools a (7 nodes), b (0 nodes)?',
    covers: ['pool uid-a', 'pool uid-b'],
  });
});

test("asks with the status's numbers when nodes cannot be read, and reports the reason in place of the plan", async () => {
  const refusal = new NodepoolError('cluster', 'no');
  const { plan, question } = await propose([withStatus(pool('a', {}), 7)], refusal);
  assert.equal(plan, refusal);
  assert.equal(question?.text, 'Delete pool a (7 nodes)?');
});

test('reports a name that does not exist, or ignores it', async () => {
  await assert.rejects(propose([pool('a', {})], [], { names: ['x', 'a', 'y'] }), {
    kind: 'input',
    message: 'nodepools "x", "y" not found',
  });
  const { question } = await propose([pool('a', {})], [], { names: ['x', 'a'], ignoreNotFound: true });
  assert.equal(question?.text, 'Delete pool a (0 nodes)?');
  const none = await propose([pool('a', {})], [], { names: ['x'], ignoreNotFound: true });
  assert.deepEqual(none, { pools: [], plan: NO_CHANGE, read: [] });
});

test('detaches the member label with the release, and keeps labels of a selector', async () => {
  const nodes = [member('n1', 'a', 'x')];
  const detached = await propose([pool('a', { tier: 'x' })], nodes, { detachNodes: true });
  const [plan] = planOf(detached).nodes;
  assert.deepEqual(plan?.patch?.labels, { tier: null, 'node-role.kubernetes.io/a': null });
  const [kept] = planOf(await propose([pool('a', { tier: 'x' })], nodes)).nodes;
  assert.deepEqual(kept?.patch?.labels, { tier: null });

  const selecting = aPool({ nodeSelector: { zone: 'z', 'x.io/y': '1' } }, { name: 'a' });
  await assert.rejects(propose([selecting, pool('b', {})], [], { names: ['b', 'a'], detachNodes: true }), {
    kind: 'input',
    message: '--detach-nodes: nodepool a finds its nodes by spec.nodeSelector, whose labels others may have set',
    next: 'leave out --detach-nodes, and unlabel the nodes by hand: `kubectl label node NODE zone- x.io/y-`',
  });
  assert.equal((await propose([selecting], [])).question?.text, 'Delete pool a (0 nodes)?');
});

test('counts a node of a pool that is being deleted already as before', async () => {
  const marked = {
    ...pool('a', {}),
    metadata: { ...pool('a', {}).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  const { question } = await propose([marked], [aNode({ name: 'n1', labels: role('a') })]);
  assert.deepEqual(question, { text: 'Delete pool a (1 node)?', covers: ['pool uid-a', 'node n1'] });
});
