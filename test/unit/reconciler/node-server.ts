/** A server with one node, for tests of the node writer; the test sets its responses. */

import type { ClusterPort, NodePatch, NodeWrite } from '../../../src/kube/cluster.ts';
import { FINALIZER, type Node, type NodePool } from '../../../src/nodepool/types.ts';
import type { ReconcilerOptions } from '../../../src/reconciler/options.ts';
import { patchedNode } from '../../../src/reconciler/plan/node-plan.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { NodeWriter } from '../../../src/reconciler/write/node-writer.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aNode, aPool } from '../nodepool/fixtures.ts';
import { reconcilerOptions } from './reconciler-options.ts';

export const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
export const worker = aPool({ labels: { tier: 'gold' } }, { finalizers: [FINALIZER] });
/** A member of the pool `worker` that it has not written yet. */
export const fresh = aNode({ labels: role('worker') });

export class Server {
  live: Node | undefined;
  readonly requests: string[] = [];
  readonly sent: NodePatch[] = [];
  readonly slept: number[] = [];
  /** Replaces the server's own response; runs before it. */
  onPatch: (attempt: number) => NodeWrite | undefined = () => undefined;
  /** Alters the node to be stored, as an admission policy does. */
  admit: (node: Node) => Node = node => node;
  onFinalizers: (pool: NodePool) => NodePool | undefined = pool => pool;
  /** The field manager of labels and taints. */
  fieldManager: string | undefined;

  constructor(node: Node) {
    this.live = node;
  }

  /** A write of someone else. */
  change(node: Partial<Node>): void {
    if (this.live !== undefined) this.#store({ ...this.live, ...node });
  }

  #store(node: Node): Node {
    this.live = { ...node, resourceVersion: String(Number(node.resourceVersion) + 1) };
    return this.live;
  }

  readonly port = {
    nodes: {
      serverTime: () => new Date(),
      patch: async (name: string, patch: NodePatch): Promise<NodeWrite> => {
        this.requests.push(`patch ${name}`);
        this.sent.push(patch);
        const forced = this.onPatch(this.sent.length);
        if (forced !== undefined) return forced;
        if (this.live === undefined) return { kind: 'gone' };
        if (patch.resourceVersion !== this.live.resourceVersion) return { kind: 'conflict' };
        return { kind: 'written', node: this.#store(this.admit(patchedNode(this.live, patch))) };
      },
      get: async (name: string) => {
        this.requests.push(`get ${name}`);
        return this.live;
      },
      fieldManager: async (name: string, path: readonly string[]) => {
        this.requests.push(`manager of ${name} ${path.join('.')}`);
        return this.fieldManager;
      },
    },
    pools: {
      getCoerced: async (name: string) => {
        this.requests.push(`get pool ${name}`);
        return undefined;
      },
      setFinalizers: async (pool: NodePool, finalizers: string[]) => {
        this.requests.push(`finalizers ${pool.metadata.name}: ${finalizers}`);
        const stored = this.onFinalizers({
          ...pool,
          metadata: { ...pool.metadata, finalizers, resourceVersion: '99' },
        });
        return stored === undefined ? { kind: 'gone' } : { kind: 'written', pool: stored };
      },
    },
  } as unknown as ClusterPort;
}

export function begin(node: Node, pools: NodePool[] = [worker], more: Partial<ReconcilerOptions> = {}) {
  const server = new Server(node);
  const state = new ClusterState(pools, [node], []);
  const clock = new FakeClock();
  const sleep = async (ms: number) => void server.slept.push(ms);
  const options = reconcilerOptions(server.port, state, { sleep, clock, hasCaches: true, ...more });
  return { server, state, clock, options, writer: new NodeWriter(options) };
}
