import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantityReader } from '../../../src/nodepool/quantity/amounts.ts';
import type { RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import { quotaLimit, type RawQuota } from '../../../src/scheduling/quota.ts';
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
  ['none of its resources', ASKS, quota({ services: '1' }), undefined],
  ['pods', ASKS, quota({ pods: '5' }, { pods: '2' }), ['pods', 3]],
  ['count/pods', ASKS, quota({ 'count/pods': '5' }, { 'count/pods': '7' }), ['count/pods', 0]],
  ['cpu', ASKS, quota({ cpu: '2' }, { cpu: '600m' }), ['cpu', 2]],
  ['requests.memory', ASKS, quota({ 'requests.memory': '3000Mi' }), ['requests.memory', 2]],
  ['an extended resource', ASKS, quota({ 'requests.nvidia.com/gpu': '4' }), ['requests.nvidia.com/gpu', 4]],
  ['limits that the pod does not have', ASKS, quota({ 'limits.cpu': '1' }), undefined],
  [
    'limits',
    { containers: [{ resources: { limits: { cpu: '1' } } }] },
    quota({ 'limits.cpu': '3' }),
    ['limits.cpu', 3],
  ],
  ['the lowest', ASKS, quota({ pods: '5', cpu: '1' }), ['cpu', 2]],
  ['claims', claims, quota({ persistentvolumeclaims: '5' }), ['persistentvolumeclaims', 2]],
  ['storage', claims, quota({ 'requests.storage': '7Gi' }), ['requests.storage', 1]],
  [
    'storage of the default class',
    claims,
    quota({ 'standard.storageclass.storage.k8s.io/requests.storage': '8Gi' }),
    ['standard.storageclass.storage.k8s.io/requests.storage', 2],
  ],
  [
    'storage of another class',
    claims,
    quota({ 'fast.storageclass.storage.k8s.io/requests.storage': '1Gi' }),
    undefined,
  ],
  ['best effort', asks({}), quota({ pods: '1' }, {}, { scopes: ['BestEffort'] }), ['pods', 1]],
  ['not best effort', ASKS, quota({ pods: '1' }, {}, { scopes: ['BestEffort'] }), undefined],
  ['without an end', ASKS, quota({ pods: '1' }, {}, { scopes: ['Terminating'] }), undefined],
  [
    'with an end',
    { ...ASKS, activeDeadlineSeconds: 9 },
    quota({ pods: '1' }, {}, { scopes: ['Terminating'] }),
    ['pods', 1],
  ],
  [
    'its priority',
    { ...ASKS, priorityClassName: 'high' },
    quota({ pods: '1' }, {}, scope('PriorityClass', 'In', ['high'])),
    ['pods', 1],
  ],
  ['another priority', ASKS, quota({ pods: '1' }, {}, scope('PriorityClass', 'In', ['high'])), undefined],
  ['no priority', ASKS, quota({ pods: '1' }, {}, scope('PriorityClass', 'DoesNotExist')), ['pods', 1]],
];

for (const [name, spec, one, expected] of CASES) {
  test(`quota: ${name}`, () => assert.deepEqual(limit(spec, one), expected));
}

test('of several quotas, the one that allows the fewest', () => {
  assert.deepEqual(limit(ASKS, quota({ pods: '5' }), quota({ pods: '3' })), ['pods', 3]);
});
