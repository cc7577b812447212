/** Which pools are reconciled, in which order, and with which results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunMemory } from '../../../../../src/commands/shared/reconcile/apply.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { Intent } from '../../../../../src/reconciler/plan/intent.ts';
import type { Overrides } from '../../../../override.ts';
import { FakeClock } from '../../../controller/fake-clock.ts';
import { aNode, aPool } from '../../../nodepool/fixtures.ts';
import { member, pool, role } from '../fake-server.ts';
import { applied, MOVED, move, names, statusesIn } from './run-apply.ts';

/** Matches nodes in zone z, and loses those that an older pool matches. */
const younger = (name: string) =>
  aPool({ nodeSelector: { zone: 'z' } }, { name, uid: `uid-${name}`, creationTimestamp: '2026-02-01T00:00:00Z' });
const inZone = () => ({ ...member('n1', 'a', 'a'), labels: { ...member('n1', 'a', 'a').labels, zone: 'z' } });

test('reconciles pools of the intent in order, then others that gained or lost nodes, by name', async () => {
  const pools = [pool('z', { tier: 'z' }), pool('y', { tier: 'y' }), pool('c', {}), pool('a', { tier: 'a' })];
  // n1 has left z for c, n2 has left y for a.
  const nodes = [
    { ...member('n1', 'z', 'z'), labels: { ...role('c'), tier: 'z' } },
    { ...member('n2', 'y', 'y'), labels: { ...role('a'), tier: 'y' } },
  ];
  const { chosen, others, writes } = await applied(pools, nodes, { pools: ['c', 'a'] });
  assert.deepEqual(
    [names(chosen), names(others)],
    [
      ['c', 'a'],
      ['y', 'z'],
    ],
  );
  assert.deepEqual(statusesIn(writes).toSorted(), [
    'status a 200 1',
    'status c 200 1',
    'status y 200 0',
    'status z 200 0',
  ]);
});

test('reads no other pool in a run that changes no node', async () => {
  const { chosen, others } = await applied(
    [pool('a', { tier: 'a' }), pool('b', {})],
    [member('n1', 'a', 'a'), member('n2', 'b', 'b')],
    { pools: ['a'] },
  );
  assert.deepEqual([names(chosen), names(others)], [['a'], []]);
});

test('ignores a pool that lost a node to another pool of the intent', async () => {
  const { others } = await applied([pool('a', { tier: 'a' }), younger('m')], [inZone()], { pools: ['a'] });
  assert.deepEqual(others, []);
});

test('updates a pool that matched a node only before or only after its change', async () => {
  const pools = [pool('a', { tier: 'a' }), pool('b', {}), younger('m')];
  const changed = (zone: string | null): Intent => ({
    pools: ['b'],
    changes: new Map([['n1', { ...MOVED, labels: () => ({ ...MOVED.labels(), zone }) }]]),
  });
  const left = await applied(pools, [inZone()], changed(null));
  const joined = await applied(pools, [member('n1', 'a', 'a')], changed('z'));
  assert.deepEqual(
    [names(left.others), names(joined.others)],
    [
      ['a', 'm'],
      ['a', 'm'],
    ],
  );
});

test('writes only the nodes of the intent for another pool', async () => {
  const drifted = { ...member('n2', 'a', 'a'), labels: role('a') };
  const { others, live } = await applied(
    [pool('a', { tier: 'a' }), pool('b', { tier: 'b' })],
    [member('n1', 'a', 'a'), drifted],
    move,
  );
  assert.deepEqual(names(others), ['a']);
  assert.deepEqual(live.get('n2'), drifted);
  assert.deepEqual(live.get('n1')?.labels, { ...role('b'), tier: 'b' });
  const [a] = others;
  assert.deepEqual(a?.outcome?.warnings, [
    {
      message: '1 other node differs from the labels and taints of the pool, and the status was not written',
      next: 'run `kubectl nodepool reconcile a`',
    },
  ]);
});

test('leaves the nodes of a terminating pool to its own deletion', async () => {
  const gone = { ...pool('a', { tier: 'a' }) };
  gone.metadata = { ...gone.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  const { others } = await applied([gone, pool('b', { tier: 'b' })], [member('n1', 'a', 'a')], move);
  assert.deepEqual(others, []);
});

test('reconciles the next owner of a node after a deletion', async () => {
  const marked = pool('a', { tier: 'a' });
  marked.metadata = { ...marked.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  const next = aPool(
    { nodeSelector: { zone: 'z' } },
    { name: 'm', uid: 'uid-m', finalizers: pool('m', {}).metadata.finalizers ?? [], resourceVersion: '1' },
  );
  const node = { ...member('n1', 'a', 'a'), labels: { ...member('n1', 'a', 'a').labels, zone: 'z' } };
  const intent: Intent = { pools: ['a'], isDeletion: true };
  const { chosen, others, writes } = await applied([marked, next], [node], intent);
  assert.deepEqual([chosen[0]?.outcome?.kind, names(others)], ['released', ['m']]);
  assert.deepEqual(statusesIn(writes), ['status m 200 1']);
  // The node needs no write, but matches the pool.
  const bare = aNode({ name: 'n1', labels: { ...role('a'), zone: 'z' } });
  const again = await applied(
    [
      marked,
      aPool({ nodeSelector: { zone: 'z' } }, { name: 'm', uid: 'uid-m', creationTimestamp: '2026-02-01T00:00:00Z' }),
    ],
    [bare],
    intent,
  );
  assert.deepEqual(names(again.others), ['m']);
});

test('does not change a deleted pool that was recreated', async () => {
  const intent: Intent = { pools: ['a'], isDeletion: true };
  const { chosen, writes } = await applied([pool('a', {})], [member('n1', 'a', 'x')], intent, {
    options: { deleted: new Map([['a', 'uid-earlier']]) },
  });
  assert.match(chosen[0]?.error?.message ?? '', /somebody else deleted and recreated pool a/);
  assert.deepEqual(writes, []);
});

test('a refused pool does not stop the others, but a bug does', async () => {
  const pools = [pool('a', { tier: 'x' }), pool('b', {})].map(each => ({
    ...each,
    metadata: { ...each.metadata, finalizers: [] },
  }));
  const failing = (error: Error) => ({
    port: ({ pools: all }: ClusterPort): Overrides => ({
      pools: {
        setFinalizers: (of, ...rest) =>
          of.metadata.name === 'a' ? Promise.reject(error) : all.setFinalizers(of, ...rest),
      },
    }),
  });
  const refusal = new NodepoolError('cluster', 'no');
  const intent = { pools: ['a', 'b'] };
  const { chosen } = await applied(pools, [aNode({ labels: role('a') })], intent, failing(refusal));
  assert.deepEqual(
    chosen.map(({ pool: name, outcome, error }) => [name, outcome?.status?.status, error]),
    [
      ['a', undefined, refusal],
      ['b', 200, undefined],
    ],
  );
  await assert.rejects(applied(pools, [], intent, failing(new TypeError('bug'))), TypeError);
});

test('counts pods if they were read, including 0 for a node without pods', async () => {
  const nodes = [member('n1', 'a', 'a'), member('n2', 'a', 'a')];
  const counts = async (pods?: ReadonlyMap<string, number>) => {
    const { chosen } = await applied(
      [pool('a', { tier: 'a' })],
      nodes,
      { pools: ['a'] },
      pods === undefined ? {} : { pods },
    );
    return chosen[0]?.outcome?.status?.podCount;
  };
  assert.deepEqual([await counts(new Map([['n1', 3]])), await counts()], [3, undefined]);
});

test('reports progress, and writes nothing after an abort', async () => {
  const reported: string[] = [];
  const progress = { planned: (nodes: number) => reported.push(`planned ${nodes}`), done: () => reported.push('done') };
  const nodes = [{ ...member('n1', 'a', 'a'), labels: role('a') }];
  await applied([pool('a', { tier: 'a' })], nodes, { pools: ['a'] }, { options: { progress } });
  assert.deepEqual(reported, ['planned 1', 'done']);
  const { chosen, writes } = await applied(
    [pool('a', { tier: 'a' })],
    nodes,
    { pools: ['a'] },
    {
      options: { signal: AbortSignal.abort() },
    },
  );
  assert.deepEqual([chosen[0]?.outcome?.kind, chosen[0]?.outcome?.unwritten, writes], ['interrupted', 1, []]);
});

test('runs that share their memory share the write limits', async () => {
  const memory: RunMemory = {};
  const clock = new FakeClock();
  let written = 0;
  for (let run = 0; run < 12; run++) {
    // Somebody has set the label back.
    const { writes } = await applied(
      [pool('a', { tier: 'x' })],
      [member('n1', 'a', 'theirs')],
      { pools: ['a'] },
      {
        options: { memory, clock },
        port: () => ({ nodes: { fieldManager: async () => 'kubectl' } }),
      },
    );
    written += writes.filter(write => write === 'node n1').length;
  }
  assert.equal(written, 10);
});
