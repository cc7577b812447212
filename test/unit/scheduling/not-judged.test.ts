import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClusterFacts, notJudged, notJudgedFinder } from '../../../src/scheduling/not-judged.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import { NO_STORAGE, readClaim, readStorageClass, readVolume } from '../../../src/scheduling/volumes/storage.ts';
import { asks, pod, raw } from './fixtures.ts';

const ALL: ClusterFacts = { namespaces: true, offered: new Set(['example.com/nic']) };
const affinity = {
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', namespaceSelector: {} }] },
};

const STORED = {
  ...ALL,
  storage: {
    claims: new Map([['default/data', readClaim({ metadata: { name: 'data' }, spec: { volumeName: 'pv' } })]]),
    volumes: new Map([['pv', readVolume({ metadata: { name: 'pv' }, spec: { awsElasticBlockStore: {} } })]]),
    classes: new Map([['now', readStorageClass({ metadata: { name: 'now' }, provisioner: 'example.com/disk' })]]),
  },
};

const local = readVolume({ spec: { nodeAffinity: { required: {} } } });

const CASES: [what: string, spec: RawPodSpec, named: RegExp | undefined, knows?: ClusterFacts][] = [
  ['names nothing for a pod without requests', {}, undefined],
  ['names another scheduler', { schedulerName: 'mine' }, /^the scheduler mine /],
  ['names claims of devices', { resourceClaims: [{ name: 'gpu' }] }, /^resourceClaims /],
  ['names a group of pods', { schedulingGroup: { podGroupName: 'g' } }, /^schedulingGroup /],
  [
    'names the volume limits of nodes for a pod with a CSI volume',
    { volumes: [{ name: 'v', csi: {} }] },
    /^volume limits of nodes/,
  ],
  ['names nothing for a resource that a node offers', asks({ 'example.com/nic': '1' }), undefined],
  [
    'names the DeviceClass that may provide a resource that no node offers',
    asks({ 'example.com/gpu': '1' }),
    /DeviceClass provides example\.com\/gpu/,
  ],
  [
    'names a resource that both a node and a DeviceClass offer',
    asks({ 'example.com/nic': '1' }),
    /DeviceClass provides example\.com\/nic/,
    { ...ALL, classes: new Set(['example.com/nic']) },
  ],
  [
    'names the zones of the CSI driver that serves an in-tree volume',
    { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
    /the zones of the CSI driver that serves its awsElasticBlockStore/,
    STORED,
  ],
  [
    'names the zone of a new claim whose class does not wait for the pod',
    { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'now' } } } }] },
    /the future zone of the volume of v: its StorageClass now does not wait for the pod/,
    STORED,
  ],
  [
    'names the choice of the server among existing volumes of one node each',
    { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: '' } } } }] },
    /^volume limits of [^;]*; which existing volume v gets: it names no StorageClass$/,
    { ...ALL, storage: { ...STORED.storage, volumes: new Map([['local', local]]) } },
  ],
  [
    'names nothing about a new claim that no volume can serve',
    { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'other' } } } }] },
    /^volume limits of [^;]*$/,
    STORED,
  ],
  [
    'names a restart rule that only some kubelets know',
    { containers: [{ name: 'c', restartPolicyRules: [{ action: 'RestartAllContainers' }] }] },
    /^node features/,
  ],
  [
    'names nothing for a restart rule that all kubelets know',
    { initContainers: [{ name: 'c', restartPolicyRules: [{ action: 'Restart' }] }] },
    undefined,
  ],
  ['names nothing for user namespaces', { hostUsers: false }, undefined],
  ['names user namespaces in the host network', { hostUsers: false, hostNetwork: true }, /^node features/],
  ['names nothing for a namespaceSelector if the namespaces were read', { affinity }, undefined],
  [
    'names a namespaceSelector if the namespaces were not read',
    { affinity },
    /^namespaceSelector: /,
    { ...ALL, namespaces: false },
  ],
];

for (const [what, spec, named, knows = ALL] of CASES)
  test(what, () => {
    const texts = notJudged(raw(spec), knows);
    if (named === undefined) assert.deepEqual(texts, []);
    else assert.match(texts.join('; '), named);
  });

test('names rules of a recreated pod about labels that the server copies from its node', () => {
  const textsOf = notJudgedFinder({ nodes: new Map(), storage: NO_STORAGE }, []);
  const spread = (key: string) => ({
    topologySpreadConstraints: [
      {
        ...{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
        labelSelector: { matchLabels: { [key]: 'a' } },
      },
    ],
  });
  assert.deepEqual(textsOf(pod(spread('app'))), []);
  assert.match(textsOf(pod(spread('topology.kubernetes.io/zone'))).join(), /^the labels of zone and region /);
});
