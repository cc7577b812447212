/** Kubelets that register nodes of a pool while something fails, with manifests/born-in-pool.yaml. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodePoolSpec, Taint } from '../../src/nodepool/types.ts';
import { GROUP, kubeletOf, TAINT } from '../e2e/kubelet.ts';
import type { FaultEnv, Test } from './fault-env.ts';
import { type History, listen, type NodeState } from './history.ts';
import { taintId } from './model.ts';

export const SETUP: Taint = { key: 'setup', effect: 'NoSchedule' };
export const AGENT = { key: 'agent', value: 'starting', effect: 'NoSchedule' } as const;
export const [AGENT_ID, SETUP_ID] = [taintId(AGENT), taintId(SETUP)];
export const STARTUP_IDS = new Set([AGENT_ID, SETUP_ID]);
export const MEMBER = { [GROUP]: 'p' };
export const POOL: NodePoolSpec = {
  nodeSelector: MEMBER,
  labels: { tier: 'gold' },
  taints: [TAINT],
  annotations: { note: 'of "p"' },
  startupTaints: [{ ...AGENT, until: { nodeCondition: 'AgentReady' } }, SETUP],
};
/** A kubelet tries again after 0.2 to 7 s. */
const RETRY_MS = 200;
const REGISTER_MS = 60_000;

/** All versions of nodes, until the test ends. */
export async function nodeVersions(testEnv: FaultEnv, t: Test): Promise<History> {
  const history = await listen(testEnv.cluster().etcdUrl, ['note']);
  t.after(() => history.end());
  return history;
}

/** Resolves once the node is there, with the statuses of the attempts before; 0 is a lost connection. */
export async function register(testEnv: FaultEnv, name: string): Promise<number[]> {
  const kubelet = kubeletOf(testEnv.cluster(), name);
  const refused: number[] = [];
  for (const end = performance.now() + REGISTER_MS; performance.now() < end; await sleep(RETRY_MS)) {
    const { status, body } = await kubelet.register(MEMBER).catch(() => ({ status: 0, body: undefined }));
    // The response to an earlier attempt was lost.
    if (status === 201 || (status === 409 && refused.includes(0))) return refused;
    assert.ok([0, 429, 500, 503].includes(status), `node ${name}: ${status} ${JSON.stringify(body)}`);
    refused.push(status);
  }
  return assert.fail(`node ${name} could not register: ${refused}`);
}

/** Which of the pool's values the node has, as text. */
export function valuesOf({ labels, taints, annotations }: NodeState): string {
  const values = { tier: labels.tier, note: annotations.note, taints: Object.fromEntries([...taints].toSorted()) };
  return JSON.stringify(values);
}

/** Of a node that registered into the pool, before anybody changed it. */
export const WHOLE = valuesOf({
  labels: { ...POOL.labels },
  annotations: { ...POOL.annotations },
  taints: new Map([AGENT, SETUP, TAINT].map((taint: Taint) => [taintId(taint), taint.value ?? ''])),
} as NodeState);
/** Of a node that no pool has given anything. */
export const FREE = valuesOf({ labels: {}, annotations: {}, taints: new Map() } as unknown as NodeState);

/** The first version of each node. */
export function births(history: History): { name: string; state: NodeState }[] {
  const uids = new Set<string>();
  return history.nodes().flatMap(({ name, state }) => {
    if (state === undefined || uids.has(state.uid)) return [];
    uids.add(state.uid);
    return { name, state };
  });
}

/** The last version of each node that is there. */
export function current(history: History): Map<string, NodeState> {
  const last = new Map(history.nodes().map(({ name, state }) => [name, state]));
  return new Map([...last].flatMap(([name, state]) => (state === undefined ? [] : [[name, state]])));
}

/** Names of nodes on which something of a pool is left. */
export function notFree(history: History): string[] {
  const isFree = (state: NodeState) =>
    valuesOf(state) === FREE && state.record === undefined && state.birthRecord === undefined;
  return [...current(history)].filter(([, state]) => !isFree(state)).map(([name]) => name);
}
