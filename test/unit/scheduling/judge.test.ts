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
  ['a pod that asks for nothing', {}, {}, [], []],
  ['a node that is not Ready has a taint, or takes pods', {}, { ready: false }, [], []],
  ['a cordoned node', {}, { unschedulable: true }, [], [UNSCHEDULABLE]],
  [
    'a cordoned node, tolerated',
    { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] },
    { unschedulable: true },
    [],
    [],
  ],
  ['another node by name', { nodeName: 'n2' }, {}, [], ["node(s) didn't match the requested node name"]],
  ['a taint', {}, { taints: [taint('gpu=yes:NoSchedule')] }, [], [TAINTS]],
  ['a taint with NoExecute', {}, { taints: [taint('gpu:NoExecute')] }, [], [TAINTS]],
  ['PreferNoSchedule', {}, { taints: [taint('gpu:PreferNoSchedule')] }, [], []],
  ['a toleration', { tolerations: [{ operator: 'Exists' }] }, { taints: [taint('gpu:NoExecute')] }, [], []],
  ['nodeSelector', { nodeSelector: { disk: 'ssd' } }, { labels: { disk: 'hdd' } }, [], [AFFINITY]],
  ['nodeSelector that matches', { nodeSelector: { disk: 'ssd' } }, { labels: { disk: 'ssd' } }, [], []],
  [
    'affinity to other nodes',
    { affinity: named('n2') ?? {} },
    {},
    [],
    ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
  ],
  ['affinity to the node', { affinity: named('n2', 'n1') ?? {} }, {}, [], []],
  [
    'affinity to no node',
    { affinity: named() ?? {} },
    {},
    [],
    ['pod affinity terms conflict', "node(s) didn't satisfy plugin(s) [NodeAffinity]"],
  ],
  ['gates', { schedulingGates: [{ name: 'a' }, { name: 'b' }] }, {}, [], ['waiting for scheduling gates: [a b]']],
  ['a host port', port(80), {}, [port(80)], [PORTS]],
  ['another host port', port(81), {}, [port(80)], []],
  ['a host port of another protocol', port(80, { protocol: 'UDP' }), {}, [port(80)], []],
  ['host ports of two addresses', port(80, { hostIP: '10.0.0.1' }), {}, [port(80, { hostIP: '10.0.0.2' })], []],
  ['a host port of one address and of all', port(80, { hostIP: '10.0.0.1' }), {}, [port(80)], [PORTS]],
  ['the network of the host', { ...port(0), hostNetwork: true }, {}, [port(80)], [PORTS]],
  ['cpu that is taken', asks({ cpu: '2' }), {}, [asks({ cpu: '2001m' })], ['Insufficient cpu']],
  ['cpu that is just free', asks({ cpu: '2' }), {}, [asks({ cpu: '2' })], []],
  ['cpu below a thousandth is rounded up', asks({ cpu: '3999100u' }), {}, [asks({ cpu: '1u' })], ['Insufficient cpu']],
  ['two resources', asks({ memory: '9Gi', cpu: '5' }), {}, [], ['Insufficient memory', 'Insufficient cpu']],
  ['a resource that the node lacks', asks({ 'example.com/gpu': '1' }), {}, [], ['Insufficient example.com/gpu']],
  ['none of a resource that the node lacks', asks({ 'example.com/gpu': '0' }), {}, [], []],
  ['a full node', {}, { allocatable: { pods: '1' } }, [{}], ['Too many pods']],
  ['overhead', { overhead: { cpu: '5' } }, {}, [], ['Insufficient cpu']],
  ['a node without amounts', {}, { allocatable: {} }, [], ['Too many pods']],
  ['an overcommitted node takes what asks for nothing', {}, {}, [asks({ cpu: '9' })], []],
  [
    'every rule, in order',
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

test('the scheduler names the reasons of the first rule that fails', () => {
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

test('a pod that is removed makes room', () => {
  const big = pod({ ...asks({ cpu: '4' }), ...{ hostNetwork: true } });
  const where = snapshot([site('n1')], [['n1', big]]);
  assert.deepEqual(words(big, 'n1', where), ['Insufficient cpu']);
  where.remove(big, 'n1');
  assert.deepEqual(words(big, 'n1', where), []);
});

test('disks that one pod mounts', () => {
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
