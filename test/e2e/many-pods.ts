/** Pods that cover every rule of resource requests, bound to nodes without a scheduler or kubelet. */
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

const PODS = '/api/v1/namespaces/default/pods';
const IMAGE = 'registry.example.com/app:1';

export interface PodSpec {
  name: string;
  spec: Record<string, unknown>;
  status?: Record<string, unknown>;
}

type List = Record<string, string>;

export function container(name: string, requests: List, limits: List = {}, more: object = {}): object {
  return { name, image: IMAGE, resources: { requests, limits }, ...more };
}

const gpu = { 'nvidia.com/gpu': '1' };
const sidecar = { restartPolicy: 'Always' };

/** Without pods in a resize, for which `kubectl describe node` has two different figures. */
export const STEADY: PodSpec[] = [
  {
    name: 'plain',
    spec: { containers: [container('a', { cpu: '100m', memory: '64Mi' }, { cpu: '1', memory: '128Mi' })] },
  },
  { name: 'silent', spec: { containers: [{ name: 'a', image: IMAGE }] } },
  { name: 'limits-alone', spec: { containers: [container('a', {}, { cpu: '250m', memory: '100M' })] } },
  {
    name: 'several',
    spec: {
      containers: [
        container('a', { cpu: '0.3', memory: '1.5Gi' }),
        container('b', { cpu: '1500u', 'ephemeral-storage': '1Gi' }),
      ],
    },
  },
  {
    name: 'init',
    spec: {
      initContainers: [container('i', { cpu: '2', memory: '10Mi' }, { cpu: '2' }), container('j', { memory: '3Gi' })],
      containers: [container('a', { cpu: '100m', memory: '100Mi' }, { cpu: '200m' })],
    },
  },
  {
    name: 'sidecars',
    spec: {
      initContainers: [
        container('s', { cpu: '50m', memory: '32Mi' }, { memory: '64Mi' }, sidecar),
        container('i', { cpu: '500m' }, { cpu: '1' }),
        container('t', { cpu: '10m' }, {}, sidecar),
      ],
      containers: [container('a', { cpu: '400m', memory: '1Mi' }, { cpu: '450m' })],
    },
  },
  {
    name: 'overhead',
    spec: { runtimeClassName: 'heavy', containers: [container('a', { cpu: '100m' }, { cpu: '200m' })] },
  },
  {
    name: 'whole',
    spec: {
      resources: { requests: { cpu: '1', memory: '200Mi' }, limits: { cpu: '2', memory: '300Mi' } },
      initContainers: [container('s', { cpu: '10m' }, {}, sidecar)],
      containers: [container('a', { cpu: '100m', memory: '100Mi' }), { name: 'b', image: IMAGE }],
    },
  },
  {
    name: 'whole-and-overhead',
    spec: {
      runtimeClassName: 'heavy',
      resources: { limits: { cpu: '300m' } },
      containers: [container('a', { memory: '5Mi', ...gpu }, { memory: '6Mi', ...gpu })],
    },
  },
  { name: 'gpu', spec: { containers: [container('a', gpu, gpu), container('b', gpu, gpu)] } },
  {
    name: 'hugepages',
    spec: {
      containers: [
        container(
          'a',
          { cpu: '1', memory: '1Mi', 'hugepages-2Mi': '4Mi' },
          { cpu: '1', memory: '1Mi', 'hugepages-2Mi': '4Mi' },
        ),
      ],
    },
  },
  { name: 'done', spec: { containers: [container('a', { cpu: '3' })] }, status: { phase: 'Succeeded' } },
  { name: 'failed', spec: { containers: [container('a', { cpu: '3' })] }, status: { phase: 'Failed' } },
  { name: 'running', spec: { containers: [container('a', { cpu: '1m' })] }, status: { phase: 'Running' } },
];

const running = (name: string, resources: object, allocatedResources: List = {}) => ({
  name,
  image: IMAGE,
  imageID: IMAGE,
  ready: true,
  restartCount: 0,
  state: { running: {} },
  resources,
  allocatedResources,
});

/** Pods during a resize, or after a refused one. */
export const RESIZED: PodSpec[] = [
  {
    name: 'growing',
    spec: { containers: [container('a', { cpu: '900m', memory: '64Mi' }, { cpu: '2', memory: '1Gi' })] },
    status: {
      containerStatuses: [
        running('a', { requests: { cpu: '100m' }, limits: { cpu: '1' } }, { cpu: '500m', memory: '64Mi' }),
      ],
    },
  },
  {
    name: 'shrinking',
    spec: { containers: [container('a', { cpu: '100m' }, { cpu: '200m' })] },
    status: { containerStatuses: [running('a', { requests: { cpu: '2' }, limits: { cpu: '3' } }, { cpu: '1' })] },
  },
  {
    name: 'refused',
    spec: { containers: [container('a', { cpu: '90' }, { cpu: '95' })] },
    status: {
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
      containerStatuses: [running('a', { requests: { cpu: '300m' }, limits: { cpu: '400m' } }, { cpu: '350m' })],
    },
  },
  {
    name: 'deferred',
    spec: { containers: [container('a', { cpu: '1' })] },
    status: {
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }],
      containerStatuses: [running('a', { requests: { cpu: '300m' } }, { cpu: '350m' })],
    },
  },
  {
    name: 'sidecar-growing',
    spec: {
      initContainers: [container('i', { cpu: '20m' }), container('s', { cpu: '50m' }, {}, sidecar)],
      containers: [container('a', { cpu: '10m' })],
    },
    status: {
      initContainerStatuses: [running('i', { requests: { cpu: '7' } }), running('s', { requests: { cpu: '90m' } })],
    },
  },
];

/** The RuntimeClass that gives pods an overhead, which the server sets from nothing else. */
export async function createHeavyRuntime(cluster: ControlPlane): Promise<void> {
  const overhead = { podFixed: { cpu: '17m', memory: '120Mi' } };
  const body = { metadata: { name: 'heavy' }, handler: 'heavy', overhead };
  await raw(cluster).request('POST', '/apis/node.k8s.io/v1/runtimeclasses', body);
}

/** Creates pods that are already bound to the node. */
export async function createPods(cluster: ControlPlane, node: string, pods: readonly PodSpec[]): Promise<void> {
  const api = raw(cluster);
  for (const { name, spec, status } of pods) {
    const metadata = { name: `${node}-${name}` };
    await api.expect('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, nodeName: node } });
    if (status !== undefined) await api.expect('PATCH', `${PODS}/${metadata.name}/status`, { status });
  }
}

export async function deletePods(cluster: ControlPlane): Promise<void> {
  await raw(cluster).expect('DELETE', `${PODS}?gracePeriodSeconds=0`);
}

/** Deletes all pods and creates the RuntimeClass. Not in a hook: hooks may run at the same time as those of the test environment. */
export async function preparePods(cluster: ControlPlane): Promise<void> {
  await deletePods(cluster);
  await createHeavyRuntime(cluster);
}
