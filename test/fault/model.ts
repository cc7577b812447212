/**
 * The changes of a test to nodes and pools: each goes to the server and is remembered here, so that the expected state
 * (expected.ts) is known without the code under test.
 */
import { API_VERSION, type NodePoolSpec, type Taint } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { createNodes, type NodeSpec, nodeObject, setCondition } from '../cluster/nodes.ts';
import { type RawClient, raw } from '../cluster/raw.ts';

/** Foreign labels, taints and annotations of a node; no annotations that the cluster itself sets. */
export interface Foreign {
  labels: Record<string, string>;
  taints: Taint[];
  annotations: Record<string, string>;
}

export type Labels = Record<string, string | null>;

export const POOLS = `/apis/${API_VERSION}/nodepools`;
export const CLASSES = '/apis/node.k8s.io/v1/runtimeclasses';
export const taintId = ({ key, effect }: Taint) => `${key}:${effect}`;

/** Prefix of drifted values: expected.ts accepts them where no pool sets the key. */
export const DRIFT = 'drift';

const MAX_ATTEMPTS = 100;

export class Model {
  readonly nodes = new Map<string, Foreign>();
  readonly pools = new Map<string, NodePoolSpec>();
  readonly #cluster: () => ControlPlane;

  constructor(cluster: () => ControlPlane) {
    this.#cluster = cluster;
  }

  get cluster(): ControlPlane {
    return this.#cluster();
  }

  get client(): RawClient {
    return raw(this.#cluster());
  }

  async addNodes(...specs: NodeSpec[]): Promise<void> {
    await createNodes(this.#cluster(), specs);
    for (const spec of specs) {
      const { metadata } = nodeObject(spec) as { metadata: { labels: Record<string, string> } };
      const [taints, annotations] = [[...(spec.taints ?? [])], { ...spec.annotations }];
      this.nodes.set(spec.name, { labels: { ...metadata.labels }, taints, annotations });
    }
  }

  async removeNode(name: string): Promise<void> {
    await this.client.expect('DELETE', `/api/v1/nodes/${name}`);
    this.nodes.delete(name);
  }

  /** Sets foreign labels; null removes one. */
  async label(name: string, labels: Labels): Promise<void> {
    await this.client.expect('PATCH', `/api/v1/nodes/${name}`, { metadata: { labels } });
    const all = this.#node(name).labels;
    for (const [key, value] of Object.entries(labels)) {
      if (value === null) delete all[key];
      else all[key] = value;
    }
  }

  /** Adds a foreign taint. */
  async taint(name: string, taint: Taint): Promise<void> {
    await this.#editTaints(name, taints => [...taints.filter(each => taintId(each) !== taintId(taint)), taint]);
    this.#node(name).taints.push(taint);
  }

  async untaint(name: string, id: string): Promise<void> {
    await this.#editTaints(name, taints => taints.filter(taint => taintId(taint) !== id));
    const node = this.#node(name);
    node.taints = node.taints.filter(taint => taintId(taint) !== id);
  }

  /** Sets foreign annotations. */
  async annotate(name: string, annotations: Record<string, string>): Promise<void> {
    await this.client.expect('PATCH', `/api/v1/nodes/${name}`, { metadata: { annotations } });
    Object.assign(this.#node(name).annotations, annotations);
  }

  /** Changes or removes labels and annotations of pools and removes their taints, which the product must repair. */
  async drift(
    name: string,
    labels: Labels,
    taintIds: readonly string[] = [],
    annotations: Record<string, string | null> = {},
  ): Promise<void> {
    await this.client.expect('PATCH', `/api/v1/nodes/${name}`, { metadata: { labels, annotations } });
    if (taintIds.length > 0) {
      await this.#editTaints(name, taints => taints.filter(taint => !taintIds.includes(taintId(taint))));
    }
  }

  /** Removes startup taints of pools, which the product must not set again. */
  async removeStartup(name: string, taintIds: readonly string[]): Promise<void> {
    await this.#editTaints(name, taints => taints.filter(taint => !taintIds.includes(taintId(taint))));
  }

  /** An agent reports a condition of the node. */
  async report(name: string, type: string, status: 'True' | 'False'): Promise<void> {
    await setCondition(this.#cluster(), name, type, status);
  }

  /** A kubelet's heartbeat. */
  async heartbeat(name: string): Promise<void> {
    const status = { conditions: [{ type: 'Ready', lastHeartbeatTime: new Date().toISOString() }] };
    const type = 'application/strategic-merge-patch+json';
    await this.client.expect('PATCH', `/api/v1/nodes/${name}/status`, { status }, type);
  }

  async createPool(name: string, spec: NodePoolSpec): Promise<void> {
    await this.client.expect('POST', POOLS, { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec });
    this.pools.set(name, spec);
  }

  /** Replaces the spec. */
  async editPool(name: string, spec: NodePoolSpec): Promise<void> {
    const patch = [{ op: 'replace', path: '/spec', value: spec }];
    await this.client.expect('PATCH', `${POOLS}/${name}`, patch, 'application/json-patch+json');
    this.pools.set(name, spec);
  }

  async deletePool(name: string): Promise<void> {
    await this.client.expect('DELETE', `${POOLS}/${name}`);
    this.pools.delete(name);
  }

  #node(name: string): Foreign {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`the model has no node ${name}`);
    return node;
  }

  /** With a resourceVersion, as taints are an atomic list. */
  async #editTaints(name: string, edit: (taints: Taint[]) => Taint[]): Promise<void> {
    const path = `/api/v1/nodes/${name}`;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { metadata, spec } = (await this.client.expect('GET', path)) as {
        metadata: { resourceVersion: string };
        spec: { taints?: Taint[] };
      };
      const { resourceVersion } = metadata;
      const patch = { metadata: { resourceVersion }, spec: { taints: edit(spec.taints ?? []) } };
      const { status, body } = await this.client.request('PATCH', path, patch);
      if (status < 300) return;
      if (status !== 409) throw new Error(`PATCH ${path}: ${status} ${JSON.stringify(body)}`);
    }
    throw new Error(`the taints of ${name} changed ${MAX_ATTEMPTS} times in a row between read and write`);
  }
}
