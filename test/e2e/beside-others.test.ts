/** What docs/beside-others.md says of pools beside tools that create nodes: nodes are replaced, and written by both. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Taint } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { type LiveNode, taintsOf, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
const { ok } = commandsOf(testEnv.cluster);

const GKE = 'cloud.google.com/gke-nodepool';
const KARPENTER = 'karpenter.sh/nodepool';
const DEDICATED = { key: 'dedicated', effect: 'NoSchedule' } as const;
const UNREGISTERED: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
/** Of the template of a NodePool of Karpenter. */
const TEMPLATE = { label: 'capacity', taint: { key: 'spot', effect: 'NoSchedule' } } as const;

test("a node that a cloud replaces gets the pool's settings, but no manual changes", async () => {
  const node = { name: 'gke-1', labels: { [GKE]: 'general' } };
  await testEnv.nodes(node);
  await testEnv.pool('p', { nodeSelector: { [GKE]: 'general' }, labels: { tier: 'gold' }, taints: [DEDICATED] });
  await testEnv.reconcile();
  await testEnv.patchNode('gke-1', { metadata: { labels: { byhand: 'yes' } } });
  await raw(testEnv.cluster()).expect('DELETE', '/api/v1/nodes/gke-1');
  await testEnv.nodes(node);
  await testEnv.reconcile();
  const { metadata, spec } = await testEnv.node('gke-1');
  assert.deepEqual([metadata.labels.tier, metadata.labels.byhand], ['gold', undefined]);
  assert.deepEqual(taintsOf({ metadata, spec }), ['dedicated:NoSchedule']);
});

test('a pool over several node groups changes nodes in place, and keeps settings of the groups', async () => {
  const groups = ['general', 'batch'];
  const theirs = { key: 'theirs', effect: 'NoSchedule' } as const;
  await testEnv.nodes(...groups.map(group => ({ name: group, labels: { [GKE]: group, zone: 'a' }, taints: [theirs] })));
  await testEnv.pool('p', {
    matchExpressions: [{ key: GKE, operator: 'In', values: groups }],
    labels: { tier: 'gold' },
    taints: [DEDICATED],
  });
  await testEnv.reconcile();
  const read = () =>
    Promise.all(groups.map(name => testEnv.node(name) as Promise<LiveNode & { metadata: { uid: string } }>));
  const before = await read();
  await testEnv.edit('p', { spec: { labels: { tier: 'silver' }, taints: [{ ...DEDICATED, value: 'p' }] } });
  await testEnv.reconcile();
  for (const [at, node] of (await read()).entries()) {
    assert.equal(node.metadata.uid, before[at]?.metadata.uid);
    assert.deepEqual([node.metadata.labels.tier, node.metadata.labels.zone], ['silver', 'a']);
    assert.deepEqual(taintsOf(node), ['theirs:NoSchedule', 'dedicated=p:NoSchedule']);
  }
});

/** As Karpenter 1.14 does: labels are set, taints added, its own taint is removed; guarded, and tried again. */
async function register(name: string): Promise<void> {
  for (;;) {
    const { metadata, spec } = await testEnv.node(name);
    const { resourceVersion } = metadata;
    const left = (spec.taints ?? []).filter(({ key }) => key !== UNREGISTERED.key);
    const patch = {
      metadata: { resourceVersion, labels: { [TEMPLATE.label]: 'spot' } },
      spec: { taints: [...left, TEMPLATE.taint] },
    };
    const { status } = await raw(testEnv.cluster()).request('PATCH', `/api/v1/nodes/${name}`, patch);
    if (status < 300) return;
    assert.equal(status, 409);
  }
}

test('nodes that Karpenter registers during a write have the labels and taints of both', async t => {
  const names = Array.from({ length: 50 }, (_, at) => `n${at}`);
  await testEnv.pool('p', { nodeSelector: { [KARPENTER]: 'general' }, labels: { tier: 'gold' }, taints: [DEDICATED] });
  await startWatching(t, testEnv.cluster());
  await Promise.all(
    names.map(async name => {
      await testEnv.nodes({ name, labels: { [KARPENTER]: 'general' }, taints: [UNREGISTERED] });
      await register(name);
    }),
  );
  // The status does not count a node that changed while it was computed: the next reconcile writes it.
  const isWritten = async (name: string) => {
    const { metadata, spec } = await testEnv.node(name);
    const taints = taintsOf({ metadata, spec }).toSorted();
    return (
      isDeepStrictEqual(taints, ['dedicated:NoSchedule', 'spot:NoSchedule']) &&
      metadata.labels.tier === 'gold' &&
      metadata.labels[TEMPLATE.label] === 'spot'
    );
  };
  for (const name of names) await eventually(`${name} has the labels and taints of both`, () => isWritten(name));
  await ok(['delete', 'p', '--yes']);
  const node = await testEnv.node('n0');
  assert.deepEqual([taintsOf(node), node.metadata.labels.tier], [['spot:NoSchedule'], undefined]);
});
