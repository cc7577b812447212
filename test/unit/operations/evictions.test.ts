import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePool, NodePoolSpec, NodePoolStatus } from '../../../src/nodepool/types.ts';
import {
  deletionPlans,
  editPlans,
  noExecutePlans,
  previewEvictions,
  releasePlans,
} from '../../../src/operations/evictions.ts';
import type { PlacedPod } from '../../../src/operations/node-access-port.ts';
import type { ClusterPort } from '../../../src/reconciler/ports.ts';
import { View } from '../../../src/reconciler/view.ts';
import { aNode, aPool, recordOf, taint } from '../nodepool/fixtures.ts';

const pod = (name: string, node: string, more: Partial<PlacedPod> = {}): PlacedPod => ({
  namespace: 'default',
  name,
  node,
  tolerations: [],
  hasEnded: false,
  controller: 'ReplicaSet',
  ...more,
});

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
/** Pool p has displaced another value of the taint. */
const DISPLACED = recordOf({
  pool: 'p',
  taints: { 'y:NoExecute': 'ours' },
  displaced: { taints: { 'y:NoExecute': 'theirs' } },
});

function planned(name: string, before: string[], after: string[]) {
  const node = aNode({ name, taints: before.map(taint) });
  return { node, patch: { resourceVersion: '1', taints: after.map(taint) } };
}

test('pods are read only when a taint arrives, and only of its nodes', async () => {
  const asked: (readonly string[])[] = [];
  const access = {
    async podsOn(nodes: readonly string[]) {
      asked.push(nodes);
      return [];
    },
  };
  const node = aNode({ name: 'c' });
  assert.equal(await previewEvictions([planned('a', ['x:NoExecute'], ['x:NoExecute'])], access), undefined);
  assert.equal(await previewEvictions([{ node, patch: undefined }], access), undefined);
  assert.equal(await previewEvictions([planned('a', ['x:NoExecute'], [])], access), undefined);
  assert.deepEqual(asked, []);
  assert.equal(
    await previewEvictions([planned('a', [], ['x:NoSchedule']), planned('b', [], ['x:NoExecute'])], access),
    undefined,
  );
  assert.deepEqual(asked, [['b']]);
});

test('what goes at once and what later, and of what kind; not what goes anyway', async () => {
  const waits = { tolerations: [{ operator: 'Exists', tolerationSeconds: 30 }] };
  const pods = [
    pod('b', 'n1'),
    pod('a', 'n1', { controller: 'DaemonSet' }),
    pod('bare', 'n1', { controller: undefined }),
    pod('done', 'n1', { controller: undefined, hasEnded: true }),
    pod('later', 'n1', waits),
    pod('stays', 'n1', { tolerations: [{ key: 'x', operator: 'Exists' }] }),
    pod('goes-anyway', 'n2'),
    pod('waited', 'n2', waits),
    pod('was-tolerant', 'n2', { tolerations: [{ key: 'old', operator: 'Exists' }] }),
  ];
  const plans = [
    planned('n2', ['old:NoExecute'], ['old:NoExecute', 'x=1:NoExecute']),
    planned('n1', [], ['x=1:NoExecute']),
    planned('n3', [], ['x=1:NoExecute']),
  ];
  assert.deepEqual(await previewEvictions(plans, { podsOn: async () => pods }), {
    nodes: [
      {
        node: 'n1',
        taints: [taint('x=1:NoExecute')],
        now: ['default/a', 'default/b', 'default/bare', 'default/done'],
        later: [{ pod: 'default/later', seconds: 30 }],
      },
      { node: 'n2', taints: [taint('x=1:NoExecute')], now: ['default/was-tolerant'], later: [] },
    ],
    now: 5,
    later: 1,
    ofDaemonSets: 1,
    withoutController: 1,
    ended: 1,
  });
});

test('the plans that may bring such a taint: of pools that have one, and where one comes back', () => {
  const pools = [
    aPool({ taints: [taint('x:NoExecute')] }, { name: 'strict' }),
    aPool({ taints: [taint('x:NoSchedule')] }, { name: 'mild' }),
  ];
  const nodes = [
    aNode({ name: 'a', labels: role('strict') }),
    aNode({ name: 'b', labels: role('mild') }),
    aNode({
      name: 'c',
      taints: [taint('y=ours:NoExecute')],
      record: DISPLACED,
    }),
  ];
  const view = new View(pools, nodes, []);
  const found = (names: string[]) => noExecutePlans(view, names).map(({ node, patch }) => [node.name, patch?.taints]);
  assert.deepEqual(found(['strict', 'mild', 'p']), [
    ['a', [taint('x:NoExecute')]],
    ['c', [taint('y=theirs:NoExecute')]],
  ]);
  assert.deepEqual(found(['mild']), []);
});

test('a release gives back what was displaced, and nodes to the pool that lost them', () => {
  const pools = [
    aPool({ taints: [taint('y=ours:NoExecute')] }, { name: 'p' }),
    aPool(
      { taints: [taint('x:NoExecute')], nodeSelector: role('p') },
      { name: 'late', creationTimestamp: '2030-01-01T00:00:00Z' },
    ),
    aPool({ taints: [taint('y=ours:NoExecute')] }, { name: 'other' }),
  ];
  const nodes = [
    aNode({ name: 'a', labels: role('p'), taints: [taint('y=ours:NoExecute')], record: DISPLACED }),
    aNode({ name: 'b', taints: [taint('y=ours:NoExecute')], record: DISPLACED }),
    aNode({ name: 'c', labels: role('other') }),
    aNode({ name: 'fresh', labels: role('p') }),
  ];
  const found = (released: string[], known = pools) =>
    releasePlans(new View(known, nodes, []), released).map(({ node, patch }) => [node.name, patch?.taints]);
  assert.deepEqual(found(['p']), [
    ['a', [taint('y=theirs:NoExecute'), taint('x:NoExecute')]],
    ['b', [taint('y=theirs:NoExecute')]],
    ['fresh', [taint('x:NoExecute')]],
  ]);
  // A deletion that was stopped had marked it already.
  const [p, ...others] = pools;
  assert.ok(p);
  const marked = { ...p, metadata: { ...p.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };
  assert.deepEqual(found(['p'], [marked, ...others]), found(['p']));
  assert.deepEqual(found(['p', 'late'])[0], ['a', [taint('y=theirs:NoExecute')]]);
  assert.deepEqual(found(['p'], []), [
    ['a', [taint('y=theirs:NoExecute')]],
    ['b', [taint('y=theirs:NoExecute')]],
  ]);
});

test('a deletion: nodes are read when it may bring such a taint, and not else', async () => {
  const applied = (observedGeneration: number) =>
    ({ conditions: [{ type: 'Applied', status: 'True', observedGeneration }] }) as unknown as NodePoolStatus;
  const pool = (name: string, spec: NodePoolSpec = {}, generation = 1) => ({
    ...aPool(spec, { name, generation }),
    status: applied(1),
  });
  const strict = { taints: [taint('x:NoExecute')] };
  const reads = async (...pools: NodePool[]) => {
    let nodes = 0;
    const listNodes = async () => {
      nodes++;
      return [];
    };
    const cluster = { listPools: async () => pools, listNodes } as unknown as ClusterPort;
    await deletionPlans(['p'], cluster);
    return nodes;
  };
  assert.equal(await reads(pool('p', { taints: [taint('x:NoSchedule')] }), pool('q')), 0);
  assert.equal(await reads(pool('p', strict), pool('q')), 1, 'it has one');
  assert.equal(await reads(pool('p'), pool('q', strict)), 1, 'another pool has one');
  assert.equal(await reads(pool('p', { unmanaged: 'Remove' })), 1, 'it may have stripped one');
  assert.equal(await reads(pool('p', {}, 2)), 1, 'an earlier spec may have had one');
  assert.equal(await reads(aPool({}, { name: 'p' })), 1, 'it was never wholly applied');
  assert.equal(await reads(pool('q')), 1, 'it is gone');
});

test('an edit: nodes are read when it touches what decides on such taints, and not else', async () => {
  let reads = 0;
  const before = aPool({ taints: [taint('y=ours:NoExecute'), taint('z:NoSchedule')] }, { name: 'p' });
  const node = aNode({ name: 'a', labels: role('p'), taints: [taint('y=ours:NoExecute')], record: DISPLACED });
  const cluster = {
    listPools: async () => [before],
    async listNodes() {
      reads++;
      return [node];
    },
  } as unknown as ClusterPort;
  const edited = async (spec: NodePoolSpec) => {
    reads = 0;
    const plans = await editPlans(before, { ...before, spec }, cluster);
    return [reads, plans.map(({ patch }) => patch?.taints)];
  };
  const { taints = [] } = before.spec;
  assert.deepEqual(await edited({ taints, labels: { a: 'b' }, handler: 'runc', unmanaged: 'Keep' }), [0, []]);
  assert.deepEqual(await edited({ taints: taints.slice(0, 1) }), [0, []]);
  const theirs = [taint('y=theirs:NoExecute')];
  assert.deepEqual(await edited({}), [1, [theirs]]);
  assert.deepEqual(await edited({ taints, nodeSelector: { a: 'b' } }), [1, [theirs]]);
  const stronger = [...taints, taint('x:NoExecute')];
  assert.deepEqual(await edited({ taints: stronger }), [1, [stronger]]);
  assert.equal((await edited({ taints, unmanaged: 'Remove' }))[0], 1);
});

test('a taint that arrives by a label which comes back is among them', () => {
  const giver = aPool({ nodeSelector: { x: '1' }, labels: { tier: 'gold' } }, { name: 'giver' });
  const taker = aPool({ nodeSelector: { tier: 'legacy' }, taints: [taint('e:NoExecute')] }, { name: 'taker' });
  const record = recordOf({ pool: 'giver', labels: { tier: 'gold' }, displaced: { labels: { tier: 'legacy' } } });
  const view = new View([giver, taker], [aNode({ labels: { tier: 'gold' }, record })], []);
  assert.deepEqual(
    noExecutePlans(view, ['giver']).map(({ patch }) => patch?.taints),
    [[taint('e:NoExecute')]],
  );
});
