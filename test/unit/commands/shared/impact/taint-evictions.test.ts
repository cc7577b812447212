import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayEvict, previewEvictions } from '../../../../../src/commands/shared/impact/taint-evictions.ts';
import type { PlacedPod } from '../../../../../src/kube/resources/pods.ts';
import type { NodePoolSpec, NodePoolStatus } from '../../../../../src/nodepool/types.ts';
import { aNode, aPool, taint } from '../../../nodepool/fixtures.ts';

const pod = (name: string, node: string, more: Partial<PlacedPod> = {}): PlacedPod => ({
  namespace: 'default',
  name,
  uid: name,
  node,
  tolerations: [],
  hasEnded: false,
  controller: { kind: 'ReplicaSet', name: 'web' },
  ...more,
});

function planned(name: string, before: string[], after: string[]) {
  const node = aNode({ name, taints: before.map(taint) });
  return { node, patch: { resourceVersion: '1', taints: after.map(taint) } };
}

test('reads pods only when a taint arrives, and only on its nodes', async () => {
  const asked: (readonly string[])[] = [];
  const access = {
    async placedOn(nodes: readonly string[]) {
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

test('counts pods by kind that are evicted at once or later, without ended pods', async () => {
  const waits = { tolerations: [{ operator: 'Exists', tolerationSeconds: 30 }] };
  const pods = [
    pod('b', 'n1'),
    pod('a', 'n1', { controller: { kind: 'DaemonSet', name: 'agent' } }),
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
  assert.deepEqual(await previewEvictions(plans, { placedOn: async () => pods }), {
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
    drained: 0,
    ofDaemonSets: 1,
    withoutController: 1,
    ended: 1,
    covers: [
      'n2 default ReplicaSet web #1',
      'n1 default ReplicaSet web #1',
      'n1 default DaemonSet agent #1',
      'n1 default/bare bare',
      'n1 default/done done',
      'n1 default ReplicaSet web after 30s #1',
    ],
  });
});

test('expects evictions by taints that a pool sets, strips, or still has on some nodes', () => {
  const applied = (observedGeneration: number) =>
    ({ conditions: [{ type: 'Applied', status: 'True', observedGeneration }] }) as unknown as NodePoolStatus;
  const pool = (spec: NodePoolSpec = {}, generation = 1) => ({
    ...aPool(spec, { generation }),
    status: applied(1),
  });
  const strict = { taints: [taint('x:NoExecute')] };
  assert.equal(mayEvict([pool({ taints: [taint('x:NoSchedule')], labels: { a: 'b' } }), pool()]), false);
  assert.equal(mayEvict([pool(), pool(strict)]), true, 'it sets one');
  assert.equal(mayEvict([pool()], [aPool(strict, {})]), true, 'it is to set one');
  assert.equal(mayEvict([pool({ startupTaints: strict.taints ?? [] })]), true, 'it sets one on a node that joins');
  assert.equal(mayEvict([pool({ unmanaged: 'Remove' })]), true, 'it may have stripped one');
  assert.equal(mayEvict([pool({}, 2)]), true, 'an earlier spec may have had one');
  assert.equal(mayEvict([aPool({}, { generation: 1 })]), false, 'its only spec has none');
});
