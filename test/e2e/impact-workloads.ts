/** Random workloads and random pools for impact-full.test.ts. */
import type { NodePoolSpec, Taint, TaintEffect } from '../../src/nodepool/types.ts';
import { pick, type Random } from '../fault/random.ts';

export const POOLS = 10;
export const NODES_OF_POOL = 4;
/** Label of the nodes of a pool. */
export const MEMBER = 'example.com/pool';
const LABELS = ['disk', 'net', 'tier'] as const;
const VALUES = ['a', 'b'] as const;
const TAINTS = ['red', 'blue'] as const;
const EFFECTS: readonly TaintEffect[] = ['NoSchedule', 'NoExecute', 'PreferNoSchedule'];
const CONTAINERS = [{ name: 'main', image: 'registry.example.com/main:1', resources: { requests: { cpu: '10m' } } }];

/** Of a merge patch: null removes. */
export function randomSpec(random: Random): Record<keyof Pick<NodePoolSpec, 'labels' | 'taints'>, object> {
  const labels = Object.fromEntries(
    LABELS.map(key => [`example.com/${key}`, random() < 0.6 ? pick(random, VALUES) : null]),
  );
  const taints = TAINTS.flatMap((key): Taint[] =>
    random() < 0.4 ? [{ key, value: pick(random, VALUES), effect: pick(random, EFFECTS) }] : [],
  );
  return { labels, taints };
}

/** @param runtimeClass of a pool: a node selector of the pod's own could contradict it */
function randomPodSpec(random: Random, runtimeClass?: string) {
  const key = `example.com/${pick(random, LABELS)}`;
  const isPlaced = random() < 0.6;
  const bySelector = random() < 0.5 && runtimeClass === undefined;
  const operator = pick(random, ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const);
  const values = operator === 'In' || operator === 'NotIn' ? { values: [pick(random, VALUES)] } : {};
  const terms = [{ matchExpressions: [{ key, operator, ...values }] }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
  const tolerations = TAINTS.flatMap(taint => {
    if (random() < 0.5) return [];
    const value = random() < 0.5 ? { operator: 'Exists' } : { value: pick(random, VALUES) };
    const effect = random() < 0.5 ? {} : { effect: pick(random, EFFECTS.slice(0, 2)) };
    return [{ key: taint, ...value, ...effect }];
  });
  return {
    terminationGracePeriodSeconds: 0,
    containers: CONTAINERS,
    ...(runtimeClass === undefined ? {} : { runtimeClassName: runtimeClass }),
    ...(!isPlaced
      ? {}
      : bySelector
        ? { nodeSelector: { [key]: pick(random, VALUES) } }
        : { affinity: { nodeAffinity } }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  };
}

export interface Workload {
  path: string;
  body: {
    metadata: { name: string };
    spec: { selector: object; template: { metadata: object; spec: Record<string, unknown> } };
  };
}

/** @param inPools Deployments with the RuntimeClass of a pool, one for each of the first pools */
export function randomWorkloads(random: Random, daemonSets: number, deployments: number, inPools: number): Workload[] {
  const create = (
    prefix: string,
    count: number,
    plural: string,
    more: object,
    runtimeClass: (at: number) => string | undefined = () => undefined,
  ) =>
    Array.from({ length: count }, (_, at): Workload => {
      const app = `${prefix}-${at}`;
      const template = { metadata: { labels: { app } }, spec: randomPodSpec(random, runtimeClass(at)) };
      return {
        path: `/apis/apps/v1/namespaces/default/${plural}`,
        body: { metadata: { name: app }, spec: { selector: { matchLabels: { app } }, template, ...more } },
      };
    });
  return [
    ...create('ds', daemonSets, 'daemonsets', {}),
    ...create('web', deployments, 'deployments', { replicas: 12 }),
    ...create('vm', inPools, 'deployments', { replicas: 12 }, at => `node-pool-p${at}`),
  ];
}
