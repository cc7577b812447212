/**
 * Pods that pools with `noExecute: Drain` have to evict, and whether one was there when its node got the taint: by every
 * version of nodes and pods in etcd, in its order. The audit log of a killed API server lacks requests in flight.
 */
import assert from 'node:assert/strict';
import { decodeEnvelope, decodeNode } from '../../src/kube/protobuf/objects.ts';
import type { NodePoolSpec, Taint } from '../../src/nodepool/types.ts';
import type { RawClient } from '../cluster/raw.ts';
import { follow } from './etcd.ts';
import { type Random, weighted } from './random.ts';

/** The key of taints with the effect NoExecute that pools with `noExecute: Drain` have; no other pool has it. */
const KEY = 'evicts';
const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const [NODE_KEYS, POD_KEYS] = ['/registry/minions', '/registry/pods/default'];
/** A pod that took longer to create may have been decided before the node was closed; the product waits 2 s. */
const LATE_MS = 1_000;
/** Some are held back by a budget, some tolerate the taints and stay. */
const KINDS = ['free', 'held', 'tolerant'] as const;
const MANY = 10_000;

/** What a spec has to have to evict pods. */
export const evicting = (value: string): Pick<NodePoolSpec, 'noExecute'> & { taint: Taint } => ({
  noExecute: 'Drain',
  taint: { key: KEY, value, effect: 'NoExecute' },
});

export class EvictedPods {
  readonly #client: () => RawClient;
  /** Names of pods that came late. */
  readonly late = new Set<string>();
  #count = 0;
  #isHeld = false;

  constructor(client: () => RawClient) {
    this.#client = client;
  }

  /** Creates the budget. */
  async prepare(): Promise<void> {
    const spec = { minAvailable: 2, selector: { matchLabels: { kind: 'held' } } };
    await this.#client().expect('POST', BUDGETS, { metadata: { name: 'held' }, spec });
    await this.allow();
  }

  /** A new pod on the node, as a scheduler binds it: not where a taint of that key is. */
  async bind(node: string, random: Random): Promise<string> {
    const kind = weighted(random, [
      [5, KINDS[0]],
      [2, KINDS[1]],
      [2, KINDS[2]],
    ]);
    const name = `${kind}.${node}.${++this.#count}`;
    const began = performance.now();
    const { status, body } = await this.#client().request('GET', `/api/v1/nodes/${node}`);
    const { spec } = body as { spec?: { taints?: Taint[] } };
    if (status !== 200 || (kind !== 'tolerant' && spec?.taints?.some(({ key }) => key === KEY)))
      return `no pod ${name}`;
    const tolerations = kind === 'tolerant' ? [{ operator: 'Exists' }] : [];
    const containers = [{ name: 'c', image: 'i' }];
    await this.#client().expect('POST', PODS, {
      metadata: { name, labels: { kind } },
      // Without a kubelet, only such a pod is gone when it is evicted.
      spec: { nodeName: node, tolerations, containers, terminationGracePeriodSeconds: 0 },
    });
    const conditions = [{ type: 'Ready', status: 'True' }];
    // It may be evicted before.
    await this.#client().request('PATCH', `${PODS}/${name}/status`, { status: { phase: 'Running', conditions } });
    if (performance.now() - began > LATE_MS) this.late.add(name);
    return `pod ${name}`;
  }

  /** The budget allows no eviction, or again all. */
  async toggle(): Promise<void> {
    await (this.#isHeld ? this.allow() : this.#report(0));
    this.#isHeld = !this.#isHeld;
  }

  async allow(): Promise<void> {
    await this.#report(MANY);
    this.#isHeld = false;
  }

  /** As the garbage collector of pods: those of a node that is deleted. */
  async forget(node: string): Promise<void> {
    await this.#client().expect('DELETE', `${PODS}?fieldSelector=spec.nodeName%3D${node}&gracePeriodSeconds=0`);
  }

  /** As the disruption controller would write it. */
  async #report(disruptionsAllowed: number): Promise<void> {
    const counts = { disruptionsAllowed, currentHealthy: MANY + 2, desiredHealthy: 2, expectedPods: MANY + 2 };
    await this.#client().expect('PATCH', `${BUDGETS}/held/status`, { status: { observedGeneration: 1, ...counts } });
  }
}

export interface TaintLog {
  /** Throws where a node got a taint while there was a pod that does not tolerate it. @param late names of pods that do not count */
  judge(late: ReadonlySet<string>): void;
  /** How many taints were set, and how many pods went: evicted, or with their node. */
  counts(): { taints: number; gone: number };
  end(): void;
}

interface Seen {
  revision: number;
  node: string;
  /** Of a pod: its name, and whether it is there. */
  pod?: { name: string; isThere: boolean };
  /** Of a node: the value of its taint. */
  value?: string | undefined;
}

/** Begins to listen. @param etcd http://HOST:PORT */
export async function listenToTaints(etcd: string): Promise<TaintLog> {
  const seen: Seen[] = [];
  const last = new Map<string, string | undefined>();
  const ends = [
    await follow(etcd, NODE_KEYS, ({ key, value, revision }) => {
      const node = key.slice(NODE_KEYS.length + 1);
      const now = value === undefined ? undefined : taintOf(value);
      if (last.get(node) === now) return;
      last.set(node, now);
      seen.push({ revision, node, value: now });
    }),
    await follow(etcd, POD_KEYS, ({ key, value, revision, isNew }) => {
      const name = key.slice(POD_KEYS.length + 1);
      const node = name.split('.')[1] ?? '';
      if (isNew || value === undefined) seen.push({ revision, node, pod: { name, isThere: value !== undefined } });
    }),
  ];
  let [taints, gone] = [0, 0];
  return {
    end() {
      for (const end of ends) end();
    },
    counts: () => ({ taints, gone }),
    judge(late) {
      const on = new Map<string, Set<string>>();
      [taints, gone] = [0, 0];
      for (const { node, pod, value } of seen.toSorted((a, b) => a.revision - b.revision)) {
        const pods = on.get(node) ?? new Set();
        on.set(node, pods);
        if (pod?.isThere) pods.add(pod.name);
        else if (pod !== undefined && pods.delete(pod.name)) gone++;
        if (value === undefined) continue;
        taints++;
        const left = [...pods].filter(name => !name.startsWith('tolerant.') && !late.has(name));
        assert.deepEqual(left, [], `node ${node} got ${KEY}=${value}:NoExecute while these pods were there`);
      }
    },
  };
}

/** The value of the taint that evicts. */
function taintOf(node: Buffer): string | undefined {
  const { spec } = decodeEnvelope(node, decodeNode) as { spec?: { taints?: Taint[] } };
  const found = spec?.taints?.find(({ key, effect }) => key === KEY && effect === 'NoExecute');
  return found && (found.value ?? '');
}
