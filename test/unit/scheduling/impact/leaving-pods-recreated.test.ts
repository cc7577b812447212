import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantityReader } from '../../../../src/nodepool/quantity/amounts.ts';
import type { Node, RuntimeClass, Taint } from '../../../../src/nodepool/types.ts';
import { impactOf } from '../../../../src/scheduling/impact/impact.ts';
import { LeavingPods, recreatedPod, recreations } from '../../../../src/scheduling/impact/leaving-pods.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { readPod } from '../../../../src/scheduling/pod/read-pod.ts';
import { Snapshot } from '../../../../src/scheduling/snapshot.ts';

type Scheduling = NonNullable<RuntimeClass['scheduling']>;

const read = quantityReader();
const CLASS = 'node-pool-web';
const dedicated: Taint = { key: 'dedicated', value: 'web', effect: 'NoExecute' };
const tolerated = { ...dedicated, operator: 'Equal' };

function running(spec: RawPodSpec, before: Scheduling, after: Scheduling, runtimeClass = CLASS) {
  const recreate = recreations(new Map([[CLASS, { before, after }]]));
  const on = { labels: spec.nodeSelector ?? {} };
  const pod = readPod({ metadata: { namespace: 'shop', name: 'w' }, spec: { ...spec, nodeName: 'a' } }, read);
  return { ...pod, placement: recreate(pod.placement, on, runtimeClass) };
}

function recreated(spec: RawPodSpec, before: Scheduling, after: Scheduling, runtimeClass?: string) {
  const { nodeSelector, tolerations } = recreatedPod(running(spec, before, after, runtimeClass)).placement;
  return { nodeSelector, tolerations };
}

test('a recreated pod gets the selector and tolerations of its changed RuntimeClass, and keeps its own', () => {
  const own = { key: 'own', operator: 'Exists' };
  const spec = { nodeSelector: { disk: 'ssd', role: 'web', tier: 'silver' }, tolerations: [own, tolerated] };
  const before = { nodeSelector: { role: 'web', tier: 'silver' }, tolerations: [tolerated] };
  const after = { nodeSelector: { role: 'web' }, tolerations: [{ ...tolerated, value: 'other' }] };
  assert.deepEqual(recreated(spec, before, after), {
    nodeSelector: { disk: 'ssd', role: 'web' },
    tolerations: [own, { ...tolerated, value: 'other' }],
  });
  const { nodeSelector, tolerations } = spec;
  assert.deepEqual(recreated(spec, before, after, 'other'), { nodeSelector, tolerations });
});

test('a pod that is older than its RuntimeClass is recreated with the selector of the changed RuntimeClass', () => {
  const labels = (tier: string) => ({ nodeSelector: { tier } });
  assert.deepEqual(recreated(labels('gold'), labels('silver'), labels('bronze')).nodeSelector, { tier: 'bronze' });
  const recreate = recreations(new Map([[CLASS, { before: {}, after: {} }]]));
  const placement = { nodeSelector: { disk: 'ssd', tier: 'gold' }, nodeTerms: undefined, tolerations: [] };
  const selected = (on: Record<string, string>) => recreate(placement, { labels: on }, CLASS).recreated?.nodeSelector;
  assert.deepEqual(selected({ disk: 'ssd' }), { disk: 'ssd' });
  assert.deepEqual(selected({ disk: 'ssd', tier: 'gold' }), placement.nodeSelector);
});

test('a toleration of the RuntimeClass replaces the same toleration with tolerationSeconds, as admission does', () => {
  const forMinute = { ...tolerated, tolerationSeconds: 60 };
  const both = { key: 'dedicated', operator: 'Exists', tolerationSeconds: 60 };
  const spec = { tolerations: [forMinute, both] };
  assert.deepEqual(recreated(spec, {}, { tolerations: [tolerated] }).tolerations, [both, tolerated]);
  assert.deepEqual(recreated(spec, { tolerations: [tolerated] }, {}).tolerations, [forMinute, both]);
});

test('equal placements share one recreated placement', () => {
  const recreate = recreations(new Map([[CLASS, { before: {}, after: { nodeSelector: { tier: 'gold' } } }]]));
  const placement = { nodeSelector: {}, nodeTerms: undefined, tolerations: [] };
  const on = { labels: {} };
  assert.equal(recreate(placement, on, CLASS), recreate(placement, on, CLASS));
  assert.equal(recreate(placement, on, undefined), placement);
});

function node(labels: Record<string, string>, taints: Taint[] = []): Node {
  const meta = { name: 'a', uid: 'a', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...meta, labels, taints, ready: true, unschedulable: false, allocatable: { pods: '10' } };
}

/** Of one pod on node a. */
function impact(pod: ReturnType<typeof running>, before: Node, after: Node) {
  const snapshot = new Snapshot([after]);
  snapshot.add(pod, 'a');
  const owner = { kind: 'Deployment', name: 'web' };
  return impactOf({
    leaving: [new LeavingPods({ before, after })],
    pods: new Map([['a', [{ name: 'w', pod, node: 'a', owner }]]]),
    daemonSets: [],
    selecting: [],
    budgets: [],
    snapshot,
  });
}

test('pods of a changed RuntimeClass are evicted by their current spec, and placed by their recreated spec', () => {
  const [silver, bronze] = [{ tier: 'silver' }, { tier: 'bronze' }];
  const given = { nodeSelector: silver };
  const moved = impact(running(given, given, { nodeSelector: bronze }), node(silver), node(bronze));
  assert.deepEqual([moved.notAgain, moved.evicted], [[], []]);

  const gets = { nodeSelector: silver, tolerations: [tolerated] };
  const { evicted } = impact(running(given, given, gets), node(silver), node(silver, [dedicated]));
  assert.deepEqual([evicted.length, evicted[0]?.next?.nodes], [1, new Map([['a', 1]])]);

  const ssd = { ...given, nodeSelector: { ...silver, disk: 'ssd' } };
  const after = { nodeSelector: bronze };
  const { keys, notAgain } = impact(running(ssd, given, after), node({ ...silver, disk: 'ssd' }), node(bronze));
  assert.deepEqual([notAgain.length, notAgain[0]?.next?.pending], [1, 1]);
  assert.deepEqual(
    keys.map(({ change, notAgain }) => [change.key, notAgain.length]),
    [
      ['disk', 1],
      ['tier', 0],
    ],
  );
});
