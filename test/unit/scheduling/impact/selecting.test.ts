import assert from 'node:assert/strict';
import { test } from 'node:test';
import { impactData } from '../../../../src/commands/shared/changes/print-diff-data.ts';
import { renderImpact } from '../../../../src/commands/shared/impact/print-impact.ts';
import type { Node } from '../../../../src/nodepool/types.ts';
import { makeStyle } from '../../../../src/print/style.ts';
import { impactOf } from '../../../../src/scheduling/impact/impact.ts';
import { LeavingPods } from '../../../../src/scheduling/impact/leaving-pods.ts';
import type { PlannedChange } from '../../../../src/scheduling/impact/node-keys.ts';
import { admitted, keysOfPod, namesLabel } from '../../../../src/scheduling/impact/selecting.ts';
import type { Impact, SelectingObject } from '../../../../src/scheduling/impact/types.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { placementOf } from '../../../../src/scheduling/pod/read-pod.ts';
import { Snapshot } from '../../../../src/scheduling/snapshot.ts';

function node(name: string, more: Partial<Node> = {}): Node {
  const meta = { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...meta, labels: {}, taints: [], ready: true, unschedulable: false, allocatable: { pods: '10' }, ...more };
}

/** Of the change of a node without pods. */
function impactOn(change: PlannedChange, selecting: SelectingObject[], others: Node[] = []): Impact {
  const snapshot = new Snapshot([change.after, ...others]);
  const leaving = [new LeavingPods(change)];
  return impactOf({ leaving, pods: new Map(), daemonSets: [], selecting, budgets: [], snapshot });
}

function notIn(key: string, value: string): NonNullable<RawPodSpec['affinity']> {
  const terms = [{ matchExpressions: [{ key, operator: 'NotIn', values: [value] }] }];
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } };
}

test('finds the labels in nodeSelector, node affinity and topology spread of a pod', () => {
  const keys = keysOfPod({
    nodeSelector: { disk: 'ssd' },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }],
        },
      },
    },
    topologySpreadConstraints: [{ topologyKey: 'rack' }],
  });
  assert.deepEqual(Object.fromEntries([...keys].map(([key, uses]) => [key, uses.map(({ where }) => where).join()])), {
    disk: 'nodeSelector',
    zone: 'node affinity',
    rack: 'topology spread',
  });
});

test('new pods that spread over a label would stay Pending if no node has the label any more', () => {
  const hard = { topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
  const selecting = [
    {
      name: 'spread',
      spec: { topologySpreadConstraints: [hard] },
    },
    {
      name: 'soft',
      spec: { topologySpreadConstraints: [{ topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway' }] },
    },
    { name: 'picks', spec: { nodeSelector: { rack: '2' } } },
    { name: 'both', spec: { affinity: notIn('rack', '9'), topologySpreadConstraints: [hard] } },
  ].map(({ name, spec }) => ({ kind: 'Deployment', namespace: 'shop', name, keys: keysOfPod(spec) }));
  const change = { before: node('a', { labels: { rack: '1' } }), after: node('a') };
  const found = (others: Node[]) => {
    return impactOn(change, selecting, others).keys[0]?.selectedBy.map(({ name, isAffected, isPending }) => [
      name,
      isAffected,
      isPending,
    ]);
  };
  assert.deepEqual(found([]), [
    ['both', true, true],
    ['picks', false, false],
    ['soft', true, false],
    ['spread', true, true],
  ]);
  assert.deepEqual(found([node('b', { labels: { rack: '9' } })])?.at(-1), ['spread', true, false]);
});

test('new pods of a workload would stay Pending if no node matches its selector any more', () => {
  const spec = { nodeSelector: { disk: 'ssd' } };
  const of = { kind: 'CronJob', namespace: 'shop', keys: keysOfPod(spec) };
  const selecting = [
    { ...of, name: 'placed', placement: placementOf(spec) },
    { ...of, name: 'unknown' },
  ];
  const change = { before: node('a', { labels: { disk: 'ssd' } }), after: node('a') };
  const pending = (others: Node[]) => {
    return impactOn(change, selecting, others)
      .keys[0]?.selectedBy.filter(({ isPending }) => isPending)
      .map(({ name }) => name);
  };
  assert.deepEqual(pending([]), ['placed']);
  const labels = { disk: 'ssd' };
  assert.deepEqual(pending([node('b', { labels })]), []);
  assert.deepEqual(pending([node('b', { labels, taints: [{ key: 'gpu', effect: 'NoSchedule' }] })]), ['placed']);
});

test('the server refuses new pods whose RuntimeClass selects another value than their template', () => {
  const spec = { nodeSelector: { tier: 'a', disk: 'ssd' } };
  const of = { kind: 'CronJob', namespace: 'shop', keys: keysOfPod(spec) };
  const selecting = [
    { ...of, name: 'other', ...admitted(placementOf(spec), { nodeSelector: { tier: 'b' } }) },
    { ...of, name: 'same', ...admitted(placementOf(spec), { nodeSelector: { disk: 'ssd' } }) },
  ];
  const labels = { disk: 'ssd' };
  const change = {
    before: node('a', { labels: { ...labels, tier: 'a' } }),
    after: node('a', { labels: { ...labels, tier: 'b' } }),
  };
  const impact = impactOn(change, selecting, []);
  const told = impact.keys[0]?.selectedBy.map(each => [each.name, each.isRefused, each.isPending, each.isAffected]);
  assert.deepEqual(told, [
    ['other', true, false, true],
    ['same', false, true, true],
  ]);
  const found = { impact, isKnown: true, poolOf: () => undefined, isWellKnownOnly: false, runtimeClasses: [] };
  assert.match(
    renderImpact(found, makeStyle(false)),
    /other \(nodeSelector: pods of the next run would be refused, because their RuntimeClass selects another value\)/,
  );
});

test('names every use of a label in a pod template', () => {
  const key = 'tier';
  const requiredDuringSchedulingIgnoredDuringExecution = {
    nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['gold', 'silver'] }] }],
  };
  const preferredDuringSchedulingIgnoredDuringExecution = [
    { preference: { matchExpressions: [{ key, operator: 'Exists' }] } },
  ];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution };
  const topologySpreadConstraints = [{ topologyKey: key, whenUnsatisfiable: 'DoNotSchedule' }];
  const selecting = [
    {
      name: 'prefers',
      spec: { affinity: { nodeAffinity: { ...nodeAffinity, preferredDuringSchedulingIgnoredDuringExecution } } },
    },
    { name: 'spread', spec: { affinity: { nodeAffinity }, topologySpreadConstraints } },
  ].map(({ name, spec }) => ({ kind: 'Deployment', namespace: 'shop', name, keys: keysOfPod(spec) }));
  const found = (to: Record<string, string>) => {
    const change = { before: node('a', { labels: { tier: 'gold' } }), after: node('a', { labels: to }) };
    const impact = impactOn(change, selecting);
    const found = { impact, isKnown: true, poolOf: () => undefined, isWellKnownOnly: false, runtimeClasses: [] };
    const { keys } = impactData({ ...found, warnings: [] });
    return keys[0]?.selectedBy.map(each => [each.where, each.preferred, each.affected, each.newPodsPending]);
  };
  assert.deepEqual(found({ tier: 'silver' }), [
    ['preferred node affinity', true, true, false],
    ['topology spread', false, true, false],
  ]);
  assert.deepEqual(found({}), [
    ['node affinity, preferred node affinity', false, true, false],
    ['node affinity, topology spread', false, true, true],
  ]);
});

test('finds a label in selectors and expressions of any object, but not a part of another key', () => {
  assert.ok(namesLabel('has(node-role.kubernetes.io/master) && !all()', 'node-role.kubernetes.io/master'));
  assert.ok(namesLabel({ matchExpressions: [{ key: 'disk' }] }, 'disk'));
  assert.ok(namesLabel([{ matchLabels: { disk: 'ssd' } }], 'disk'));
  assert.ok(!namesLabel('has(my-disk)', 'disk'));
  assert.ok(!namesLabel({ a: 1, b: null }, 'disk'));
});
