/** Many pods on nodes, as workloads have them: ten of each template, two containers, labels, a toleration. */
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { nodeName } from './cluster.ts';

const CONCURRENCY = 32;
const REPLICAS = 10;

function podObject(index: number, nodes: number): object {
  const workload = `app-${Math.floor(index / REPLICAS)}`;
  const container = (name: string, cpu: string, memory: string) => ({
    ...{ name, image: `registry.example.com/${workload}/${name}:v1` },
    resources: { requests: { cpu, memory }, limits: { memory } },
    env: Array.from({ length: 5 }, (_, at) => ({ name: `SETTING_${at}`, value: `value-${at}` })),
  });
  return {
    metadata: {
      name: `${workload}-${index}`,
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${workload}-5d4f8c7b9d`, uid: workload, controller: true },
      ],
      labels: {
        app: workload,
        'pod-template-hash': '5d4f8c7b9d',
        'app.kubernetes.io/part-of': `part-${Math.floor(index / 1_000)}`,
        // As those of a StatefulSet.
        ...(Math.floor(index / REPLICAS) % 5 === 0
          ? { 'statefulset.kubernetes.io/pod-name': `${workload}-${index}` }
          : {}),
      },
    },
    spec: {
      nodeName: nodeName(index % nodes),
      containers: [container('main', '100m', '128Mi'), container('proxy', '10m', '32Mi')],
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      ...(index % 50 === 0 ? { affinity: { podAntiAffinity: alone(workload) } } : {}),
    },
  };
}

function alone(app: string): object {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } };
  return { requiredDuringSchedulingIgnoredDuringExecution: [term] };
}

export async function createBenchPods(cluster: ControlPlane, pods: number, nodes: number): Promise<void> {
  const indexes = Array.from({ length: pods }, (_, index) => index).values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const index of indexes) {
        await raw(cluster).expect('POST', '/api/v1/namespaces/default/pods', podObject(index, nodes));
      }
    }),
  );
}

/** Pods that are asked about: one with resources alone, one that other pods decide on. */
export function askedPods(): { plain: object; spreading: object } {
  const resources = { requests: { cpu: '500m', memory: '256Mi' } };
  const containers = [{ name: 'main', image: 'registry.example.com/asked:v1', resources }];
  const tolerations = [{ key: 'dedicated', operator: 'Exists' }];
  const labels = { app: 'asked' };
  const labelSelector = { matchLabels: labels };
  const topologySpreadConstraints = [
    { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule', labelSelector },
  ];
  const pod = (name: string, more: object) => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels } },
    spec: { containers, tolerations, ...more },
  });
  return {
    plain: pod('plain', {}),
    spreading: pod('spreading', { topologySpreadConstraints, affinity: { podAntiAffinity: alone('app-1') } }),
  };
}
