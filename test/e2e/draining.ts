/** Pods and budgets for drains without kubelets and controllers: the statuses are written here. */
import { beforeEach } from 'node:test';
import type { Toleration } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import type { RunResult } from '../cluster/run.ts';
import { type Following, start } from './following.ts';
import { role, type TestEnv } from './test-env.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const CONTAINERS = [{ name: 'c', image: 'i' }];

/** Deletes pods at once, as no kubelet would terminate them. */
export const NOW = '--grace-period=0';

export interface PodSpec {
  name: string;
  node: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** Default: a ReplicaSet; null for none. */
  owner?: { apiVersion: string; kind: string; name: string } | null;
  emptyDir?: boolean;
  /** Of a volume. */
  claim?: string;
  /** Further fields of the spec. */
  more?: object;
  phase?: string;
  finalizers?: string[];
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
  /** terminationGracePeriodSeconds; with 0 an eviction deletes it at once. */
  graceSeconds?: number;
}

export interface Pods {
  /** Bound to its node, running and ready. */
  pod(spec: PodSpec): Promise<void>;
  daemonSet(name: string): Promise<void>;
  /** With a status as the disruption controller would write it. */
  budget(name: string, labels: Record<string, string>, disruptionsAllowed: number): Promise<void>;
  /**
   * As the disruption controller does after two minutes: an eviction whose client was killed while the server retried is counted,
   * and deletes no pod.
   * @param left names of the pods that are there
   */
  giveBack(name: string, left: readonly string[]): Promise<void>;
  /** Sorted names of pods that are not terminating. */
  names(): Promise<string[]>;
  /** Names of the nodes that are cordoned. */
  closed(): Promise<string[]>;
  /** Pool worker with two nodes, and a node of no pool with a pod. */
  worker(): Promise<void>;
  /** Drains pool worker, to the end or in the background. */
  drain(...args: string[]): Promise<RunResult>;
  background(t: { after(fn: () => unknown): void }, ...args: string[]): Following;
}

/** Deletes pods, budgets and DaemonSets before every test. */
export function poolsWithPods(testEnv: TestEnv): Pods {
  const api = () => raw(testEnv.cluster());
  const list = async () => {
    const { items } = (await api().expect('GET', `${NAMESPACE}/pods`)) as {
      items: { metadata: { name: string; deletionTimestamp?: string; finalizers?: string[] } }[];
    };
    return items.map(({ metadata }) => metadata);
  };
  beforeEach(async () => {
    for (const { name, finalizers } of await list()) {
      if (finalizers) await api().expect('PATCH', `${NAMESPACE}/pods/${name}`, { metadata: { finalizers: null } });
    }
    await api().expect('DELETE', `${NAMESPACE}/pods?gracePeriodSeconds=0`);
    await api().expect('DELETE', BUDGETS);
    await api().expect('DELETE', '/apis/apps/v1/namespaces/default/daemonsets');
  });
  const pod: Pods['pod'] = async ({ name, node, labels = {}, annotations = {}, emptyDir = false, ...rest }) => {
    const {
      owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
      finalizers = [],
      nodeSelector = {},
      phase = 'Running',
      tolerations = [],
      graceSeconds,
      claim,
      more = {},
    } = rest;
    const grace = graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds };
    const ownerReferences = owner === null ? [] : [{ ...owner, uid: 'u', controller: true }];
    const claimed = claim === undefined ? [] : [{ name: 'data', persistentVolumeClaim: { claimName: claim } }];
    const volumes = [...(emptyDir ? [{ name: 'cache', emptyDir: {} }] : []), ...claimed];
    await api().expect('POST', `${NAMESPACE}/pods`, {
      metadata: { name, labels, annotations, ownerReferences, finalizers },
      spec: { nodeName: node, nodeSelector, tolerations, containers: CONTAINERS, volumes, ...grace, ...more },
    });
    const conditions = [{ type: 'Ready', status: 'True' }];
    await api().expect('PATCH', `${NAMESPACE}/pods/${name}/status`, { status: { phase, conditions } });
  };
  return {
    pod,
    async daemonSet(name) {
      const labels = { daemon: name };
      const template = { metadata: { labels }, spec: { containers: CONTAINERS } };
      const spec = { selector: { matchLabels: labels }, template };
      await api().expect('POST', '/apis/apps/v1/namespaces/default/daemonsets', { metadata: { name }, spec });
    },
    async budget(name, labels, disruptionsAllowed) {
      const { status, body } = await api().request('GET', `${BUDGETS}/${name}`);
      const spec = { minAvailable: 2, selector: { matchLabels: labels } };
      const made = status === 200 ? body : await api().expect('POST', BUDGETS, { metadata: { name }, spec });
      const { generation } = (made as { metadata: { generation: number } }).metadata;
      const counts = { disruptionsAllowed, currentHealthy: 2 + disruptionsAllowed, desiredHealthy: 2, expectedPods: 3 };
      await api().expect('PATCH', `${BUDGETS}/${name}/status`, {
        status: { observedGeneration: generation, ...counts },
      });
    },
    async giveBack(name, left) {
      const { status } = (await api().expect('GET', `${BUDGETS}/${name}`)) as {
        status: { disruptionsAllowed: number; disruptedPods?: Record<string, string> };
      };
      // Not one that the server is about to delete.
      const isCounted = (pod: string) => Date.parse(status.disruptedPods?.[pod] ?? '') < Date.now() - 3_000;
      const counted = left.find(isCounted);
      if (status.disruptionsAllowed > 0 || counted === undefined) return;
      await api().expect('PATCH', `${BUDGETS}/${name}/status`, {
        status: { disruptionsAllowed: 1, disruptedPods: { [counted]: null } },
      });
    },
    names: async () =>
      (await list())
        .filter(({ deletionTimestamp }) => deletionTimestamp === undefined)
        .map(({ name }) => name)
        .sort(),
    async closed() {
      const { items } = (await api().expect('GET', '/api/v1/nodes')) as {
        items: { metadata: { name: string }; spec: { unschedulable?: boolean } }[];
      };
      return items.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
    },
    async worker() {
      await testEnv.nodes(
        { name: 'w-1', labels: role('worker') },
        { name: 'w-2', labels: role('worker') },
        { name: 'other' },
      );
      await testEnv.pool('worker');
      await pod({ name: 'elsewhere', node: 'other', owner: null });
    },
    drain: (...args) => cliHere(testEnv.cluster(), ['drain', 'worker', ...args]),
    background: (t, ...args) => start(t, testEnv.cluster(), [...productCommand(), 'drain', 'worker', ...args]),
  };
}
