/** Cases by hand; pod-resources-vectors.test.ts has many more, made with the scheduler's own code. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Amounts, quantityReader } from '../../../../src/nodepool/quantity/amounts.ts';
import {
  type Container,
  type DemandingPod,
  podLimits,
  podRequests,
} from '../../../../src/nodepool/quantity/pod-resources.ts';
import { formatQuantity } from '../../../../src/nodepool/quantity/quantity.ts';

const read = quantityReader();

function texts(amounts: Amounts): Record<string, string> {
  return Object.fromEntries([...amounts].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

/** A container with this cpu request and twice that as limit. */
function cpu(millis: number, more: Container = {}): Container {
  return {
    name: `c${millis}`,
    resources: { requests: { cpu: `${millis}m` }, limits: { cpu: `${2 * millis}m` } },
    ...more,
  };
}

const sidecar = (millis: number) => cpu(millis, { restartPolicy: 'Always' });
const pending = (reason: string) => [{ type: 'PodResizePending', reason }];

interface Case {
  name: string;
  pod: DemandingPod;
  requests: Record<string, string>;
  limits?: Record<string, string>;
}

const CASES: Case[] = [
  { name: 'nothing', pod: {}, requests: {}, limits: {} },
  {
    name: 'containers add up',
    pod: { spec: { containers: [cpu(100), cpu(250)] } },
    requests: { cpu: '350m' },
    limits: { cpu: '700m' },
  },
  {
    name: 'the largest init container counts if it exceeds the containers',
    pod: { spec: { containers: [cpu(100)], initContainers: [cpu(300), cpu(900), cpu(200)] } },
    requests: { cpu: '900m' },
    limits: { cpu: '1800m' },
  },
  {
    name: 'a small init container does not count',
    pod: { spec: { containers: [cpu(100), cpu(50)], initContainers: [cpu(120)] } },
    requests: { cpu: '150m' },
    limits: { cpu: '300m' },
  },
  {
    name: 'sidecars add to init containers that start after them',
    pod: { spec: { containers: [cpu(100)], initContainers: [cpu(500), sidecar(50), cpu(500), sidecar(10)] } },
    requests: { cpu: '550m' },
    limits: { cpu: '1100m' },
  },
  {
    name: 'sidecars and containers add up if they exceed the init containers',
    pod: { spec: { containers: [cpu(600)], initContainers: [sidecar(50), cpu(500)] } },
    requests: { cpu: '650m' },
    limits: { cpu: '1300m' },
  },
  {
    name: 'restartPolicy makes only an init container a sidecar',
    pod: { spec: { containers: [sidecar(100)], initContainers: [cpu(100, { restartPolicy: 'Never' })] } },
    requests: { cpu: '100m' },
    limits: { cpu: '200m' },
  },
  {
    name: 'overhead: added to all requests, and to existing limits',
    pod: { spec: { containers: [cpu(100)], overhead: { cpu: '5m', memory: '120Mi' } } },
    requests: { cpu: '105m', memory: '120Mi' },
    limits: { cpu: '205m' },
  },
  {
    name: 'overhead: not added to a limit of zero',
    pod: { spec: { containers: [{ resources: { limits: { memory: '0' } } }], overhead: { memory: '120Mi' } } },
    requests: { memory: '120Mi' },
    limits: { memory: '0' },
  },
  {
    name: 'pod-level resources replace those of containers, other resources add up',
    pod: {
      spec: {
        containers: [cpu(100), { resources: { requests: { memory: '1Gi', 'nvidia.com/gpu': '1' } } }],
        resources: { requests: { cpu: '2', 'hugepages-2Mi': '4Mi', 'nvidia.com/gpu': '9' }, limits: { cpu: '3' } },
        overhead: { cpu: '1' },
      },
    },
    requests: { cpu: '3', memory: '1Gi', 'nvidia.com/gpu': '1', 'hugepages-2Mi': '4Mi' },
    limits: { cpu: '4' },
  },
  {
    name: 'a resize in progress: maximum of requested, allocated and actual resources',
    pod: {
      spec: { containers: [cpu(100), cpu(700), cpu(1)] },
      status: {
        containerStatuses: [
          {
            name: 'c100',
            allocatedResources: { cpu: '300m' },
            resources: { requests: { cpu: '200m' }, limits: { cpu: '50m' } },
          },
          { name: 'c700', allocatedResources: { cpu: '300m' }, resources: { limits: { cpu: '9' } } },
          // Never started, so its actual resources are unknown.
          { name: 'c1', allocatedResources: { cpu: '300m' } },
        ],
      },
    },
    requests: { cpu: '1001m' },
    limits: { cpu: '9202m' },
  },
  {
    name: 'an infeasible resize: requested resources do not count',
    pod: {
      spec: { containers: [cpu(5000)] },
      status: {
        conditions: [{ type: 'Ready' }, ...pending('Infeasible')],
        containerStatuses: [
          {
            name: 'c5000',
            allocatedResources: { cpu: '300m' },
            resources: { requests: { cpu: '200m' }, limits: { cpu: '1' } },
          },
        ],
      },
    },
    requests: { cpu: '300m' },
    limits: { cpu: '1' },
  },
  {
    name: 'a deferred resize: requested resources count',
    pod: {
      spec: { containers: [cpu(5000)] },
      status: { conditions: pending('Deferred'), containerStatuses: [{ name: 'c5000', resources: {} }] },
    },
    requests: { cpu: '5' },
    limits: { cpu: '10' },
  },
  {
    name: 'resizes apply to sidecars, not to other init containers',
    pod: {
      spec: { initContainers: [cpu(100), sidecar(50)] },
      status: {
        initContainerStatuses: [
          { name: 'c100', allocatedResources: { cpu: '9' }, resources: {} },
          { name: 'c50', allocatedResources: { cpu: '80m' }, resources: {} },
        ],
      },
    },
    requests: { cpu: '100m' },
    limits: { cpu: '200m' },
  },
  {
    name: 'a pod-level resize',
    pod: {
      spec: { containers: [cpu(1)], resources: { requests: { cpu: '2' }, limits: { cpu: '3' } } },
      status: {
        allocatedResources: { cpu: '4', memory: '1Gi' },
        resources: { requests: { cpu: '1' }, limits: { cpu: '6', memory: '2Gi' } },
      },
    },
    requests: { cpu: '4' },
    limits: { cpu: '6' },
  },
];

describe('requests of a pod', () => {
  for (const { name, pod, requests, limits } of CASES) {
    test(name, () => {
      assert.deepEqual(texts(podRequests(pod, read)), requests);
      if (limits !== undefined) assert.deepEqual(texts(podLimits(pod, read)), limits);
    });
  }

  test('sums requests exactly in the format of the first quantity', () => {
    const container = (memory: string): Container => ({ resources: { requests: { memory } } });
    const pod = { spec: { containers: [container('9007199254740993'), container('1Ki'), container('1m')] } };
    assert.deepEqual(texts(podRequests(pod, read)), { memory: '9007199254742017001m' });
    const binary = { spec: { containers: [container('1Mi'), container('1048576')] } };
    assert.deepEqual(texts(podRequests(binary, read)), { memory: '2Mi' });
  });

  test('returns the same result when it reads a pod twice', () => {
    const pod = CASES.find(({ name }) => name.startsWith('a pod that is resized'))?.pod ?? {};
    const once = texts(podRequests(pod, read));
    assert.deepEqual(texts(podRequests(pod, read)), once);
  });
});
