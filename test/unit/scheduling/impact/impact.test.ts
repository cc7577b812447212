import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderImpact } from '../../../../src/commands/shared/impact/print-impact.ts';
import { quantityReader } from '../../../../src/nodepool/quantity/amounts.ts';
import type { Node, Taint } from '../../../../src/nodepool/types.ts';
import { makeStyle } from '../../../../src/print/style.ts';
import { impactOf } from '../../../../src/scheduling/impact/impact.ts';
import { LeavingPods } from '../../../../src/scheduling/impact/leaving-pods.ts';
import type { PlannedChange } from '../../../../src/scheduling/impact/node-keys.ts';
import { keysOfVolume } from '../../../../src/scheduling/impact/selecting.ts';
import type { DaemonSet, Impact, RunningPod } from '../../../../src/scheduling/impact/types.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import { readPod } from '../../../../src/scheduling/pod/read-pod.ts';
import { Snapshot } from '../../../../src/scheduling/snapshot.ts';
import { readClaim, readVolume } from '../../../../src/scheduling/volumes/storage.ts';

const render = (found: Impact) =>
  renderImpact(
    { impact: found, isKnown: true, poolOf: () => undefined, isWellKnownOnly: false, runtimeClasses: [] },
    makeStyle(false),
  );
const read = quantityReader();
const GPU: Taint = { key: 'gpu', value: 'x', effect: 'NoSchedule' };
const NO_EXECUTE: Taint = { key: 'gpu', value: 'x', effect: 'NoExecute' };

function node(name: string, more: Partial<Node> = {}): Node {
  const meta = { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...meta, labels: {}, taints: [], ready: true, unschedulable: false, allocatable: { pods: '10' }, ...more };
}

function pod(name: string, on: string, spec: RawPodSpec, owner?: RunningPod['owner']): RunningPod {
  const raw = { metadata: { namespace: 'shop', name }, spec: { ...spec, nodeName: on } };
  return { name, pod: readPod(raw, read), node: on, owner };
}

function impact(changes: PlannedChange[], pods: RunningPod[], daemonSets: DaemonSet[] = [], others: Node[] = []) {
  const snapshot = new Snapshot([...changes.map(({ after }) => after), ...others]);
  for (const { pod: each, node: on } of pods) snapshot.add(each, on);
  return impactOf({
    leaving: changes.map(change => new LeavingPods(change)),
    pods: Map.groupBy(pods, each => each.node),
    daemonSets,
    selecting: [],
    budgets: [],
    snapshot,
  });
}

const web = { kind: 'Deployment', name: 'web' };
const agent: DaemonSet = { namespace: 'kube-system', name: 'agent', template: { nodeSelector: { disk: 'ssd' } } };
const agentPod = (on: string) => ({
  ...pod(`agent-${on}`, on, agent.template, { kind: 'DaemonSet', name: 'agent' }),
  pod: { ...pod(`agent-${on}`, on, agent.template).pod, namespace: 'kube-system' },
});

test('removing a label stops the DaemonSet that selects it, and keeps its other pods from being scheduled there again', () => {
  const change = {
    before: node('a', { labels: { disk: 'ssd', zone: '1' } }),
    after: node('a', { labels: { zone: '2' } }),
  };
  const found = impact([change], [agentPod('a'), pod('w', 'a', { nodeSelector: { disk: 'ssd' } }, web)], [agent]);
  assert.deepEqual(
    found.daemonSets.map(({ name, starts, stops }) => [name, starts, stops]),
    [['agent', [], ['a']]],
  );
  const [again] = found.notAgain;
  assert.deepEqual([again?.owner, again?.pods, again?.next?.pending], [web, ['w'], 1]);
  const [disk, zone] = found.keys;
  assert.deepEqual([disk?.change.key, disk?.daemonSets.length, disk?.notAgain.length], ['disk', 1, 1]);
  assert.deepEqual([zone?.change.key, zone?.daemonSets.length, zone?.notAgain.length], ['zone', 0, 0]);
});

test('says that pods or DaemonSets could not be read', () => {
  const change = { before: node('a', { labels: { disk: 'ssd' } }), after: node('a') };
  const found = impact([change], [pod('w', 'a', { nodeSelector: { disk: 'ssd' } }, web)]);
  const unread = { isKnown: false, poolOf: () => undefined, isWellKnownOnly: false, runtimeClasses: [] };
  assert.match(
    renderImpact({ impact: found, ...unread }, makeStyle(false)),
    /\nPods or DaemonSets could not be read: /,
  );
  assert.doesNotMatch(render(found), /could not be read/);
});

test('adding a label starts the DaemonSet that selects it, unless a taint keeps its pods away', () => {
  const before = node('a');
  const starts = impact([{ before, after: node('a', { labels: { disk: 'ssd' } }) }], [], [agent]).daemonSets;
  assert.deepEqual(
    starts.map(each => each.starts),
    [['a']],
  );
  const tainted = impact([{ before, after: node('a', { labels: { disk: 'ssd' }, taints: [GPU] }) }], [], [agent]);
  assert.deepEqual(tainted.daemonSets, []);
});

test('a DaemonSet that starts on a node without room has a Pending pod there', () => {
  const big = { name: 'big', namespace: 'kube-system' };
  const containers = [{ resources: { requests: { cpu: '2' } }, ports: [{ hostPort: 80 }] }];
  const set = { ...big, template: { ...agent.template, containers } };
  const changes = [
    ['a', '3'],
    ['b', '1'],
  ].map(([name = '', cpu = '']) => {
    const allocatable = { pods: '10', cpu };
    return { before: node(name, { allocatable }), after: node(name, { allocatable, labels: { disk: 'ssd' } }) };
  });
  const [found, second] = impact(changes, [], [set, { ...set, name: 'second' }]).daemonSets;
  assert.deepEqual([found?.starts, found?.pending], [['a', 'b'], ['b']]);
  // The first one has taken the room, and the port.
  assert.deepEqual(second?.pending, ['a', 'b']);
  const text = render(impact(changes, [], [set]));
  assert.match(
    text,
    /^ {2}DaemonSet kube-system\/big starts on 2 nodes: a, b; its pods on 1 of them would stay Pending: 1 Insufficient cpu$/m,
  );
  assert.match(text, /^Not considered: preemption/m);
});

test('under a NoSchedule taint the pod of a DaemonSet keeps running, but could not be scheduled there again', () => {
  const labels = { disk: 'ssd' };
  const change = { before: node('a', { labels }), after: node('a', { labels, taints: [GPU] }) };
  const found = impact([change], [agentPod('a')], [agent]);
  assert.deepEqual([found.daemonSets, found.notAgain.map(({ pods }) => pods)], [[], [['agent-a']]]);
});

test('pods that keep running are placed as if all were recreated, and would stay Pending without room', () => {
  const labels = { tier: 'web' };
  const one = { pods: '1' };
  const change = { before: node('a', { labels }), after: node('a', { labels: { tier: 'old' } }) };
  const spec = { nodeSelector: labels };
  const owned = ['w1', 'w2', 'w3'].map(name => pod(name, 'a', spec, web));
  const daemon = { kind: 'Node', name: 'a' };
  const others = [node('b', { labels, allocatable: one }), node('c', { labels, allocatable: one })];
  const found = impact([change], [...owned, pod('bare', 'a', spec), pod('etcd', 'a', spec, daemon)], [], others);
  const [deployment, bare, ...more] = found.notAgain;
  assert.deepEqual(deployment?.next?.nodes, new Map(Object.entries({ b: 1, c: 1 })));
  assert.deepEqual([deployment?.next?.pending, bare?.pods, bare?.next?.pending], [1, ['bare'], 1]);
  assert.deepEqual(more, []);
  const text = render(found);
  assert.match(text, /^~ label tier: web -> old on 1 node$/m);
  const alone = render(impact([change], [pod('w', 'a', spec, web)]));
  assert.match(alone, /^~ label tier: web -> old on 1 node; no other node has tier=web$/m);
  assert.match(text, /^ {2}3 pods of Deployment shop\/web keep running, but could not be scheduled there again$/m);
  assert.match(
    text,
    /^Pods that keep running, if all are recreated:\n {2}3 pods of Deployment shop\/web: can go: 2 on nodes b, c \(no pool\); 1 would stay Pending: 1 node\(s\) didn't match Pod's node affinity\/selector, 2 Too many pods\n {2}Pod shop\/bare: no controller recreates it; a new pod: none fits elsewhere; 1 would stay Pending: .*$/m,
  );
});

test('pods that a NoExecute taint evicts go to nodes with room; the others have the reasons of the scheduler', () => {
  const change = { before: node('a'), after: node('a', { taints: [NO_EXECUTE] }) };
  const pods = ['w1', 'w2', 'w3'].map(name => pod(name, 'a', {}, web));
  const tolerant = pod('t', 'a', { tolerations: [{ key: 'gpu', operator: 'Exists', tolerationSeconds: 60 }] }, web);
  const found = impact(
    [change],
    [...pods, tolerant, pod('bare', 'a', {})],
    [],
    [node('b', { allocatable: { pods: '2' } })],
  );
  const [deployment, bare] = found.evicted;
  assert.deepEqual(deployment?.pods, ['t', 'w1', 'w2', 'w3']);
  assert.deepEqual(deployment?.later, { pods: 1, min: 60, max: 60 });
  assert.deepEqual(
    [...(deployment?.next?.nodes ?? [])].reduce((sum, [, count]) => sum + count, 0) + (deployment?.next?.pending ?? 0),
    4,
  );
  assert.deepEqual([deployment?.next?.nodes.get('b'), bare?.next], [2, undefined]);
  assert.ok(deployment?.next?.reasons.list().some(({ words }) => words === 'Too many pods'));
});

test('a pod that an earlier taint already evicts is not evicted by the change', () => {
  const before = node('a', { taints: [NO_EXECUTE] });
  const after = node('a', { taints: [NO_EXECUTE, { ...NO_EXECUTE, key: 'other' }] });
  assert.deepEqual(impact([{ before, after }], [pod('w', 'a', {}, web)]).evicted, []);
});

test('leaves out pods that are being deleted', () => {
  const leaving = pod('w', 'a', {}, web);
  leaving.pod.isTerminating = true;
  const change = { before: node('a'), after: node('a', { taints: [NO_EXECUTE] }) };
  assert.deepEqual(impact([change], [leaving]).evicted, []);
});

test('two changed labels that each keep a pod away are both causes', () => {
  const spec = { nodeSelector: { a: '1', b: '1' } };
  const change = { before: node('n', { labels: { a: '1', b: '1' } }), after: node('n') };
  const found = impact([change], [pod('w', 'n', spec, web)]);
  assert.deepEqual(
    found.keys.map(({ notAgain }) => notAgain.length),
    [1, 1],
  );
  assert.equal(found.notAgain.length, 1);
});

test('a pod is not scheduled again on a node that leaves the zone of its volume', () => {
  const zone = 'topology.kubernetes.io/zone';
  const claim = readClaim({
    metadata: { namespace: 'shop', name: 'data', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    spec: { volumeName: 'v' },
    status: { phase: 'Bound' },
  });
  const volume = readVolume({ metadata: { name: 'v', labels: { [zone]: 'a__b' } } });
  const db = pod('db', 'n', { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] }, web);
  const found = (to: string) => {
    const change = { before: node('n', { labels: { [zone]: 'a' } }), after: node('n', { labels: { [zone]: to } }) };
    const snapshot = new Snapshot([change.after]);
    snapshot.storage = {
      claims: new Map([['shop/data', claim]]),
      volumes: new Map([['v', volume]]),
      classes: new Map(),
    };
    snapshot.add(db.pod, 'n');
    const pods = new Map([['n', [db]]]);
    const selecting = [
      { kind: 'PersistentVolume', namespace: '', name: 'v', keys: keysOfVolume(volume.labels, volume.nodeTerms) },
    ];
    const scene = { leaving: [new LeavingPods(change)], pods, daemonSets: [], selecting, budgets: [], snapshot };
    const { notAgain, keys } = impactOf(scene);
    return [
      ...notAgain.map(({ pods, next }) => [pods, next?.reasons.list().map(({ words }) => words)]),
      keys[0]?.selectedBy.map(({ where, isAffected }) => [where, isAffected]),
    ];
  };
  assert.deepEqual(found('b'), [[['zone label', false]]]);
  assert.deepEqual(found('c'), [[['db'], ['node(s) had no available volume zone']], [['zone label', true]]]);
});

test('a pod is not scheduled again on a node that loses the topology key of its spread or affinity', () => {
  const labelSelector = { matchLabels: { app: 'none' } };
  const rules: RawPodSpec[] = [
    { topologySpreadConstraints: [{ topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', labelSelector }] },
    {
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'rack', labelSelector }] },
      },
    },
    { topologySpreadConstraints: [{ topologyKey: 'rack', whenUnsatisfiable: 'ScheduleAnyway', labelSelector }] },
    {},
  ];
  const pods = rules.map((spec, at) => pod(`w-${at}`, 'a', spec, web));
  const before = node('a', { labels: { rack: '1' } });
  const left = (labels: Record<string, string>) =>
    impact([{ before, after: node('a', { labels }) }], pods).notAgain.flatMap(each => each.pods);
  assert.deepEqual(left({}), ['w-0', 'w-1']);
  assert.deepEqual(left({ rack: '2' }), []);
});

test('prints one line if there is no impact', () => {
  const found = { impact: impact([], []), isKnown: true, poolOf: () => undefined, isWellKnownOnly: false };
  assert.deepEqual(renderImpact({ ...found, runtimeClasses: [] }, makeStyle(false), 80).split('\n'), [
    'Impact: none found',
  ]);
});

test('the first of the evicted pods that must be together decides how many have a place', () => {
  const labels = { app: 'web' };
  const required = [{ topologyKey: 'zone', labelSelector: { matchLabels: labels } }];
  const spec: RawPodSpec = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
  const pods = ['p', 'q', 'r'].map((name): RunningPod => {
    const raw = { metadata: { namespace: 'shop', name, labels }, spec: { ...spec, nodeName: 'a' } };
    return { name, pod: readPod(raw, read), node: 'a', owner: web };
  });
  const change = {
    before: node('a', { labels: { zone: '1' } }),
    after: node('a', { labels: { zone: '1' }, taints: [NO_EXECUTE] }),
  };
  const other = (name: string, zone: string, places: string) =>
    node(name, { labels: { zone }, allocatable: { pods: places } });
  const found = impact([change], pods, [], [other('b', '2', '2'), other('c', '3', '3')]);
  assert.deepEqual(found.evicted[0]?.next?.nodes, new Map([['c', 3]]));
  assert.match(
    render(found),
    /^ {2}3 pods of Deployment shop\/web: can go: 3 on node c \(no pool\); 1 of these may stay Pending: the number depends on which nodes the scheduler picks first$/m,
  );
});

test('evicted pods of two owners that need the same room may both stay Pending', () => {
  const asks: RawPodSpec = { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] };
  const db = { kind: 'StatefulSet', name: 'db' };
  const nowhere: RawPodSpec = { ...asks, nodeSelector: { disk: 'ssd' } };
  const pods = [
    pod('p', 'a', asks, web),
    pod('q', 'a', asks, web),
    pod('db-0', 'a', asks, db),
    pod('z', 'a', nowhere, { kind: 'Deployment', name: 'ssd' }),
  ];
  const change = { before: node('a'), after: node('a', { taints: [NO_EXECUTE] }) };
  const room = (cpu: string) => render(impact([change], pods, [], [node('b', { allocatable: { cpu, pods: '9' } })]));
  const scarce = room('2');
  const compete = 'other evicted pods compete for this room';
  assert.match(
    scarce,
    new RegExp(`2 pods of Deployment shop/web: can go: 2 on node b .*; 2 of these may .*: ${compete}$`, 'm'),
  );
  assert.match(
    scarce,
    /^ {2}1 pod of StatefulSet shop\/db: none fits elsewhere; 1 may stay Pending: .*1 Insufficient cpu/m,
  );
  assert.match(scarce, /^ {2}1 pod of Deployment shop\/ssd: none fits elsewhere; 1 would stay Pending: /m);
  assert.doesNotMatch(room('3'), / may stay Pending/);
});

test('pods are not recreated if their Job allows fewer failures than there are evictions', () => {
  const ofJob = (name: string, job: string, failuresLeft: number, active?: number): RunningPod => ({
    ...pod(name, 'a', {}, { kind: 'Job', name: job }),
    job: { name: job, failuresLeft, ...(active === undefined ? {} : { active }) },
  });
  const pods = [
    ...[ofJob('p', 'one', 1, 2), ofJob('q', 'one', 1, 2), ofJob('r', 'two', 1, 1), ofJob('s', 'three', Infinity, 1)],
    ...[ofJob('t', 'wide', 0, 4), ofJob('u', 'unknown', 0, 0), ofJob('v', 'index', 0)],
  ];
  const change = { before: node('a'), after: node('a', { taints: [NO_EXECUTE] }) };
  const text = render(impact([change], pods, [], [node('b')]));
  const lost = 'are not recreated: an eviction counts as a failed pod, and their Job allows no more of them';
  assert.match(text, new RegExp(`^ {2}2 pods of Job shop/one: ${lost}$`, 'm'));
  const alone = 'is not recreated: an eviction counts as a failed pod, and its Job allows no more of them';
  const fails = '; the Job fails, and its ';
  for (const [job, others] of [
    ['wide', `${fails}3 other pods are deleted`],
    ['unknown', `${fails}other pods are deleted`],
    ['index', ''],
  ]) {
    assert.match(text, new RegExp(`^ {2}1 pod of Job shop/${job}: ${alone}${others}$`, 'm'));
  }
  for (const job of ['two', 'three']) {
    assert.match(text, new RegExp(`^ {2}1 pod of Job shop/${job}: can go: 1 on node b \\(no pool\\)$`, 'm'));
  }
});

test('another value of a topology label separates pods that must be near each other', () => {
  const labelled = (
    name: string,
    on: string,
    app: string,
    rules: RawPodSpec,
    owner: RunningPod['owner'],
  ): RunningPod => {
    const raw = { metadata: { namespace: 'shop', name, labels: { app } }, spec: { ...rules, nodeName: on } };
    return { name, pod: readPod(raw, read), node: on, owner };
  };
  const terms = [{ topologyKey: 'rack', labelSelector: { matchLabels: { app: 'db' } } }];
  const near: RawPodSpec = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } };
  const pods = [
    labelled('p', 'a', 'web', near, web),
    labelled('db-0', 'b', 'db', {}, { kind: 'StatefulSet', name: 'db' }),
  ];
  const change = { before: node('a', { labels: { rack: '1' } }), after: node('a', { labels: { rack: '2' } }) };
  const full = node('b', { labels: { rack: '1' }, allocatable: { pods: '1' } });
  assert.match(
    render(impact([change], pods, [], [full])),
    /^ {2}1 pod of Deployment shop\/web: none fits elsewhere; 1 would stay Pending: 1 Too many pods, 1 node\(s\) didn't match pod affinity rules$/m,
  );
  const both = [change, { before: node('b', { labels: { rack: '1' } }), after: node('b', { labels: { rack: '2' } }) }];
  assert.deepEqual(impact(both, pods).notAgain, []);
});
