import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClusterFacts, notJudged } from '../../../src/scheduling/not-judged.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import { readClaim, readStorageClass, readVolume } from '../../../src/scheduling/volumes/storage.ts';
import { asks, raw } from './fixtures.ts';

const ALL: ClusterFacts = { namespaces: true, offered: new Set(['example.com/nic']) };
const affinity = {
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', namespaceSelector: {} }] },
};

const STORED = {
  ...ALL,
  storage: {
    claims: new Map([['default/data', readClaim({ metadata: { name: 'data' }, spec: { volumeName: 'pv' } })]]),
    volumes: new Map([['pv', readVolume({ metadata: { name: 'pv' }, spec: { awsElasticBlockStore: {} } })]]),
    classes: new Map([['now', readStorageClass({ metadata: { name: 'now' }, volumeBindingMode: 'Immediate' })]]),
  },
};

const CASES: [what: string, spec: RawPodSpec, named: RegExp | undefined, knows?: ClusterFacts][] = [
  ['a pod that asks for nothing', {}, undefined],
  ['another scheduler', { schedulerName: 'mine' }, /^the scheduler mine /],
  ['claims of devices', { resourceClaims: [{ name: 'gpu' }] }, /^resourceClaims /],
  ['a group of pods', { schedulingGroup: { podGroupName: 'g' } }, /^schedulingGroup /],
  ['volumes', { volumes: [{ name: 'v', csi: {} }] }, /^volume limits of nodes/],
  ['a resource that a node offers', asks({ 'example.com/nic': '1' }), undefined],
  ['a resource that no node offers', asks({ 'example.com/gpu': '1' }), /DeviceClass provides example\.com\/gpu/],
  [
    'a resource that a node offers and a DeviceClass, too',
    asks({ 'example.com/nic': '1' }),
    /DeviceClass provides example\.com\/nic/,
    { ...ALL, classes: new Set(['example.com/nic']) },
  ],
  [
    'a volume that a CSI driver serves',
    { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
    /the zones of the CSI driver that serves its awsElasticBlockStore/,
    STORED,
  ],
  [
    'a new claim of a class that does not wait',
    { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'now' } } } }] },
    /the future zone of the volume of v: its StorageClass now does not wait for the pod/,
    STORED,
  ],
  [
    'a new claim without a class',
    { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: '' } } } }] },
    /the future zone of the volume of v: it names no StorageClass/,
    STORED,
  ],
  [
    'a rule that only some kubelets know',
    { containers: [{ name: 'c', restartPolicyRules: [{ action: 'RestartAllContainers' }] }] },
    /^node features/,
  ],
  [
    'a rule that all kubelets know',
    { initContainers: [{ name: 'c', restartPolicyRules: [{ action: 'Restart' }] }] },
    undefined,
  ],
  ['user namespaces', { hostUsers: false }, undefined],
  ['user namespaces in the network of the host', { hostUsers: false, hostNetwork: true }, /^node features/],
  ['namespaces that were read', { affinity }, undefined],
  ['namespaces that were not', { affinity }, /^namespaceSelector: /, { ...ALL, namespaces: false }],
];

for (const [what, spec, named, knows = ALL] of CASES)
  test(`what is not judged: ${what}`, () => {
    const texts = notJudged(raw(spec), knows);
    if (named === undefined) assert.deepEqual(texts, []);
    else assert.match(texts.join('; '), named);
  });
