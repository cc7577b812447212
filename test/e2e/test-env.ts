/**
 * The test environment: a control plane with the CRD installed, and helpers that create, change and read objects on it.
 * `reconcile` and `delete` run the product's operations in this process; the helpers that read send plain requests.
 */
import assert from 'node:assert/strict';
import { after, beforeEach } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DeleteOptions, deletePools, findPools } from '../../src/commands/shared/delete/delete.ts';
import { type ApplyOptions, type PoolSummary, reconcile } from '../../src/commands/shared/reconcile/apply.ts';
import { proposeReconcile } from '../../src/commands/shared/reconcile/propose.ts';
import { systemClock } from '../../src/controller/clock.ts';
import type { ClusterPort } from '../../src/kube/cluster.ts';
import { type Connection, connect } from '../../src/kube/connect.ts';
import { warningText } from '../../src/nodepool/errors.ts';
import type { ControllerRevision } from '../../src/nodepool/rollout/revisions.ts';
import {
  API_VERSION,
  type NodePool,
  type NodePoolSpec,
  type RuntimeClass,
  type Taint,
} from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type ClusterOptions, useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from './watching.ts';

export interface LiveNode {
  metadata: {
    name: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    resourceVersion: string;
  };
  spec: { taints?: Taint[]; unschedulable?: boolean };
}

export interface LiveEvent {
  type: string;
  reason: string;
  note: string;
  regarding: { name: string };
}

export interface TestEnv {
  cluster(): ControlPlane;
  connection(isDryRun?: boolean): Promise<Connection>;
  nodes(...specs: NodeSpec[]): Promise<void>;
  /** Creates a pool as kubectl would; `younger` waits a second first, so that it is younger than the last one. */
  pool(name: string, spec?: NodePoolSpec, options?: { younger?: boolean; metadata?: object }): Promise<NodePool>;
  /** Merge patch of a pool. */
  edit(name: string, patch: object): Promise<NodePool>;
  getPool(name: string): Promise<NodePool | undefined>;
  node(name: string): Promise<LiveNode>;
  /** Merge patch of a node, as somebody else would send it. */
  patchNode(name: string, patch: object): Promise<void>;
  runtimeClass(pool: string): Promise<RuntimeClass | undefined>;
  events(pool: string): Promise<LiveEvent[]>;
  /** All ControllerRevisions in `default`, by their number. */
  revisions(): Promise<ControllerRevision[]>;
  reconcile(...names: string[]): Promise<PoolSummary[]>;
  dryRun(...names: string[]): Promise<PoolSummary[]>;
  /** Reconciles with another cluster port. */
  reconcileWith(cluster: ClusterPort, ...names: string[]): Promise<PoolSummary[]>;
  /** Reconciles as if the nodes had registered earlier: the server's time decides. */
  reconcileLater(minutes: number): Promise<PoolSummary[]>;
  delete(names: string[], options?: Partial<DeleteOptions>): ReturnType<typeof deletePools>;
  warnings: string[];
  /** Deletes all objects, as before every test. */
  clean(): Promise<void>;
}

/** One a test file; nodes, pools, RuntimeClasses and events are deleted before every test. */
export function useTestEnv(options: ClusterOptions = {}): TestEnv {
  const cluster = useCluster({ ...options, crd: true });
  const open = new Map<boolean, Promise<Connection>>();
  const warnings: string[] = [];
  const api = () => raw(cluster());
  const pools = `/apis/${API_VERSION}/nodepools`;
  const classes = '/apis/node.k8s.io/v1/runtimeclasses';
  const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';

  /** One for the whole file: connecting is not what is tested. */
  const connection = (isDryRun = false) => {
    const { kubeconfig } = cluster();
    const opened =
      open.get(isDryRun) ?? connect({ kubeconfig, env: {}, log: () => {}, version: '0.0.0-test', dryRun: isDryRun });
    open.set(isDryRun, opened);
    return opened;
  };
  const deps = async (isDryRun = false): Promise<ApplyOptions & Connection> => ({
    ...(await connection(isDryRun)),
    now: () => new Date(),
    clock: systemClock,
    sleep: ms => sleep(ms),
    concurrency: 8,
    warn: said => void warnings.push(...said.map(warningText)),
  });
  const run = async (names: string[], isDryRun: boolean, cluster?: ClusterPort) => {
    const all = { ...(await deps(isDryRun)), ...(cluster === undefined ? {} : { cluster }) };
    return reconcile(await proposeReconcile(names, all), all);
  };

  const clean = async () => {
    warnings.length = 0;
    let items: NodePool[] = [];
    // After a change of the CRD the server answers 429 until its storage is ready.
    await eventually('pools are listed', async () => {
      const { status, body } = await api().request('GET', pools);
      if (status === 200) ({ items } = body as { items: NodePool[] });
      return status === 200;
    });
    for (const { metadata } of items) {
      if (metadata.finalizers)
        await api().expect('PATCH', `${pools}/${metadata.name}`, { metadata: { finalizers: [] } });
      await api().request('DELETE', `${pools}/${metadata.name}`);
    }
    for (const path of ['/api/v1/nodes', classes, revisions, '/apis/events.k8s.io/v1/namespaces/default/events']) {
      await api().deleteAll(path);
    }
  };
  beforeEach(clean);
  after(async () => {
    for (const opened of open.values()) (await opened).close();
  });

  return {
    cluster,
    connection,
    warnings,
    clean,
    nodes: async (...specs) => createNodes(cluster(), specs),
    async pool(name, spec = {}, { younger = false, metadata = {} } = {}) {
      // creationTimestamp has whole seconds: pools of the same second are ordered by name.
      if (younger) await sleep(1100);
      const body = { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name, ...metadata }, spec };
      return (await api().expect('POST', pools, body)) as NodePool;
    },
    edit: async (name, patch) => (await api().expect('PATCH', `${pools}/${name}`, patch)) as NodePool,
    async getPool(name) {
      const { status, body } = await api().request('GET', `${pools}/${name}`);
      return status === 200 ? (body as NodePool) : undefined;
    },
    node: async name => (await api().expect('GET', `/api/v1/nodes/${name}`)) as LiveNode,
    patchNode: async (name, patch) => void (await api().expect('PATCH', `/api/v1/nodes/${name}`, patch)),
    async runtimeClass(pool) {
      const { status, body } = await api().request('GET', `${classes}/node-pool-${pool}`);
      return status === 200 ? (body as never) : undefined;
    },
    async events(pool) {
      const list = (await api().expect('GET', '/apis/events.k8s.io/v1/namespaces/default/events')) as {
        items: LiveEvent[];
      };
      return list.items.filter(event => event.regarding.name === pool);
    },
    async revisions() {
      const { items } = (await api().expect('GET', revisions)) as { items: ControllerRevision[] };
      return items.toSorted((a, b) => a.revision - b.revision);
    },
    reconcile: (...names) => run(names, false),
    dryRun: (...names) => run(names, true),
    reconcileWith: async (port, ...names) => run(names, false, port),
    async reconcileLater(minutes) {
      const { cluster: port } = await connection();
      const serverTime = () => new Date(port.nodes.serverTime().getTime() + minutes * 60_000);
      return run([], false, { ...port, nodes: { ...port.nodes, serverTime } });
    },
    async delete(names, more = {}) {
      const options = { ...(await deps()), detachNodes: false, ...more };
      const { pools } = await findPools(
        { names, detachNodes: options.detachNodes, ignoreNotFound: false },
        options.cluster,
      );
      return deletePools({ pools, ...options });
    },
  };
}

/** The membership label of a pool without a nodeSelector. */
export function role(pool: string): Record<string, string> {
  return { [`node-role.kubernetes.io/${pool}`]: '' };
}

/** `key=value:Effect` of each taint of the node. */
export function taintsOf(node: LiveNode): string[] {
  return (node.spec.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
}

/** Status number of each pool of a run. */
export function statuses(summaries: PoolSummary[]): Record<string, number | undefined> {
  return Object.fromEntries(summaries.map(({ pool, outcome }) => [pool, outcome?.status?.status]));
}

/** The pool's condition of that type; fails when there is none. */
export function condition(pool: NodePool | undefined, type: string) {
  const found = pool?.status?.conditions?.find(candidate => candidate.type === type);
  assert.ok(found, `pool ${pool?.metadata.name} has no condition ${type}`);
  return found;
}
