/** The question before pools are deleted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_CHANGE } from '../../../../../src/commands/shared/consent/consent.ts';
import { proposeDeletion } from '../../../../../src/commands/shared/delete/delete.ts';
import type { RawPool } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { NamingPod } from '../../../../../src/nodepool/plan/runtime-class-users.ts';
import type { Node, NodePool, RuntimeClass } from '../../../../../src/nodepool/types.ts';
import type { ClusterPlan } from '../../../../../src/reconciler/plan/cluster-plan.ts';
import { aNode, aPool, aRuntimeClass, recordOf, taint } from '../../../nodepool/fixtures.ts';
import { member, pool, role } from '../fake-server.ts';

const withStatus = (of: NodePool, nodeCount: number): NodePool => ({ ...of, status: { status: 200, nodeCount } });

/** @param options of the deletion of pool a */
async function propose(
  known: NodePool[],
  nodes: Node[] | NodepoolError,
  options: Partial<Parameters<typeof proposeDeletion>[0]> = {},
  { classes = [] as RuntimeClass[], pods = [] as NamingPod[] | NodepoolError } = {},
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
  const which = 'all' in options ? {} : { names: ['a'] };
  const choice = { ...which, ignoreNotFound: false, detachNodes: false, readsNodes: true, ...options };
  const proposal = await proposeDeletion(choice as Parameters<typeof proposeDeletion>[0], {
    cluster: {
      pools: { get, list: async () => known as RawPool[], listCoerced: listPools, firstNames: async () => [] },
      nodes: { list: listNodes, get: async () => undefined, serverTime: () => new Date() },
      runtimeClasses: { list: async () => classes },
    },
    workloads: async () => {
      read.push('workloads');
      return {
        async pods() {
          if (pods instanceof Error) throw pods;
          return pods;
        },
        async templates(kind) {
          if (kind === 'DaemonSet') throw new NodepoolError('cluster', 'no DaemonSets');
          return kind === 'CronJob' ? [{ kind, namespace: 'ml', name: 'nightly', runtimeClass: 'node-pool-a' }] : [];
        },
      };
    },
  });
  return { ...proposal, read };
}

function nodePlan({ plan }: { plan: ClusterPlan | NodepoolError }): ClusterPlan {
  assert.ok(!(plan instanceof NodepoolError));
  return plan;
}

test('counts current nodes, and asks with the names of nodes and UIDs of pools', async () => {
  const nodes = [member('n1', 'a', 'x'), member('n2', 'a', 'x'), member('n3', 'b', 'x'), aNode({ name: 'n4' })];
  const proposal = await propose([withStatus(pool('a', { tier: 'x' }), 7), pool('b', { tier: 'x' })], nodes);
  assert.equal(proposal.action, 'Delete pool a (releases 2 nodes), removing label tier');
  assert.deepEqual(proposal.question, {
    losses: [],
    covers: ['pool uid-a', 'node n1', 'node n2'],
    needsYes: undefined,
  });
  assert.deepEqual(
    nodePlan(proposal).nodes.map(({ node, patch }) => [node.name, patch?.labels, patch?.record]),
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

test('accepts several pools, and each only once', async () => {
  const { action, pools } = await propose([pool('a', {}), pool('b', {})], [member('n1', 'b', 'x')], {
    names: ['a', 'b', 'a'],
  });
  assert.equal(action, 'Delete pools a (releases 0 nodes), b (releases 1 node), removing label tier');
  assert.equal(pools.length, 2);
});

test('reads nodes for NoExecute taints of their next owners', async () => {
  const other = aPool({ nodeSelector: { zone: 'z' }, taints: [taint('d:NoExecute')] }, { name: 'b', uid: 'uid-b' });
  const node = { ...member('n1', 'a', 'x'), labels: { ...member('n1', 'a', 'x').labels, zone: 'z' } };
  const proposal = await propose([pool('a', { tier: 'x' }), other], [node], { readsNodes: false });
  assert.deepEqual(proposal.read, ['pools', 'nodes']);
  assert.deepEqual(
    nodePlan(proposal).nodes.map(({ owner, patch }) => [owner, patch?.taints]),
    [['b', [taint('d:NoExecute')]]],
  );
});

test('uses the counts of the status when no nodes are counted and no pod can be evicted', async () => {
  const proposal = await propose([withStatus(pool('a', {}), 7), pool('b', {})], [member('n1', 'a', 'x')], {
    names: ['a', 'b'],
    readsNodes: false,
  });
  const { action, plan, question, read } = proposal;
  assert.deepEqual([plan, read], [NO_CHANGE, ['pools']]);
  assert.equal(action, 'Delete pools a (releases 7 nodes), b (releases 0 nodes)');
  assert.deepEqual(question, {
    losses: [],
    covers: ['pool uid-a', 'pool uid-b'],
    needsYes: undefined,
  });
});

test('asks with the counts of the status when nodes cannot be read, with the reason', async () => {
  const refusal = new NodepoolError('cluster', 'no');
  const { plan, action } = await propose([withStatus(pool('a', {}), 7)], refusal);
  assert.equal(plan, refusal);
  assert.equal(action, 'Delete pool a (releases 7 nodes)');
});

test('reports a missing name, or ignores it', async () => {
  const notFound = { kind: 'input', message: 'nodepools "x", "y" not found' };
  await assert.rejects(propose([pool('a', {})], [], { names: ['x', 'y'] }), notFound);
  const { pools, missing } = await propose([pool('a', {})], [], { names: ['x', 'a', 'y'] });
  assert.deepEqual([pools.map(({ metadata }) => metadata.name), missing?.message], [['a'], notFound.message]);
  const { action } = await propose([pool('a', {})], [], { names: ['x', 'a'], ignoreNotFound: true });
  assert.equal(action, 'Delete pool a (releases 0 nodes)');
  const none = await propose([pool('a', {})], [], { names: ['x'], ignoreNotFound: true });
  assert.deepEqual(none, { pools: [], missing: undefined, plan: NO_CHANGE, read: [] });
});

test('removes the member label with the release, and keeps labels of a selector', async () => {
  const nodes = [member('n1', 'a', 'x')];
  const detached = await propose([pool('a', { tier: 'x' })], nodes, { detachNodes: true });
  const [plan] = nodePlan(detached).nodes;
  assert.deepEqual(plan?.patch?.labels, { tier: null, 'node-role.kubernetes.io/a': null });
  const [kept] = nodePlan(await propose([pool('a', { tier: 'x' })], nodes)).nodes;
  assert.deepEqual(kept?.patch?.labels, { tier: null });

  const selecting = aPool({ nodeSelector: { zone: 'z', 'x.io/y': '1' } }, { name: 'a' });
  await assert.rejects(propose([selecting, pool('b', {})], [], { names: ['b', 'a'], detachNodes: true }), {
    kind: 'input',
    message: '--detach-nodes: pool a selects by spec.nodeSelector, and others may have set these labels',
    next: 'leave out --detach-nodes, and remove the labels yourself: `kubectl label node NODE zone- x.io/y-`',
  });
  const matchExpressions = [
    { key: 'size', operator: 'Gt', values: ['4'] },
    { key: 'spot', operator: 'DoesNotExist' },
  ];
  await assert.rejects(propose([aPool({ matchExpressions }, { name: 'a' })], [], { detachNodes: true }), {
    message: '--detach-nodes: pool a selects by spec.matchExpressions, and others may have set these labels',
    next: 'leave out --detach-nodes, and remove the labels yourself: `kubectl label node NODE size-`',
  });
  assert.equal((await propose([selecting], [])).action, 'Delete pool a (releases 0 nodes)');
});

test('names the first keys of each kind that the nodes lose', async () => {
  const labels = { d: '', c: '', b: '', a: '' };
  const taints = [taint('x=y:NoSchedule'), taint('x=y:NoExecute')];
  const record = recordOf({ pool: 'a', labels, taints: { 'x:NoSchedule': 'y', 'x:NoExecute': 'y' } });
  const nodes = ['n1', 'n2'].map(name => aNode({ name, labels: { ...role('a'), ...labels }, taints, record }));
  const { action } = await propose([aPool({ labels, taints }, { name: 'a' })], nodes);
  const keys = 'labels a, b, c and 1 more, taints x:NoExecute, x:NoSchedule';
  assert.equal(action, `Delete pool a (releases 2 nodes), removing ${keys}`);
});

test('counts a node of a terminating pool as before', async () => {
  const marked = {
    ...pool('a', {}),
    metadata: { ...pool('a', {}).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  const { action, question } = await propose([marked], [aNode({ name: 'n1', labels: role('a') })]);
  assert.equal(action, 'Delete pool a (releases 1 node)');
  assert.deepEqual(question, {
    losses: [],
    covers: ['pool uid-a', 'node n1'],
    needsYes: undefined,
  });
});

const ownClass = aRuntimeClass('a', 'uid-a');
const podOf = (name: string): NamingPod => ({
  namespace: 'ml',
  name,
  runtimeClass: 'node-pool-a',
  controller: { kind: 'ReplicaSet', name: 'train-77b' },
  templateHash: '77b',
});

test('asks about workloads that lose their RuntimeClass, and reports what could not be read', async () => {
  const cluster = { classes: [ownClass], pods: [podOf('x'), podOf('y')] };
  for (const detachNodes of [false, true]) {
    const proposal = await propose([pool('a', {})], [], { readsNodes: false, detachNodes }, cluster);
    assert.deepEqual(nodePlan(proposal).runtimeClasses, [{ name: 'node-pool-a', kind: 'delete' }]);
    assert.deepEqual(proposal.question?.losses, [
      'RuntimeClass node-pool-a would be deleted, but 2 workloads name it: CronJob ml/nightly (0 pods), Deployment ml/train (2 pods). Running pods stay; the server would reject new pods until runtimeClassName is removed from the pod templates',
      'cannot tell which DaemonSets without pods use RuntimeClass node-pool-a, which would be deleted: no DaemonSets',
    ]);
    const unread = 'DaemonSets without pods cannot be read and may use RuntimeClass node-pool-a';
    assert.deepEqual(proposal.question?.covers.slice(1), ['CronJob ml/nightly', 'Deployment ml/train', unread]);
    assert.deepEqual(proposal.question?.needsYes, []);
  }
});

test('names the workloads even if no plan can be made', async () => {
  const refusal = new NodepoolError('cluster', 'no nodes');
  const cluster = { classes: [ownClass], pods: [podOf('x')] };
  const { plan, question } = await propose([pool('a', {})], refusal, {}, cluster);
  assert.equal(plan, refusal);
  assert.match(question?.losses?.[0] ?? '', /^RuntimeClass node-pool-a would be deleted, but 2 workloads name it: /);
  assert.deepEqual(question?.covers.slice(0, 3), ['pool uid-a', 'CronJob ml/nightly', 'Deployment ml/train']);
});

test('reads no workloads when no RuntimeClass is deleted', async () => {
  const foreign = { ...ownClass, metadata: { name: 'node-pool-a' } };
  for (const classes of [[], [foreign], [{ ...ownClass, metadata: { ...ownClass.metadata, name: 'node-pool-b' } }]]) {
    const { read, question } = await propose([pool('a', {})], [], {}, { classes });
    assert.deepEqual([read, question?.losses], [['pools', 'nodes'], []]);
  }
});

test('asks about pods that the user may not list, along with other workloads', async () => {
  const { question } = await propose(
    [pool('a', {})],
    [],
    {},
    {
      classes: [ownClass],
      pods: new NodepoolError('cluster', 'no pods'),
    },
  );
  assert.match(question?.losses?.at(-1) ?? '', /^cannot tell which pods, DaemonSets without pods use .*: no pods$/);
  assert.deepEqual(question?.covers.slice(1), [
    'CronJob ml/nightly',
    'pods cannot be read and may use RuntimeClass node-pool-a',
    'DaemonSets without pods cannot be read and may use RuntimeClass node-pool-a',
  ]);
});

test('a script needs --yes for pools that its command line does not name', async () => {
  const pools = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => pool(name, {}));
  const { question } = await propose(pools, [], { all: true });
  assert.deepEqual(question?.needsYes, ['6 pools would be deleted: a, b, c, d, e and 1 more']);
});
