/** The cluster of the pictures: small, with one example of every kind of problem. */
import type { NodeSpec } from '../../test/cluster/nodes.ts';
import { workload } from '../workload.ts';

const GPU = { cpu: '16', memory: '65536000Ki', 'nvidia.com/gpu': '4' };
const accelerator = { 'node-restriction.kubernetes.io/accelerator': 'nvidia' };
const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });

export const NODES: readonly NodeSpec[] = [
  {
    name: 'control-plane-0',
    labels: role('control-plane'),
    taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
  },
  ...['gpu-1', 'gpu-2', 'gpu-3'].map(name => ({ name, labels: accelerator, allocatable: GPU })),
  { name: 'gpu-4', labels: accelerator, allocatable: GPU, unschedulable: true },
  { name: 'batch-1', labels: role('batch') },
  { name: 'spare-1' },
  ...['1', '2', '3', '4', '5'].map(number => ({ name: `worker-${number}`, labels: role('worker') })),
  { name: 'worker-6', labels: role('worker'), ready: false },
];

/** Pods without affinity, pods with the RuntimeClass of pool gpu, and pods that prefer pool batch, with a budget. */
export const WORKLOADS = `${[
  workload({
    name: 'web',
    replicas: 10,
    spec: ['nodeSelector: {node-role.kubernetes.io/worker: ""}'],
    resources: '{requests: {cpu: 500m, memory: 600Mi}, limits: {cpu: "1", memory: 800Mi}}',
  }),
  workload({
    name: 'train',
    replicas: 6,
    spec: ['runtimeClassName: node-pool-gpu'],
    resources: '{requests: {cpu: "6", memory: 24Gi}, limits: {memory: 28Gi, nvidia.com/gpu: 2}}',
  }),
  workload({
    name: 'etl',
    replicas: 4,
    spec: [
      'tolerations: [{key: dedicated, value: batch, effect: NoSchedule}]',
      'affinity:',
      '  nodeAffinity:',
      '    preferredDuringSchedulingIgnoredDuringExecution:',
      '    - weight: 100',
      '      preference: {matchExpressions: [{key: node-role.kubernetes.io/batch, operator: Exists}]}',
    ],
    resources: '{requests: {cpu: 1700m, memory: 1440Mi}}',
  }),
].join('---\n')}---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: etl}
spec:
  maxUnavailable: 1
  selector: {matchLabels: {app: etl}}
`;
