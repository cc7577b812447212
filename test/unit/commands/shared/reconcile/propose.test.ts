/** The question before a reconcile, and what diff says about the same plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff } from '../../../../../src/commands/shared/changes/diff.ts';
import { proposeReconcile } from '../../../../../src/commands/shared/reconcile/propose.ts';
import type { WorkloadsPort } from '../../../../../src/kube/resources/workloads.ts';
import { NodepoolError } from '../../../../../src/nodepool/errors.ts';
import type { RuntimeClass } from '../../../../../src/nodepool/types.ts';
import { override } from '../../../../override.ts';
import { aRuntimeClass } from '../../../nodepool/fixtures.ts';
import { member, pool, server } from '../fake-server.ts';

const owned = aRuntimeClass('a', 'uid-a');

function depsOf(classes: RuntimeClass[], isNamed: boolean) {
  const { cluster } = server([pool('a', {})], []);
  let reads = 0;
  const port: WorkloadsPort = {
    pods: async () => [],
    templates: async kind =>
      kind === 'Deployment' && isNamed ? [{ kind, namespace: 'ml', name: 'train', runtimeClass: 'node-pool-a' }] : [],
  };
  const workloads = async () => {
    reads++;
    return port;
  };
  return {
    deps: { cluster: override(cluster, { runtimeClasses: { list: async () => classes } }), workloads },
    reads: () => reads,
  };
}

test('asks before it deletes a RuntimeClass that workloads name, and diff names them', async () => {
  const { deps } = depsOf([owned], true);
  const { action, question } = await proposeReconcile([], deps);
  assert.equal(action, 'Reconcile all pools');
  assert.match(
    question?.losses?.[0] ?? '',
    /^RuntimeClass node-pool-a would be deleted, but 1 workload names it: Deployment ml\/train/,
  );
  assert.deepEqual([question?.covers, question?.needsYes], [['Deployment ml/train'], []]);
  assert.deepEqual((await diff([], deps)).warnings, question?.losses);
});

test('does not ask about a RuntimeClass without workloads, and reads none without a deletion', async () => {
  const unnamed = depsOf([owned], false);
  const proposal = await proposeReconcile([], unnamed.deps);
  assert.deepEqual([proposal.warnings, proposal.question, unnamed.reads()], [[], undefined, 1]);
  const none = depsOf([], true);
  assert.equal((await proposeReconcile([], none.deps)).question, undefined);
  assert.deepEqual((await diff([], none.deps)).warnings, []);
  assert.equal(none.reads(), 0);
});

test('asks before it deletes a RuntimeClass if workloads cannot be read', async () => {
  const { deps } = depsOf([owned], false);
  const refused = async () => Promise.reject(new NodepoolError('cluster', 'forbidden'));
  const { question } = await proposeReconcile([], {
    ...deps,
    workloads: async () => ({ pods: refused, templates: refused }),
  });
  const unread = [
    'pods',
    ...['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob'].map(kind => `${kind}s without pods`),
  ];
  assert.deepEqual(question?.losses, [
    `cannot tell which ${unread.join(', ')} use RuntimeClass node-pool-a, which would be deleted: forbidden`,
  ]);
  const may = (what: string) => `${what} cannot be read and may use RuntimeClass node-pool-a`;
  assert.deepEqual([question?.covers, question?.needsYes], [unread.map(may), []]);
});

test('asks about nodes whose release a nodeSelector edit did not show', async () => {
  const left = (name: string) => ({ ...member(name, 'a', 'x'), labels: { tier: 'x' } });
  const { cluster } = server([pool('a', { tier: 'x' })], [left('n1'), left('n2'), member('n3', 'a', 'x')]);
  const deps = { ...depsOf([], false).deps, cluster };
  assert.equal((await proposeReconcile([], deps)).question, undefined);
  assert.equal((await proposeReconcile(['a'], deps, new Set(['n1', 'n2']))).question, undefined);
  assert.deepEqual((await proposeReconcile(['a'], deps, new Set(['n1']))).question, {
    losses: ['1 node (n2) would leave pool a'],
    covers: ['node n2 leaves'],
    needsYes: [],
  });
  const both = override(cluster, { runtimeClasses: { list: async () => [owned] } });
  const { question } = await proposeReconcile(['a'], { ...depsOf([owned], true).deps, cluster: both }, new Set());
  assert.deepEqual(question?.covers, ['node n1 leaves', 'node n2 leaves', 'Deployment ml/train']);
  assert.match(
    question?.losses?.join('; ') ?? '',
    /^2 nodes \(n1, n2\) would leave pool a; RuntimeClass node-pool-a would be deleted, but 1 workload names it/,
  );
});

test('with --wait the question names nodes of all steps, and later skips deleted pools', async () => {
  const web = pool('a', { tier: 'y' });
  const rolling = { ...web, spec: { ...web.spec, rollout: { maxConcurrent: 1 } } };
  const { cluster } = server([rolling], [member('n1', 'a', 'x'), member('n2', 'a', 'x')]);
  const deps = { ...depsOf([], false).deps, cluster };
  assert.equal((await proposeReconcile([], deps)).action, 'Reconcile all pools and change 1 node (n1)');
  const first = await proposeReconcile([], deps, undefined, { isFirst: true, written: undefined });
  assert.equal(first.action, 'Reconcile all pools and change 2 nodes (n1, n2)');
  await assert.rejects(proposeReconcile(['b'], deps, undefined, { isFirst: true, written: undefined }));
  const later = await proposeReconcile(['a', 'b'], deps, undefined, { isFirst: false, written: undefined });
  assert.deepEqual(later.pools, ['a']);
});

test('diff mentions records and counts that reconcile updates, without a difference', async () => {
  const recorded = member('n1', 'a', 'x');
  const { record: _record, ...unrecorded } = member('n2', 'a', 'x');
  const status = { status: 200, nodeCount: 3, readyNodeCount: 3 };
  const { cluster } = server([{ ...pool('a', { tier: 'x' }), status }], [recorded, unrecorded]);
  const { plan, notes } = await diff([], { ...depsOf([], false).deps, cluster });
  assert.deepEqual(
    plan.nodes.flatMap(({ changes }) => changes),
    [],
  );
  assert.deepEqual(notes, [
    "pool a: record is missing or not valid on 1 node that already has the pool's values: n2",
    'pool a: status is out of date (3 nodes, 3 Ready; now 2 nodes, 2 Ready)',
  ]);
  const lacking = ['n1', 'n2', 'n3', 'n4'].map(name => ({ ...unrecorded, name: `${name}.eu-west-1.compute.internal` }));
  const clouds = server([{ ...pool('a', { tier: 'x' }), status: { status: 200, nodeCount: 4 } }], lacking);
  const [note] = (await diff([], { ...depsOf([], false).deps, cluster: clouds.cluster })).notes;
  assert.match(note ?? '', / on 4 nodes that already have the pool's values: n1…, n2…, n3… and 1 more$/);
});
