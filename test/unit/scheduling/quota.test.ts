import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantityReader } from '../../../src/nodepool/quantity/amounts.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import { objectLimit, quotaLimit, type RawQuota } from '../../../src/scheduling/quota.ts';
import { asks, raw } from './fixtures.ts';

type List = Record<string, string>;

function quota(hard: List, used: List = {}, spec: RawQuota['spec'] = {}): RawQuota {
  return { metadata: { name: 'q' }, spec, status: { hard, used } };
}

function limit(spec: RawPodSpec, ...quotas: RawQuota[]): [string, number] | undefined {
  const found = quotaLimit(raw(spec), quotas, quantityReader(), 'standard');
  return found && [found.resource, found.replicas];
}

const ASKS = asks({ cpu: '500m', memory: '1Gi', 'nvidia.com/gpu': '1' });
const scope = (scopeName: string, operator = 'Exists', values: string[] = []) => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
});
const claims: RawPodSpec = {
  ...asks({}),
  volumes: ['a', 'b'].map(name => ({
    name,
    ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '2Gi' } } } } },
  })),
};

const CASES: [string, RawPodSpec, RawQuota, [string, number] | undefined][] = [
  ['a quota of other resources does not limit the pod', ASKS, quota({ services: '1' }), undefined],
  ['a quota of pods limits the replicas', ASKS, quota({ pods: '5' }, { pods: '2' }), ['pods', 3]],
  [
    'a quota of count/pods that is used up allows no replica',
    ASKS,
    quota({ 'count/pods': '5' }, { 'count/pods': '7' }),
    ['count/pods', 0],
  ],
  ['a quota of cpu counts CPU requests', ASKS, quota({ cpu: '2' }, { cpu: '600m' }), ['cpu', 2]],
  [
    'a quota of requests.memory counts memory requests',
    ASKS,
    quota({ 'requests.memory': '3000Mi' }),
    ['requests.memory', 2],
  ],
  [
    'a quota of an extended resource counts its requests',
    ASKS,
    quota({ 'requests.nvidia.com/gpu': '4' }),
    ['requests.nvidia.com/gpu', 4],
  ],
  ['a quota of limits does not count a pod without limits', ASKS, quota({ 'limits.cpu': '1' }), undefined],
  [
    'a quota of limits counts the limits of the pod',
    { containers: [{ resources: { limits: { cpu: '1' } } }] },
    quota({ 'limits.cpu': '3' }),
    ['limits.cpu', 3],
  ],
  ['the resource that allows the fewest replicas decides', ASKS, quota({ pods: '5', cpu: '1' }), ['cpu', 2]],
  ['ephemeral volumes count as claims', claims, quota({ persistentvolumeclaims: '5' }), ['persistentvolumeclaims', 2]],
  [
    'ephemeral volumes count as requested storage',
    claims,
    quota({ 'requests.storage': '7Gi' }),
    ['requests.storage', 1],
  ],
  [
    'a quota of the default class counts claims without a class',
    claims,
    quota({ 'standard.storageclass.storage.k8s.io/requests.storage': '8Gi' }),
    ['standard.storageclass.storage.k8s.io/requests.storage', 2],
  ],
  [
    'a quota of another class does not limit the pod',
    claims,
    quota({ 'fast.storageclass.storage.k8s.io/requests.storage': '1Gi' }),
    undefined,
  ],
  [
    'the scope BestEffort applies to a pod without requests',
    asks({}),
    quota({ pods: '1' }, {}, { scopes: ['BestEffort'] }),
    ['pods', 1],
  ],
  [
    'the scope BestEffort does not apply to a pod with requests',
    ASKS,
    quota({ pods: '1' }, {}, { scopes: ['BestEffort'] }),
    undefined,
  ],
  [
    'the scope BestEffort applies to a pod that requests 0',
    asks({ cpu: '0' }),
    quota({ pods: '2' }, {}, { scopes: ['BestEffort'] }),
    ['pods', 2],
  ],
  [
    'the scope NotBestEffort does not apply to a pod that requests 0',
    asks({ cpu: '0', memory: '0Mi' }),
    quota({ pods: '2' }, {}, { scopes: ['NotBestEffort'] }),
    undefined,
  ],
  [
    'the scope Terminating does not apply to a pod without a deadline',
    ASKS,
    quota({ pods: '1' }, {}, { scopes: ['Terminating'] }),
    undefined,
  ],
  [
    'the scope Terminating applies to a pod with a deadline',
    { ...ASKS, activeDeadlineSeconds: 9 },
    quota({ pods: '1' }, {}, { scopes: ['Terminating'] }),
    ['pods', 1],
  ],
  [
    'a quota for the priority class of the pod applies',
    { ...ASKS, priorityClassName: 'high' },
    quota({ pods: '1' }, {}, scope('PriorityClass', 'In', ['high'])),
    ['pods', 1],
  ],
  [
    'a quota for the VolumeAttributesClass of some claims counts those alone',
    {
      ...asks({}),
      volumes: ['fast', undefined].map((name, at) => ({
        name: `${at}`,
        ephemeral: { volumeClaimTemplate: { spec: name === undefined ? {} : { volumeAttributesClassName: name } } },
      })),
    },
    quota({ persistentvolumeclaims: '3', pods: '1' }, {}, scope('VolumeAttributesClass', 'In', ['fast'])),
    ['persistentvolumeclaims', 3],
  ],
  [
    'a quota for claims without a VolumeAttributesClass counts no others',
    claims,
    quota({ persistentvolumeclaims: '4' }, {}, scope('VolumeAttributesClass', 'Exists')),
    undefined,
  ],
  [
    'a quota for another priority class does not apply',
    ASKS,
    quota({ pods: '1' }, {}, scope('PriorityClass', 'In', ['high'])),
    undefined,
  ],
  [
    'a quota for pods without a priority class applies to such a pod',
    ASKS,
    quota({ pods: '1' }, {}, scope('PriorityClass', 'DoesNotExist')),
    ['pods', 1],
  ],
];

for (const [name, spec, one, expected] of CASES) {
  test(name, () => assert.deepEqual(limit(spec, one), expected));
}

test('of several quotas, the one that allows the fewest replicas decides', () => {
  assert.deepEqual(limit(ASKS, quota({ pods: '5' }), quota({ pods: '3' })), ['pods', 3]);
});

test('a new workload counts in the quotas of its kind and of the objects that its controller creates', () => {
  const allOf = (kind: string, hard: List, made = { isNew: true, isRevised: true }, spec: RawQuota['spec'] = {}) =>
    objectLimit(kind, made, [quota(hard, {}, spec)], quantityReader())?.resource;
  assert.equal(allOf('Job', { 'count/jobs.batch': '0' }), 'count/jobs.batch');
  assert.equal(allOf('CronJob', { 'count/jobs.batch': '0' }), 'count/jobs.batch');
  assert.equal(allOf('Job', { 'count/jobs.batch': '1' }), undefined);
  assert.equal(allOf('Deployment', { 'count/deployments.apps': '0' }), 'count/deployments.apps');
  assert.equal(allOf('ReplicationController', { replicationcontrollers: '0' }), 'replicationcontrollers');
  assert.equal(allOf('StatefulSet', { 'count/statefulsets.apps': '1', 'count/replicasets.apps': '0' }), undefined);
  assert.equal(allOf('DaemonSet', { 'count/controllerrevisions.apps': '0' }), 'count/controllerrevisions.apps');
  assert.equal(allOf('Pod', { 'count/jobs.batch': '0' }), undefined);
  const exists = { isNew: false, isRevised: false };
  assert.equal(
    allOf('Deployment', { 'count/deployments.apps': '0', 'count/replicasets.apps': '0' }, exists),
    undefined,
  );
  assert.equal(allOf('CronJob', { 'count/jobs.batch': '0' }, exists), 'count/jobs.batch');
  const scoped = { scopes: ['NotBestEffort'] };
  assert.equal(allOf('Job', { 'count/jobs.batch': '0' }, { isNew: true, isRevised: true }, scoped), undefined);
});

test('the usage of replaced pods counts as free, by their own requests', () => {
  const old = [{ requests: new Map([['cpu', 1000n]]) }, { requests: new Map([['cpu', 1000n]]) }];
  const full = (hard: List) => [quota(hard, hard)];
  const allowed = (spec: RawPodSpec, hard: List) =>
    quotaLimit(raw(spec), full(hard), quantityReader(), 'standard', old)?.replicas;
  assert.equal(allowed(asks({ cpu: '1' }), { pods: '2' }), 2);
  assert.equal(allowed(asks({ cpu: '1' }), { 'requests.cpu': '2' }), 2);
  assert.equal(allowed(asks({ cpu: '2' }), { cpu: '2' }), 1);
  const limited = (cpu: string): RawPodSpec => ({
    containers: [{ resources: { limits: { cpu }, requests: { cpu } } }],
  });
  assert.equal(allowed(limited('1'), { 'limits.cpu': '2' }), 2);
  assert.equal(allowed(limited('2'), { 'limits.cpu': '4' }), 0);
});
