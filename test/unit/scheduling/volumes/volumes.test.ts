import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Judge } from '../../../../src/scheduling/judge.ts';
import { place } from '../../../../src/scheduling/place.ts';
import type { RawPodSpec } from '../../../../src/scheduling/pod/raw-pod.ts';
import {
  type RawClaim,
  type RawStorageClass,
  type RawVolumeObject,
  readClaim,
  readStorageClass,
  readVolume,
  type Storage,
} from '../../../../src/scheduling/volumes/storage.ts';
import { pod, site, snapshot, words } from '../fixtures.ts';

const ZONE = 'topology.kubernetes.io/zone';
const NODES = [
  site('a1', { labels: { [ZONE]: 'a', rack: '1' } }),
  site('b1', { labels: { [ZONE]: 'b', rack: '2' } }),
  site('x1', { labels: { rack: '3' } }),
];
const AFFINITY = "node(s) didn't match PersistentVolume's node affinity";
const BIND = "node(s) didn't find available persistent volumes to bind";
const ZONES = 'node(s) had no available volume zone';
const USED =
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod';
const IMMEDIATE = 'pod has unbound immediate PersistentVolumeClaims';

const data: RawPodSpec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
const both: RawPodSpec = {
  volumes: ['data', 'more'].map(name => ({ name, persistentVolumeClaim: { claimName: name } })),
};

const bound = { 'pv.kubernetes.io/bind-completed': 'yes' };
function claim(spec: RawClaim['spec'] = {}, more: object = {}, status = {}): RawClaim {
  const metadata = { namespace: 'default', name: 'data', uid: 'u', ...more };
  const requests = { storage: '5Gi' };
  return {
    metadata,
    spec: { storageClassName: 'wait', resources: { requests }, accessModes: ['ReadWriteOnce'], ...spec },
    status,
  };
}
const boundTo = (volumeName: string) => claim({ volumeName }, { annotations: bound });

function volume(
  name: string,
  spec: RawVolumeObject['spec'] = {},
  labels = {},
  status = { phase: 'Available' },
): RawVolumeObject {
  const capacity = { storage: '10Gi' };
  return {
    metadata: { name, labels },
    spec: { storageClassName: 'wait', capacity, accessModes: ['ReadWriteOnce'], ...spec },
    status,
  };
}
const onRack = (...values: string[]): RawVolumeObject['spec'] => ({
  nodeAffinity: {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values }] }] },
  },
});

const CLASSES: RawStorageClass[] = [
  {
    metadata: { name: 'wait' },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  },
  { metadata: { name: 'early' }, provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'Immediate' },
  { metadata: { name: 'now' }, provisioner: 'example.com/disk', volumeBindingMode: 'Immediate' },
  { metadata: { name: 'anywhere' }, provisioner: 'example.com/disk', volumeBindingMode: 'WaitForFirstConsumer' },
  {
    metadata: { name: 'zone-b' },
    provisioner: 'example.com/disk',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ['b', 'c'] }] }],
  },
];

function storage(claims: RawClaim[], volumes: RawVolumeObject[]): Storage {
  return {
    claims: new Map(claims.map(readClaim).map(each => [`${each.namespace}/${each.name}`, each])),
    volumes: new Map(volumes.map(readVolume).map(each => [each.name, each])),
    classes: new Map(CLASSES.map(readStorageClass).map(each => [each.name, each])),
  };
}

/** What the nodes a1, b1 and x1 say, or the words for all. */
const CASES: [string, RawPodSpec, RawClaim[], RawVolumeObject[], string | string[][]][] = [
  ['refuses a pod whose claim does not exist', data, [], [], 'persistentvolumeclaim "data" not found'],
  [
    'refuses a pod whose claim is being deleted',
    data,
    [claim({}, { deletionTimestamp: 'x' })],
    [],
    'persistentvolumeclaim "data" is being deleted',
  ],
  [
    'refuses a pod whose claim lost its volume',
    data,
    [claim({ volumeName: 'v' }, {}, { phase: 'Lost' })],
    [],
    'persistentvolumeclaim "data" bound to non-existent persistentvolume "v"',
  ],
  [
    'refuses a pod with an unbound claim of an Immediate class',
    data,
    [claim({ storageClassName: 'now' })],
    [],
    IMMEDIATE,
  ],
  [
    'refuses a pod with an unbound claim of an unknown class',
    data,
    [claim({ storageClassName: 'other' })],
    [],
    IMMEDIATE,
  ],
  ['refuses a pod whose claim is only half bound', data, [claim({ volumeName: 'v' })], [volume('v')], IMMEDIATE],
  ['a volume without node affinity allows every node', data, [boundTo('v')], [volume('v')], [[], [], []]],
  [
    'a volume with node affinity allows only its nodes',
    data,
    [boundTo('v')],
    [volume('v', onRack('2'))],
    [[AFFINITY], [], [AFFINITY]],
  ],
  [
    'a volume with a zone label refuses nodes of other zones',
    data,
    [boundTo('v')],
    [volume('v', {}, { [ZONE]: 'a' })],
    [[], [ZONES], []],
  ],
  [
    'a volume whose old zone label lists several zones allows nodes in each of them',
    data,
    [boundTo('v')],
    [volume('v', {}, { 'failure-domain.beta.kubernetes.io/zone': 'a__b' })],
    [[], [], []],
  ],
  ['refuses a pod whose volume is gone', data, [boundTo('v')], [], 'persistentvolume "v" not found'],
  ['a waiting claim without a volume to bind refuses every node', data, [claim()], [], [[BIND], [BIND], [BIND]]],
  [
    'a waiting claim allows nodes that reach a free volume',
    data,
    [claim()],
    [volume('v', onRack('1', '3'))],
    [[], [BIND], []],
  ],
  [
    'a volume that is too small is not bound',
    data,
    [claim()],
    [volume('v', { capacity: { storage: '1Gi' } })],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume of another mode is not bound',
    data,
    [claim({ volumeMode: 'Block' })],
    [volume('v')],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume of another class is not bound',
    data,
    [claim()],
    [volume('v', { storageClassName: 'x' })],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume without the access mode is not bound',
    data,
    [claim({ accessModes: ['ReadWriteMany'] })],
    [volume('v')],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a claim with a selector is bound only to a volume that matches',
    data,
    [claim({ selector: { matchLabels: { tier: 'x' } } })],
    [volume('v', onRack('1')), volume('w', onRack('2'), { tier: 'x' })],
    [[BIND], [], [BIND]],
  ],
  [
    'a released volume is not bound',
    data,
    [claim()],
    [volume('v', {}, {}, { phase: 'Released' })],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume that is reserved for another claim is not bound',
    data,
    [claim()],
    [volume('v', { claimRef: { namespace: 'default', name: 'x' } })],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a claim is bound only to the volume that is reserved for it',
    data,
    [claim()],
    [volume('v', { ...onRack('2'), claimRef: { namespace: 'default', name: 'data' } }), volume('w')],
    [[BIND], [], [BIND]],
  ],
  [
    'two claims are not bound to one volume',
    both,
    [claim(), claim({}, { name: 'more' })],
    [volume('v')],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'two claims allow only nodes that reach a volume for each claim',
    both,
    [claim(), claim({ resources: { requests: { storage: '1Gi' } } }, { name: 'more' })],
    [volume('v'), volume('w', { ...onRack('1'), capacity: { storage: '2Gi' } })],
    [[], [BIND], [BIND]],
  ],
  [
    'a class that provisions anywhere allows every node',
    data,
    [claim({ storageClassName: 'anywhere' })],
    [],
    [[], [], []],
  ],
  [
    'a class that provisions in some zones allows only nodes of these zones',
    data,
    [claim({ storageClassName: 'zone-b' })],
    [],
    [[BIND], [], [BIND]],
  ],
  [
    'a volume that is being provisioned allows only the selected node',
    data,
    [claim({ storageClassName: 'anywhere' }, { annotations: { 'volume.kubernetes.io/selected-node': 'a1' } })],
    [],
    [[], [BIND], [BIND]],
  ],
  [
    'an ephemeral volume allows only nodes in the zones of its class',
    { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'zone-b' } } } }] },
    [],
    [],
    [[BIND], [], [BIND]],
  ],
  [
    'an ephemeral volume of an Immediate class allows every node',
    { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'now' } } } }] },
    [],
    [],
    [[], [], []],
  ],
  ...['early', '', 'other'].map((storageClassName): (typeof CASES)[number] => [
    `an ephemeral volume of the class "${storageClassName}" needs a free volume, because none is provisioned`,
    { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName } } } }] },
    [],
    [volume('v'), volume('w', { storageClassName }, {}, { phase: 'Bound' })],
    IMMEDIATE,
  ]),
];

for (const [name, spec, claims, volumes, expected] of CASES) {
  test(name, () => {
    const judge = new Judge(pod(spec), snapshot(NODES, [], storage(claims, volumes)));
    if (typeof expected === 'string') assert.equal(judge.refusal?.words, expected);
    else {
      const found = NODES.map(node => judge.whyNot(node.name).map(({ words }) => words));
      assert.deepEqual([judge.refusal, found], [undefined, expected]);
    }
  });
}

test('a claim with ReadWriteOncePod takes one pod at a time', () => {
  const exclusive = storage(
    [claim({ accessModes: ['ReadWriteOncePod'], volumeName: 'v' }, { annotations: bound })],
    [volume('v')],
  );
  const where = snapshot(NODES, [], exclusive);
  assert.equal(place(pod(data), ['a1', 'b1'], where).replicas, 1);
  where.add(pod(data), 'b1');
  assert.deepEqual(
    new Judge(pod(data), where).whyNot('a1').map(({ words }) => words),
    [USED],
  );
  assert.deepEqual(place(pod(data), ['a1', 'b1'], where).replicas, 0);
  where.remove(pod(data), 'b1');
  assert.deepEqual(new Judge(pod(data), where).whyNot('a1'), []);
});

test('an ephemeral volume does not use the claim that has the name of the volume', () => {
  const exclusive = storage(
    [claim({ accessModes: ['ReadWriteOncePod'], volumeName: 'v' }, { annotations: bound })],
    [volume('v')],
  );
  const spec = { accessModes: ['ReadWriteOncePod'], storageClassName: 'anywhere' };
  const ephemeral = pod({ volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec } } }] });
  const where = snapshot(NODES, [['a1', ephemeral]], exclusive);
  assert.deepEqual(new Judge(pod(data), where).whyNot('b1'), []);
  where.add(pod(data), 'b1');
  assert.deepEqual(new Judge(ephemeral, where).whyNot('b1'), []);
  assert.equal(place(ephemeral, ['a1', 'b1'], where, 3).replicas, 3);
});

test('the number of replicas that share an unbound claim is uncertain, because the first one binds the claim', () => {
  const where = snapshot(NODES, [], storage([claim({ storageClassName: 'anywhere' })], []));
  assert.deepEqual(place(pod(data), ['a1', 'b1'], where).bounds, { least: 10, most: 20 });
});

test('a pod with spec.nodeName needs claims that are bound without the scheduler, to volumes that its node reaches', () => {
  const ofClass = (storageClassName: string): RawPodSpec => ({
    volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName } } } }],
  });
  const judged = (spec: RawPodSpec, claims: RawClaim[], volumes: RawVolumeObject[]) => {
    const where = snapshot(NODES, [], storage(claims, volumes));
    const asked = pod({ ...spec, nodeName: 'a1' });
    return [place(asked, ['a1'], where).replicas, ...words(asked, 'a1', where)];
  };
  const left = 'no scheduler chooses the node of its unbound PersistentVolumeClaims';
  assert.deepEqual(judged(data, [claim()], [volume('v')]), [0, left]);
  assert.deepEqual(judged(ofClass('anywhere'), [], []), [0, left]);
  assert.deepEqual(judged(data, [], []), [0, 'persistentvolumeclaim "data" not found']);
  assert.deepEqual(judged(data, [boundTo('v')], [volume('v', onRack('2'))]), [0, AFFINITY]);
  assert.deepEqual(judged(data, [boundTo('v')], [volume('v', onRack('1'))]), [10]);
  assert.deepEqual(judged(ofClass('now'), [], []), [10]);
  assert.deepEqual(judged(ofClass('early'), [], [volume('v', { storageClassName: 'early' })]), [1]);
});

test('replicas use up the volumes that the server binds before it schedules the pods', () => {
  const names = NODES.map(({ name }) => name);
  const boundsOf = (volumes: RawVolumeObject['spec'][], storageClassName = 'early', room = '10') => {
    const spec = { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName } } } }] };
    const all = volumes.map((each, at) => volume(`v${at}`, { storageClassName, ...each }));
    const nodes = NODES.map(node => ({ ...node, allocatable: { cpu: '4', pods: node.name === 'b1' ? room : '10' } }));
    return place(pod(spec), names, snapshot(nodes, [], storage([], all))).bounds;
  };
  assert.deepEqual(boundsOf([onRack('1'), onRack('2')]), { least: 2, most: 2 });
  assert.deepEqual(boundsOf([{}], ''), { least: 1, most: 1 });
  assert.deepEqual(boundsOf([{}, {}, {}], 'other'), { least: 3, most: 3 });
  // The first claims may get the volumes of the node that has room for one pod.
  assert.deepEqual(boundsOf([onRack('1'), onRack('2'), onRack('2')], 'early', '1'), { least: 1, most: 2 });
  assert.deepEqual(boundsOf([onRack('1'), onRack('9')]), { least: 0, most: 1 });
  assert.deepEqual(boundsOf([onRack('1', '2'), onRack('2', '3')]), { least: 0, most: 2 });
});

test('an ephemeral volume without a class gets the newest default class', () => {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const classOf = (name: string, day: string) =>
    CLASSES.filter(({ metadata }) => metadata?.name === name).map(each =>
      readStorageClass({ ...each, metadata: { name, annotations, creationTimestamp: `2026-01-${day}T00:00:00Z` } }),
    );
  const refused = (anywhere: string, zoned: string) => {
    const classes = [...classOf('anywhere', anywhere), ...classOf('zone-b', zoned)];
    const where = { ...storage([], []), classes: new Map(classes.map(each => [each.name, each])) };
    const spec = { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: {} } } }] };
    return words(pod(spec), 'a1', snapshot(NODES, [], where));
  };
  assert.deepEqual(refused('01', '02'), [BIND]);
  assert.deepEqual(refused('02', '01'), []);
  assert.deepEqual(refused('01', '01'), [], 'the first by name');
});

test('says which nodes reach the volume that the node does not reach, and which reach all volumes of the pod', () => {
  const placeOf = (...racks: string[]) => {
    const where = snapshot(NODES, [], storage([boundTo('v')], [volume('v', onRack(...racks))]));
    const judge = new Judge(pod(data), where);
    const [reason] = NODES.flatMap(({ name }) => judge.whyNot(name));
    return [reason?.detail, judge.volumes.nodes];
  };
  assert.deepEqual(placeOf('2'), ['volume v is on node b1', ['b1']]);
  assert.deepEqual(placeOf('1', '2'), ['volume v is on nodes a1, b1', ['a1', 'b1']]);
  assert.deepEqual(placeOf('9'), ['volume v is elsewhere', []]);
  assert.equal(new Judge(pod(), snapshot(NODES)).volumes.nodes, undefined);
});
