/** Evicted pods that need the same room, rules about each other, and drains that may not have to wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderImpact } from '../../../../src/commands/shared/impact/print-impact.ts';
import type { Budget } from '../../../../src/nodepool/drain/budgets.ts';
import type { Node, Taint } from '../../../../src/nodepool/types.ts';
import { makeStyle } from '../../../../src/print/style.ts';
import { impactOf } from '../../../../src/scheduling/impact/impact.ts';
import { LeavingPods } from '../../../../src/scheduling/impact/leaving-pods.ts';
import type { Impact, RunningPod } from '../../../../src/scheduling/impact/types.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { Snapshot } from '../../../../src/scheduling/snapshot.ts';
import { NO_STORAGE, readStorageClass, type Storage } from '../../../../src/scheduling/volumes/storage.ts';
import { makeBudget } from '../../nodepool/budget.ts';
import { asks, pod, site } from '../fixtures.ts';

const HOST = 'kubernetes.io/hostname';
const GONE: Taint = { key: 'gone', effect: 'NoExecute' };
const CLOSED: Taint = { key: 'gone', effect: 'NoSchedule' };

const node = (name: string, cpu: string, pods = '10', labels: Record<string, string> = {}) =>
  site(name, { allocatable: { cpu, memory: '8Gi', pods }, labels });

function running(
  name: string,
  on: string,
  spec: RawPodSpec,
  more: { kind?: string; labels?: object } = {},
): RunningPod {
  const app = name.split('-')[0] ?? '';
  const traits = pod({ ...spec, nodeName: on }, { name, labels: { app, ...more.labels } });
  return { name, pod: traits, node: on, owner: { kind: more.kind ?? 'Deployment', name: app } };
}

interface More {
  isDrain?: boolean;
  budgets?: Budget[];
  storage?: Storage;
  parallel?: string[];
}

/** @param changed names of nodes that get a taint with NoExecute */
function impact(nodes: Node[], changed: string[], pods: RunningPod[], more: More = {}): Impact {
  const { isDrain = false, budgets = [], storage = NO_STORAGE, parallel = [] } = more;
  const changes = nodes
    .filter(({ name }) => changed.includes(name))
    .map(before => ({
      ...{ before, after: { ...before, taints: [GONE] } },
      ...(isDrain ? { meanwhile: { ...before, taints: [CLOSED] } } : {}),
    }));
  const after = new Map(changes.map(change => [change.before.name, change.after]));
  const snapshot = new Snapshot(
    nodes.map(each => after.get(each.name) ?? each),
    undefined,
    storage,
  );
  for (const each of pods) {
    each.pod = snapshot.parts.traits(each.pod);
    snapshot.add(each.pod, each.node);
  }
  const here = pods.filter(each => changed.includes(each.node));
  return impactOf({
    leaving: changes.map(change => new LeavingPods(change)),
    pods: Map.groupBy(here, each => each.node),
    ...{ daemonSets: [], selecting: [], budgets, snapshot, parallel: new Set(parallel) },
  });
}

const near = (kind: 'podAffinity' | 'podAntiAffinity', app: string, topologyKey = HOST): RawPodSpec => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app } } }],
    },
  },
});
const one = asks({ cpu: '1' });
const uncertain = ({ evicted }: Impact) =>
  Object.fromEntries(evicted.map(({ owner, next }) => [owner?.name, next && [next.uncertain, next.pending]]));
const textOf = (found: Impact) =>
  renderImpact(
    { impact: found, isKnown: true, poolOf: () => undefined, isWellKnownOnly: false, runtimeClasses: [] },
    makeStyle(false),
  );

test('different pods of one owner compete for room, and replicas that must be apart compete with other pods', () => {
  const sizes = ['3', '1'].map((cpu, at) => running(`r-${at}`, 'n1', asks({ cpu }), { kind: 'RayCluster' }));
  assert.deepEqual(uncertain(impact([node('n1', '9'), node('n2', '3'), node('n3', '1')], ['n1'], sizes)), {
    r: [1, 0],
  });
  const apart = { ...one, ...near('podAntiAffinity', 'a') };
  const pods = [running('a-0', 'n1', apart), running('a-1', 'n1', apart), running('b-0', 'n1', one)];
  const nodes = [node('n1', '10'), node('n2', '100', '1'), node('n3', '5')];
  assert.deepEqual(uncertain(impact(nodes, ['n1'], pods)), { a: [2, 0], b: [0, 0] });
});

test('pods of a StatefulSet that must be together wait for each other, unless they are created in parallel', () => {
  const zone = (name: string) => ({ zone: name });
  const nodes = [
    node('n1', '10', '10', zone('a')),
    ...['n2', 'n3'].map(name => node(name, '2', '10', zone('b'))),
    node('n4', '3', '10', zone('c')),
  ];
  const set = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const labels = { 'statefulset.kubernetes.io/pod-name': `db-${at}`, 'apps.kubernetes.io/pod-index': `${at}` };
      return running(
        `db-${at}`,
        'n1',
        { ...one, ...near('podAffinity', 'db', 'zone') },
        { kind: 'StatefulSet', labels },
      );
    });
  assert.deepEqual(uncertain(impact(nodes, ['n1'], set(4))), { db: [1, 0] });
  const [found] = impact(nodes, ['n1'], set(6)).evicted;
  assert.deepEqual([found?.next?.pending, found?.next?.waiting], [1, 1]);
  const [parallel] = impact(nodes, ['n1'], set(6), { parallel: ['default/db'] }).evicted;
  assert.deepEqual([parallel?.next?.pending, parallel?.next?.waiting], [2, 0]);
});

test('with a budget, a pod that must be near others of its owner may have to wait for their drain', () => {
  const spec = { ...one, ...near('podAffinity', 'c') };
  const pods = [running('c-0', 'n1', spec), running('c-1', 'n1', spec)];
  const nodes = [node('n1', '10'), node('n2', '10')];
  const budgets = [makeBudget({ namespace: 'default', name: 'c', selector: { matchLabels: { app: 'c' } } })];
  assert.deepEqual(uncertain(impact(nodes, ['n1'], pods, { isDrain: true, budgets })), { c: [2, 0] });
  assert.deepEqual(uncertain(impact(nodes, ['n1'], pods, { isDrain: true })), { c: [0, 0] });
});

test('pods that can return only to tainted nodes are neither certain nor Pending', () => {
  const tolerations = [{ key: 'gone', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10 }];
  const [n1, n2] = [node('n1', '2'), node('n2', '3')];
  const pods = [
    running('a-0', 'n1', { ...asks({ cpu: '2' }), tolerations }),
    running('b-0', 'n2', { ...asks({ cpu: '2' }), tolerations }),
    running('c-0', 'n2', { ...one, tolerations }),
  ];
  assert.deepEqual(uncertain(impact([n1, n2], ['n1', 'n2'], pods)), { a: [0, 0], b: [0, 0], c: [0, 0] });
});

test('a drain does not wait for certain if its pods can return once another node is drained', () => {
  const tolerations = [{ key: 'gone', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 600 }];
  const spec = { ...one, nodeSelector: { pool: 'x' } };
  const nodes = ['n0', 'n1', 'n2'].map(name => node(name, '10', '10', { pool: 'x' }));
  const [selector, status] = [
    { matchLabels: { app: 'c' } },
    { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
  ];
  const budgets = [makeBudget({ namespace: 'default', name: 'c', selector, status })];
  const of = (more: RawPodSpec) => [
    running('c-0', 'n0', { ...spec, ...more }),
    running('c-1', 'n1', { ...spec, ...more }),
  ];
  const found = impact(nodes, ['n0', 'n1', 'n2'], of({ tolerations }), { isDrain: true, budgets });
  assert.deepEqual(
    found.budgets.map(each => each.kind === 'stuck' && each.certain),
    [false],
  );
  assert.match(textOf(found), /; 1 may not be evicted: a PodDisruptionBudget may block the drain\n/);
  assert.match(textOf(found), /after 1 eviction, the drain may wait forever; add room/);
  const lasting = impact(nodes, ['n0', 'n1', 'n2'], of({}), { isDrain: true, budgets });
  assert.deepEqual(
    lasting.budgets.map(each => each.kind === 'stuck' && each.certain),
    [undefined],
  );
  assert.match(textOf(lasting), /after 1 eviction, the drain waits forever/);
});

test('a budget may hold a drain if pods find no place in some scheduling order', () => {
  const apart = { ...one, ...near('podAntiAffinity', 'a') };
  const pods = [running('a-0', 'n1', apart), running('a-1', 'n1', apart), running('b-0', 'n1', one)];
  const nodes = [node('n1', '10'), node('n2', '100', '1'), node('n3', '5')];
  const selector = { matchLabels: { app: 'a' } };
  const drained = (desiredHealthy: number) => {
    const status = { disruptionsAllowed: 2 - desiredHealthy, currentHealthy: 2, desiredHealthy, expectedPods: 2 };
    return impact(nodes, ['n1'], pods, {
      ...{ isDrain: true, budgets: [makeBudget({ namespace: 'default', name: 'a', selector, status })] },
    });
  };
  const found = drained(1);
  assert.deepEqual(uncertain(found), { a: [2, 0], b: [0, 0] });
  assert.match(
    textOf(found),
    /default\/a needs 1 healthy pod, but 2 of the 2 pods to evict may find no place: after 1/,
  );
  assert.deepEqual(
    found.budgets.map(each => each.kind === 'stuck' && each.certain),
    [false],
  );
  assert.deepEqual(drained(0).budgets, []);
});

test('a drain may wait for pods that returned and have no place once their own node has the taint', () => {
  const tolerations = [{ key: 'gone', operator: 'Exists', effect: 'NoSchedule' }];
  const spec = { ...one, nodeSelector: { pool: 'x' }, tolerations, ...near('podAntiAffinity', 'c') };
  const nodes = ['n0', 'n1', 'n2'].map(name => node(name, '10', '10', { pool: 'x' }));
  const pods = nodes.map(({ name }, at) => running(`c-${at}`, name, spec));
  const told = (changed: string[], currentHealthy = 3) => {
    const disruptionsAllowed = Math.max(0, currentHealthy - 2);
    const status = { disruptionsAllowed, currentHealthy, desiredHealthy: 2, expectedPods: 3 };
    const budgets = [makeBudget({ namespace: 'default', name: 'c', selector: { matchLabels: { app: 'c' } }, status })];
    return impact(nodes, changed, pods, { isDrain: true, budgets }).budgets;
  };
  assert.deepEqual(told(['n0', 'n1', 'n2']), [
    { kind: 'stuck', budget: 'default/c', pods: 3, pending: 3, needs: 2, allowed: 1, certain: false },
  ]);
  assert.deepEqual(told(['n0', 'n1', 'n2'], 1), [
    { kind: 'stuck', budget: 'default/c', pods: 3, pending: 3, needs: 2, allowed: 0, certain: false },
  ]);
  // As soon as all of them may be missing, no other node waits.
  assert.deepEqual(told(['n0']), []);
});

test('names what is not considered, as fit does', () => {
  const storage = {
    ...NO_STORAGE,
    classes: new Map([['now', readStorageClass({ metadata: { name: 'now' }, provisioner: 'csi.example.com' })]]),
  };
  const template = { storageClassName: 'now', accessModes: ['ReadWriteOnce'] };
  const volumes = [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: template } } }];
  const containers = [{ resources: { requests: { 'example.com/gpu': '1' } } }];
  const found = impact([node('n1', '4'), node('n2', '4')], ['n1'], [running('a-0', 'n1', { containers, volumes })], {
    storage,
  });
  assert.deepEqual(found.notJudged.map(({ what }) => what).slice(1), [
    'whether a DeviceClass provides example.com/gpu (dynamic resource allocation)',
    'the future zone of the volume of data: its StorageClass now does not wait for the pod',
  ]);
});
