/** Pods and budgets as a drain meets them, where nobody runs pods: what a kubelet or a controller would say is said here. */
import { beforeEach } from 'node:test';
import { raw } from '../cluster/raw.ts';
import type { World } from './world.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const CONTAINERS = [{ name: 'c', image: 'i' }];

export interface PodSpec {
  name: string;
  node: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** Default: a ReplicaSet; null for none. */
  owner?: { apiVersion: string; kind: string; name: string } | null;
  emptyDir?: boolean;
  phase?: string;
  finalizers?: string[];
}

export interface Pods {
  /** Bound to its node, running and ready. */
  pod(spec: PodSpec): Promise<void>;
  daemonSet(name: string): Promise<void>;
  /** As the disruption controller keeps it. */
  budget(name: string, labels: Record<string, string>, disruptionsAllowed: number): Promise<void>;
  /** Names of those that are not on their way out, sorted. */
  names(): Promise<string[]>;
}

/** Pods, budgets and DaemonSets are gone before every test. */
export function podsOf(world: World): Pods {
  const api = () => raw(world.cluster());
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
  return {
    async pod({ name, node, labels = {}, annotations = {}, emptyDir = false, phase = 'Running', ...rest }) {
      const { owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' }, finalizers = [] } = rest;
      const ownerReferences = owner === null ? [] : [{ ...owner, uid: 'u', controller: true }];
      const volumes = emptyDir ? [{ name: 'cache', emptyDir: {} }] : [];
      const metadata = { name, labels, annotations, ownerReferences, finalizers };
      await api().expect('POST', `${NAMESPACE}/pods`, {
        metadata,
        spec: { nodeName: node, containers: CONTAINERS, volumes },
      });
      const conditions = [{ type: 'Ready', status: 'True' }];
      await api().expect('PATCH', `${NAMESPACE}/pods/${name}/status`, { status: { phase, conditions } });
    },
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
    names: async () =>
      (await list())
        .filter(({ deletionTimestamp }) => deletionTimestamp === undefined)
        .map(({ name }) => name)
        .sort(),
  };
}
