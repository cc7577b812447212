/** Cases that need a fake server; test/e2e/command-move.test.ts has the others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MoveOptions, planMoves } from '../../../../../src/commands/shared/move/plan-moves.ts';
import { moveNodes } from '../../../../../src/commands/shared/move/show-moves.ts';
import { systemClock } from '../../../../../src/controller/clock.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { aNode, recordOf } from '../../../nodepool/fixtures.ts';
import { member, pool, role, server } from '../fake-server.ts';

const moving = { kind: 'move', pool: 'b', selector: undefined, from: undefined } as const;
const options = (cluster: ClusterPort) => ({
  cluster,
  now: () => new Date('2026-01-01T00:00:00Z'),
  clock: systemClock,
  sleep: async () => {},
  warn: () => {},
  concurrency: 4,
});

test('writes each node once, then only the status of both pools', async () => {
  const { cluster, writes } = server(
    [pool('a', { tier: 'a' }), pool('b', { tier: 'b' }), pool('c', {})],
    [member('n1', 'a', 'a'), member('n2', 'a', 'a')],
  );
  const planned = await planMoves({ ...moving, nodes: ['n1'] }, { cluster });
  const { results: _results, ...result } = await moveNodes(planned, options(cluster));
  assert.deepEqual(result, { moved: [{ node: 'n1', from: 'a', to: 'b' }], failures: [], warnings: [] });
  assert.deepEqual(writes, ['node n1', 'status b 200 1', 'event b NodeJoined', 'event a NodeLeft', 'status a 200 1']);
});

test('fails a refused node once, even if both pools tried to write it', async () => {
  const { cluster } = server([pool('a', { tier: 'a' }), pool('b', { tier: 'b' })], [member('n1', 'a', 'a')]);
  cluster.nodes.patch = async name => {
    throw new NodepoolError('cluster', `cannot patch Node "${name}": a policy denied the request`);
  };
  const planned = await planMoves({ ...moving, nodes: ['n1'] }, { cluster });
  const { moved, failures } = await moveNodes(planned, options(cluster));
  const message = 'cannot patch Node "n1": a policy denied the request';
  assert.deepEqual([moved, failures.map(failure => failure.message)], [[], [message]]);
});

test('releases everything from a pool that was deleted meanwhile', async () => {
  const { cluster, known, live, writes } = server(
    [pool('a', { tier: 'a' }), pool('b', { tier: 'b' })],
    [member('n1', 'a', 'a'), member('n2', 'b', 'b')],
  );
  const planned = await planMoves({ ...moving, nodes: ['n1'] }, { cluster });
  const before = known.get('b') ?? assert.fail();
  known.set('b', {
    ...before,
    metadata: { ...before.metadata, resourceVersion: '50', deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  const status = cluster.pools.patchStatus;
  cluster.pools.patchStatus = async (of, ...rest) =>
    of.metadata.name === 'b' ? { kind: 'conflict' } : status(of, ...rest);
  const { moved, failures } = await moveNodes(planned, options(cluster));
  assert.deepEqual(
    [moved, failures.map(({ message }) => message)],
    [[], ['pool b has released node n1 again: the pool was deleted or changed meanwhile']],
  );
  assert.deepEqual(
    [...live.values()].map(({ labels, record }) => [labels.tier, record]),
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
  assert.ok(writes.includes('finalizers b 0'), writes.join());
});

test('fails only the node, not the pool, if it was deleted or has another owner', async () => {
  const { cluster, live, known } = server(
    [pool('a', { tier: 'a' }), pool('b', { tier: 'b' })],
    ['n1', 'n2', 'n3'].map(name => member(name, 'a', 'a')),
  );
  const planned = await planMoves({ ...moving, nodes: ['n1', 'n2', 'n3'] }, { cluster });
  live.delete('n1');
  const n2 = live.get('n2') ?? assert.fail();
  live.set('n2', { ...n2, resourceVersion: '9', labels: { ...n2.labels, 'node-role.kubernetes.io/b': 'other' } });
  const { moved, failures } = await moveNodes(planned, options(cluster));
  assert.deepEqual(moved, [{ node: 'n3', from: 'a', to: 'b' }]);
  assert.deepEqual(
    failures.map(({ message }) => message),
    [
      'node n1 was deleted meanwhile',
      'node n2 has the label node-role.kubernetes.io/b=other, but members of pool b have node-role.kubernetes.io/b=',
    ],
  );
  assert.equal(known.get('b')?.status?.status, 200);
});

test('refuses a removal that another pool would undo', async () => {
  const giver = pool('giver', { grade: 'y' });
  const taker = {
    ...pool('taker', {}),
    spec: { nodeSelector: { grade: 'y' } },
    metadata: { ...pool('taker', {}).metadata, creationTimestamp: '2026-02-01T00:00:00Z' },
  };
  const node = aNode({
    name: 'n1',
    labels: { ...role('giver'), grade: 'y' },
    record: recordOf({ pool: 'giver', labels: { grade: 'y' } }),
  });
  const { cluster } = server([giver, taker], [node]);
  const asked = { ...moving, kind: 'remove', pool: 'taker' } as const;
  await assert.rejects(planMoves({ ...asked, nodes: ['n1'] }, { cluster }), {
    message: 'node n1 would match pool taker again: pool giver sets the labels that pool taker selects',
  });
});

test('selects only the nodes of a pool that loses nodes', async () => {
  const nodes = [member('n1', 'a', 'a'), member('n2', 'b', 'b'), aNode({ name: 'n3', uid: 'uid-n3' })];
  const { cluster } = server([pool('a', { tier: 'a' }), pool('b', { tier: 'b' }), pool('c', {})], nodes);
  const planned = async (options: Partial<MoveOptions>) => {
    const asked = { ...moving, nodes: [], selector: 'any', ...options };
    const { plan, unchanged } = await planMoves(asked, { cluster });
    return [plan.nodes.map(({ node }) => node.name), unchanged];
  };
  assert.deepEqual(await planned({ pool: 'c', from: 'a' }), [['n1'], []]);
  assert.deepEqual(await planned({ pool: 'b' }), [['n1', 'n3'], ['n2']]);
  assert.deepEqual(await planned({ kind: 'remove', pool: 'b' }), [['n2'], []]);
  assert.deepEqual(await planned({ kind: 'remove', pool: 'c' }), [[], []]);
  assert.deepEqual(await planned({ pool: 'c', from: 'c' }), [[], []]);
});

test('removes labels and taints of a node that has left the pool by its labels', async () => {
  const left = { ...member('n1', 'a', 'a'), labels: { tier: 'a' } };
  const { cluster, live, writes } = server([pool('a', { tier: 'a' })], [left, member('n2', 'a', 'a')]);
  const asked: MoveOptions = { ...moving, kind: 'remove', pool: 'a', nodes: ['n1'] };
  const planned = await planMoves(asked, { cluster });
  const { results: _results, ...result } = await moveNodes(planned, options(cluster));
  assert.deepEqual(result, { moved: [{ node: 'n1', from: undefined, to: undefined }], failures: [], warnings: [] });
  const { labels, record } = live.get('n1') ?? assert.fail();
  assert.deepEqual([labels, record], [{}, undefined]);
  assert.deepEqual(writes, ['node n1', 'status a 200 1', 'event a NodeLeft']);
  const again = await planMoves(asked, { cluster });
  assert.deepEqual([again.plan.nodes, again.unchanged], [[], ['n1']]);
});
