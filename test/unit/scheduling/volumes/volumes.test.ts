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
  ['a claim that does not exist', data, [], [], 'persistentvolumeclaim "data" not found'],
  [
    'a claim that is being deleted',
    data,
    [claim({}, { deletionTimestamp: 'x' })],
    [],
    'persistentvolumeclaim "data" is being deleted',
  ],
  [
    'a claim that lost its volume',
    data,
    [claim({ volumeName: 'v' }, {}, { phase: 'Lost' })],
    [],
    'persistentvolumeclaim "data" bound to non-existent persistentvolume "v"',
  ],
  ['an unbound claim that does not wait', data, [claim({ storageClassName: 'now' })], [], IMMEDIATE],
  ['an unbound claim of an unknown class', data, [claim({ storageClassName: 'other' })], [], IMMEDIATE],
  ['a claim that is half bound', data, [claim({ volumeName: 'v' })], [volume('v')], IMMEDIATE],
  ['a volume that is everywhere', data, [boundTo('v')], [volume('v')], [[], [], []]],
  ['a volume on a rack', data, [boundTo('v')], [volume('v', onRack('2'))], [[AFFINITY], [], [AFFINITY]]],
  ['a volume with the label of a zone', data, [boundTo('v')], [volume('v', {}, { [ZONE]: 'a' })], [[], [ZONES], []]],
  [
    'a volume of several zones, in the old label',
    data,
    [boundTo('v')],
    [volume('v', {}, { 'failure-domain.beta.kubernetes.io/zone': 'a__b' })],
    [[], [], []],
  ],
  ['a volume that is gone', data, [boundTo('v')], [], 'persistentvolume "v" not found'],
  ['no volume to bind', data, [claim()], [], [[BIND], [BIND], [BIND]]],
  ['a volume to bind', data, [claim()], [volume('v', onRack('1', '3'))], [[], [BIND], []]],
  [
    'a volume that is too small',
    data,
    [claim()],
    [volume('v', { capacity: { storage: '1Gi' } })],
    [[BIND], [BIND], [BIND]],
  ],
  ['a volume of another mode', data, [claim({ volumeMode: 'Block' })], [volume('v')], [[BIND], [BIND], [BIND]]],
  ['a volume of another class', data, [claim()], [volume('v', { storageClassName: 'x' })], [[BIND], [BIND], [BIND]]],
  [
    'a volume without the access mode',
    data,
    [claim({ accessModes: ['ReadWriteMany'] })],
    [volume('v')],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume that is selected',
    data,
    [claim({ selector: { matchLabels: { tier: 'x' } } })],
    [volume('v', onRack('1')), volume('w', onRack('2'), { tier: 'x' })],
    [[BIND], [], [BIND]],
  ],
  [
    'a volume that is released',
    data,
    [claim()],
    [volume('v', {}, {}, { phase: 'Released' })],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume of another claim',
    data,
    [claim()],
    [volume('v', { claimRef: { namespace: 'default', name: 'x' } })],
    [[BIND], [BIND], [BIND]],
  ],
  [
    'a volume that is reserved',
    data,
    [claim()],
    [volume('v', { ...onRack('2'), claimRef: { namespace: 'default', name: 'data' } }), volume('w')],
    [[BIND], [], [BIND]],
  ],
  ['two claims and one volume', both, [claim(), claim({}, { name: 'more' })], [volume('v')], [[BIND], [BIND], [BIND]]],
  [
    'two claims and two volumes',
    both,
    [claim(), claim({ resources: { requests: { storage: '1Gi' } } }, { name: 'more' })],
    [volume('v'), volume('w', { ...onRack('1'), capacity: { storage: '2Gi' } })],
    [[], [BIND], [BIND]],
  ],
  ['a volume to be made', data, [claim({ storageClassName: 'anywhere' })], [], [[], [], []]],
  ['a volume to be made in a zone', data, [claim({ storageClassName: 'zone-b' })], [], [[BIND], [], [BIND]]],
  [
    'a volume that is being made',
    data,
    [claim({ storageClassName: 'anywhere' }, { annotations: { 'volume.kubernetes.io/selected-node': 'a1' } })],
    [],
    [[], [BIND], [BIND]],
  ],
  [
    'a claim that comes with the pod',
    { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'zone-b' } } } }] },
    [],
    [],
    [[BIND], [], [BIND]],
  ],
  [
    'a claim that comes with the pod and does not wait',
    { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'now' } } } }] },
    [],
    [],
    [[], [], []],
  ],
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

test('a claim that one pod alone may use', () => {
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

test('the claim of an ephemeral volume is not the claim with the name of the volume', () => {
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

test('the first replica binds the claim: whether others reach the new volume is unknown', () => {
  const where = snapshot(NODES, [], storage([claim({ storageClassName: 'anywhere' })], []));
  assert.deepEqual(place(pod(data), ['a1', 'b1'], where).bounds, { least: 10, most: 20 });
});

test('of several default classes, a claim that comes with the pod has the newest', () => {
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

test('says where a volume is that the node does not reach, and which nodes reach all of a pod', () => {
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
