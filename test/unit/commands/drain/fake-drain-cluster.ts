/** A pool of nodes with pods, for drains: records requests and reports, and answers evictions as the test says. */
import assert from 'node:assert/strict';
import type { DrainChoice, DrainOptions, NodeDrainState } from '../../../../src/commands/drain/options.ts';
import { planDrain } from '../../../../src/commands/drain/plan-drain.ts';
import { drainLine } from '../../../../src/commands/drain/print.ts';
import { drain } from '../../../../src/commands/drain/run.ts';
import type { DryRun, EvictionsClient, RemovalResult } from '../../../../src/kube/cluster.ts';
import type { Budget } from '../../../../src/nodepool/drain/budgets.ts';
import type { DrainPod, DrainRules } from '../../../../src/nodepool/drain/drain-filters.ts';
import type { DrainPace } from '../../../../src/nodepool/drain/drain-slots.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import type { Storage } from '../../../../src/scheduling/volumes/storage.ts';
import { FakeClock } from '../../controller/fake-clock.ts';

export const RULES: DrainRules = {
  force: false,
  ignoreDaemonSets: false,
  deleteEmptyDirData: false,
  skipWaitForDeleteSeconds: 0,
};
const ONE: DrainPace = { kind: 'parallel', nodes: 1 };
export const ACCEPTED: RemovalResult = { kind: 'accepted' };
export const GONE: RemovalResult = { kind: 'gone' };
export const BUDGET: RemovalResult = {
  kind: 'budget',
  budget: 'web',
  message: 'needs 2 healthy pods and has 2 currently',
};

interface Setup {
  nodes?: Partial<Node>[];
  /** By node. */
  pods?: Record<string, Partial<DrainPod>[]>;
  options?: Partial<Omit<DrainChoice, 'pace'>> & { pace?: DrainPace };
  dryRun?: DryRun;
  /** The answers, one after the other; the last one is repeated. */
  budgets?: Budget[] | NodepoolError;
  /** What is read where a pod has a claim. Default: nothing may be. */
  storage?: Pick<Storage, 'claims' | 'volumes'> | NodepoolError;
  hasDaemonSet?: (boolean | NodepoolError)[];
  /** By pod, the answer to each attempt to remove it; the last one is repeated. */
  answers?: Record<string, (RemovalResult | NodepoolError)[]>;
  /** Ctrl-C during the nth removal, or during the first patch. */
  stopAtRemoval?: number;
  stopAtPatch?: boolean;
}

const pool = {
  apiVersion: '',
  kind: '',
  metadata: { name: 'worker' },
  spec: { nodeSelector: { in: 'worker' } },
} as NodePool;

function makeNode(node: Partial<Node>): Node {
  const base = { uid: node.name ?? '', resourceVersion: '1', creationTimestamp: '', taints: [], allocatable: {} };
  return { name: '', labels: { in: 'worker' }, ready: true, unschedulable: false, ...base, ...node };
}

export function makePod(pod: Partial<DrainPod>): DrainPod {
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };
  const placement = { nodeSelector: {}, nodeTerms: undefined, tolerations: [] };
  const spec = { isMirror: false, hasEmptyDir: false, controller, labels: {}, isReady: true, placement };
  const rest = { namespace: 'ns', name: '', phase: 'Running', creationTimestamp: '2026-01-01T00:00:00Z', ...spec };
  return { ...rest, uid: `uid-${pod.name}`, ...pod };
}

/** The nth answer; the last one is repeated. */
function nthOf<T>(answers: readonly (T | NodepoolError)[], nth: number): T {
  const answer = answers[Math.min(nth, answers.length - 1)];
  assert.ok(answer !== undefined);
  if (answer instanceof NodepoolError) throw answer;
  return answer;
}

/** A pod whose removal was accepted stays until removePods() is called. */
export function fakeDrainCluster(setup: Setup) {
  const clock = new FakeClock();
  const interrupt = new AbortController();
  const nodes = new Map((setup.nodes ?? [{ name: 'a' }]).map(node => [node.name ?? '', makeNode(node)]));
  const pods = new Map(Object.entries(setup.pods ?? {}).map(([node, some]) => [node, some.map(makePod)]));
  const [log, reported, lists]: [string[], string[], string[]] = [[], [], []];
  const tries = new Map<string, number>();
  let removals = 0;
  let daemonSetReads = 0;
  const removePods = (...names: string[]) => {
    for (const [node, some] of pods)
      pods.set(
        node,
        some.filter(({ name }) => !names.includes(name)),
      );
  };
  const evict = async (pod: DrainPod) => {
    const nth = tries.get(pod.name) ?? 0;
    tries.set(pod.name, nth + 1);
    removals++;
    log.push(`evict ${pod.name} @${clock.now() / 1000}`);
    if (removals === setup.stopAtRemoval) interrupt.abort();
    return nthOf(setup.answers?.[pod.name] ?? [ACCEPTED], nth);
  };
  const evictions: EvictionsClient = {
    async podsOn(node, podSelector) {
      lists.push(`${node}${podSelector === undefined ? '' : ` ${podSelector}`}`);
      return [...(pods.get(node) ?? [])];
    },
    hasDaemonSet: async (namespace, name) => {
      log.push(`daemonset ${namespace}/${name}`);
      return nthOf(setup.hasDaemonSet ?? [true], daemonSetReads++);
    },
    async budgets() {
      lists.push('budgets');
      return nthOf([setup.budgets ?? []], 0);
    },
    evict,
  };
  const words = { disableEviction: false, suffix: '' };
  const volumes: DrainOptions['volumes'] = async namespaces => {
    lists.push(`volumes ${[...namespaces].join()}`);
    return nthOf(setup.storage === undefined ? [] : [setup.storage], 0);
  };
  const options: DrainOptions = {
    cluster: {
      pools: {
        listCoerced: async () => [pool],
      },
      nodes: {
        list: async () => [...nodes.values()],
        serverTime: () => new Date(),
        get: async name => nodes.get(name),
        async patch(name, patch) {
          log.push(`patch ${name} ${JSON.stringify(patch)}`);
          if (setup.stopAtPatch) interrupt.abort();
          const node = nodes.get(name);
          if (node === undefined) return { kind: 'gone' };
          const { unschedulable = node.unschedulable, maintenance } = patch;
          const written = { ...node, unschedulable, ...(maintenance == null ? {} : { maintenance }) };
          if (setup.dryRun !== 'server') nodes.set(name, written);
          return { kind: 'written', node: written };
        },
      },
    },
    maintenance: {
      owner: async () => ({ name: 'alice', from: 'server' }),
      publish: async () => undefined,
      record: async () => undefined,
    },
    onWarning: () => {},
    evictions,
    volumes,
    clock,
    now: clock.wall,
    dryRun: setup.dryRun ?? 'none',
    sleep: async () => {},
    signal: interrupt.signal,
    onEvent(event) {
      const line = drainLine(event, words);
      reported.push(line.to === 'error' ? `error: ${line.message}` : line.text);
    },
    rules: RULES,
    podSelector: undefined,
    nodes: [],
    isRolling: false,
    cordon: { unschedulable: true },
    disableEviction: false,
    timeoutMs: 0,
    ...setup.options,
    pace: () => setup.options?.pace ?? ONE,
  };
  const plan = () => planDrain(['worker'], options);
  /** Plans and drains; `between` runs after the plan. */
  const start = async (between: () => void) => {
    const made = await plan();
    between();
    lists.length = 0;
    const ended: NodeDrainState[] = [];
    for await (const { drains } of drain(made, options)) ended.push(...drains);
    return ended;
  };
  return {
    clock,
    interrupt,
    nodes,
    pods,
    log,
    reported,
    lists,
    removePods,
    plan,
    start,
    begin: (between = () => {}) => ({ ended: start(between) }),
  };
}

export const states = (drains: readonly NodeDrainState[]) =>
  drains.map(
    ({ node, phase, gone, pods, blockedPods }) =>
      `${node} ${phase} ${gone}/${pods}${blockedPods.size > 0 ? ' held' : ''}`,
  );
