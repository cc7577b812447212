import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../src/nodepool/types.ts';
import { Judge } from '../../../src/scheduling/judge.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import type { Pod } from '../../../src/scheduling/types.ts';
import { taint } from '../nodepool/fixtures.ts';
import { asks, pod, site, snapshot, words } from './fixtures.ts';

const TAINTS = 'node(s) had untolerated taint(s)';
const AFFINITY = "node(s) didn't match Pod's node affinity/selector";
const PORTS = "node(s) didn't have free ports for the requested pod ports";
const UNSCHEDULABLE = 'node(s) were unschedulable';

const named = (...values: string[]): RawPodSpec['affinity'] => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values }] }],
    },
  },
});
const port = (hostPort: number, more: { hostIP?: string; protocol?: string } = {}): RawPodSpec => ({
  containers: [{ ports: [{ containerPort: 80, hostPort, ...more }] }],
});

/** What the node n1 says to the pod. */
const CASES: [string, RawPodSpec, Partial<Node>, RawPodSpec[], string[]][] = [
  ['a node takes a pod without requests', {}, {}, [], []],
  ['a NotReady node without a taint takes pods', {}, { ready: false }, [], []],
  ['a cordoned node refuses pods', {}, { unschedulable: true }, [], [UNSCHEDULABLE]],
  [
    'a cordoned node takes pods that tolerate the cordon',
    { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] },
    { unschedulable: true },
    [],
    [],
  ],
  [
    'a pod that names another node is refused',
    { nodeName: 'n2' },
    {},
    [],
    ["node(s) didn't match the requested node name"],
  ],
  ['a NoSchedule taint refuses pods', {}, { taints: [taint('gpu=yes:NoSchedule')] }, [], [TAINTS]],
  ['a NoExecute taint refuses pods', {}, { taints: [taint('gpu:NoExecute')] }, [], [TAINTS]],
  ['a PreferNoSchedule taint refuses no pod', {}, { taints: [taint('gpu:PreferNoSchedule')] }, [], []],
  [
    'a taint does not refuse pods that tolerate it',
    { tolerations: [{ operator: 'Exists' }] },
    { taints: [taint('gpu:NoExecute')] },
    [],
    [],
  ],
  [
    'a nodeSelector that does not match refuses the node',
    { nodeSelector: { disk: 'ssd' } },
    { labels: { disk: 'hdd' } },
    [],
    [AFFINITY],
  ],
  [
    'a nodeSelector that matches allows the node',
    { nodeSelector: { disk: 'ssd' } },
    { labels: { disk: 'ssd' } },
    [],
    [],
  ],
  [
    'node affinity to other nodes refuses the node',
    { affinity: named('n2') ?? {} },
    {},
    [],
    ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
  ],
  ['node affinity that names the node allows it', { affinity: named('n2', 'n1') ?? {} }, {}, [], []],
  [
    'node affinity without values matches no node',
    { affinity: named() ?? {} },
    {},
    [],
    ['pod affinity terms conflict', "node(s) didn't satisfy plugin(s) [NodeAffinity]"],
  ],
  [
    'a pod with scheduling gates waits',
    { schedulingGates: [{ name: 'a' }, { name: 'b' }] },
    {},
    [],
    ['waiting for scheduling gates: [a b]'],
  ],
  ['a host port that is in use refuses the pod', port(80), {}, [port(80)], [PORTS]],
  ['another host port is free', port(81), {}, [port(80)], []],
  ['the same host port of another protocol is free', port(80, { protocol: 'UDP' }), {}, [port(80)], []],
  [
    'the same host port on another address is free',
    port(80, { hostIP: '10.0.0.1' }),
    {},
    [port(80, { hostIP: '10.0.0.2' })],
    [],
  ],
  [
    'a host port that is in use on all addresses is not free on one address',
    port(80, { hostIP: '10.0.0.1' }),
    {},
    [port(80)],
    [PORTS],
  ],
  [
    'container ports of a pod in the host network are host ports',
    { ...port(0), hostNetwork: true },
    {},
    [port(80)],
    [PORTS],
  ],
  [
    'a pod that requests more CPU than is free is refused',
    asks({ cpu: '2' }),
    {},
    [asks({ cpu: '2001m' })],
    ['Insufficient cpu'],
  ],
  ['a pod that requests exactly the free CPU is taken', asks({ cpu: '2' }), {}, [asks({ cpu: '2' })], []],
  [
    'CPU requests are rounded up to a thousandth of a core',
    asks({ cpu: '3999100u' }),
    {},
    [asks({ cpu: '1u' })],
    ['Insufficient cpu'],
  ],
  [
    'each missing resource is a reason',
    asks({ memory: '9Gi', cpu: '5' }),
    {},
    [],
    ['Insufficient memory', 'Insufficient cpu'],
  ],
  [
    'a pod that requests a resource that the node lacks is refused',
    asks({ 'example.com/gpu': '1' }),
    {},
    [],
    ['Insufficient example.com/gpu'],
  ],
  ['a request of 0 for a resource that the node lacks is met', asks({ 'example.com/gpu': '0' }), {}, [], []],
  [
    'a node that has its maximum of pods refuses another one',
    {},
    { allocatable: { pods: '1' } },
    [{}],
    ['Too many pods'],
  ],
  ['the overhead of a pod counts as a request', { overhead: { cpu: '5' } }, {}, [], ['Insufficient cpu']],
  ['a node without allocatable resources takes no pod', {}, { allocatable: {} }, [], ['Too many pods']],
  ['an overcommitted node takes a pod without requests', {}, {}, [asks({ cpu: '9' })], []],
  [
    'names all failing rules in the order of the scheduler',
    { ...asks({ cpu: '9' }), nodeSelector: { a: 'b' } },
    { unschedulable: true, taints: [taint('x:NoSchedule')] },
    [],
    [UNSCHEDULABLE, TAINTS, AFFINITY, 'Insufficient cpu'],
  ],
];

for (const [name, spec, node, running, expected] of CASES) {
  test(name, () => {
    const where = snapshot(
      [site('n1', node)],
      running.map((each): [string, Pod] => ['n1', pod(each)]),
    );
    assert.deepEqual(words(pod(spec), 'n1', where), expected);
  });
}

test('firstWhyNot() names only the reasons of the first rule that fails, as the scheduler does', () => {
  const where = snapshot([site('n1', { taints: [taint('x:NoSchedule')] })]);
  const judge = new Judge(pod(asks({ cpu: '9', memory: '9Gi' })), where);
  assert.deepEqual(
    judge.firstWhyNot('n1').map(reason => reason.words),
    [TAINTS],
  );
  const tolerant = { ...asks({ cpu: '9', memory: '9Gi' }), tolerations: [{ operator: 'Exists' }] };
  const reasons = new Judge(pod(tolerant), where).firstWhyNot('n1');
  assert.deepEqual(
    reasons.map(reason => reason.detail),
    ['9 requested, 4 free', '9Gi requested, 8Gi free'],
  );
});

test('a removed pod frees its resources and ports', () => {
  const big = pod({ ...asks({ cpu: '4' }), ...{ hostNetwork: true } });
  const where = snapshot([site('n1')], [['n1', big]]);
  assert.deepEqual(words(big, 'n1', where), ['Insufficient cpu']);
  where.remove(big, 'n1');
  assert.deepEqual(words(big, 'n1', where), []);
});

test('a disk that another pod mounts refuses the pod, unless both only read it', () => {
  const disk = (volume: object) => pod({ volumes: [{ name: 'd', ...volume }] });
  const gce = (readOnly: boolean) => disk({ gcePersistentDisk: { pdName: 'a', readOnly } });
  const rbd = (monitors: string[]) => disk({ rbd: { monitors, image: 'i' } });
  const cases: [string, Pod, Pod, boolean][] = [
    ['gce', gce(false), gce(true), false],
    ['gce, both read', gce(true), gce(true), true],
    [
      'aws',
      disk({ awsElasticBlockStore: { volumeID: 'v' } }),
      disk({ awsElasticBlockStore: { volumeID: 'v' } }),
      false,
    ],
    ['iscsi', disk({ iscsi: { iqn: 'q' } }), disk({ iscsi: { iqn: 'r' } }), true],
    ['rbd with a monitor in common', rbd(['a', 'b']), rbd(['b', 'c']), false],
    ['rbd with none', rbd(['a']), rbd(['c']), true],
  ];
  for (const [name, asked, mounted, fits] of cases) {
    const found = words(asked, 'n1', snapshot([site('n1')], [['n1', mounted]]));
    assert.deepEqual(found, fits ? [] : ['node(s) had no available disk'], name);
  }
});
