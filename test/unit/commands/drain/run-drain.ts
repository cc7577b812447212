/** Runs showDrain() on a small cluster in memory. */
import type { Connection, Deps } from '../../../../src/cli/factory.ts';
import { type Progress, SILENT } from '../../../../src/cli/progress.ts';
import { parsePace } from '../../../../src/commands/drain/command.ts';
import { type ShownDrain, showDrain } from '../../../../src/commands/drain/show-drain.ts';
import type { RemovalOptions, RemovalResult } from '../../../../src/kube/cluster.ts';
import type { Budget } from '../../../../src/nodepool/drain/budgets.ts';
import type { Node, Toleration } from '../../../../src/nodepool/types.ts';
import { testIo } from '../../cli/test-io.ts';

const pool = { apiVersion: '', kind: '', metadata: { name: 'worker' }, spec: { nodeSelector: { in: 'worker' } } };
const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };

function makeNode(name: string): Node {
  const rest = { labels: { in: 'worker' }, taints: [], ready: true, unschedulable: false, allocatable: {} };
  return { name, uid: name, resourceVersion: '1', creationTimestamp: '', ...rest };
}

/** Two nodes with a pod each, which ends at once or as the test says; cordoned nodes are empty. */
export async function runDrain(
  choice: Partial<ShownDrain> = {},
  {
    io = testIo(),
    live = SILENT as Progress,
    removal = { kind: 'gone' } as RemovalResult,
    /** Cordoned and empty in the first list alone. */
    wasCordoned = false,
    isCordoned = false,
    /** One of the two nodes. */
    cordoned = '',
    hasPods = true,
    pod = 'p',
    budgets = [] as Budget[],
    tolerations = [] as Toleration[],
    deletionTimestamp = undefined as string | undefined,
    /** Gets how each client of pods was opened. */
    opened = [] as RemovalOptions[],
  } = {},
) {
  const nodes = [makeNode('a'), makeNode('b')];
  let reads = 0;
  const isEmpty = () => wasCordoned && reads === 1;
  const placement = { nodeSelector: {}, nodeTerms: undefined, tolerations };
  const spec = { isMirror: false, hasEmptyDir: true, controller, isReady: true, placement };
  const rest = {
    namespace: 'ns',
    phase: 'Running',
    ...spec,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
  const client = {
    podsOn: async (node: string) =>
      isEmpty() || !hasPods ? [] : [{ ...rest, labels: { node }, name: `${pod}-${node}`, uid: node }],
    budgets: async () => budgets,
    evict: async () => removal,
  };
  const connection = {
    contextName: 'prod',
    clusterName: 'c',
    cluster: {
      pools: {
        listCoerced: async () => [pool],
        firstNames: async () => ['worker'],
        list: async () => [pool],
      },
      nodes: {
        async list() {
          reads++;
          return nodes.map(node => ({ ...node, unschedulable: isCordoned || node.name === cordoned || isEmpty() }));
        },
        get: async (name: string) => ({ ...makeNode(name), unschedulable: !choice.isRolling }),
        patch: async (name: string) => ({ kind: 'written', node: { ...makeNode(name), unschedulable: true } }),
      },
      evictions: async (how: RemovalOptions) => {
        opened.push(how);
        return client;
      },
    },
  } as unknown as Connection;
  const deps = { io, connect: async () => connection, progress: async () => live } as unknown as Deps;
  const code = await showDrain(
    {
      pools: { names: ['worker'] },
      dryRun: 'none',
      yes: false,
      pace: members => parsePace(undefined, undefined, members),
      warnOf: () => [],
      rules: { force: false, ignoreDaemonSets: false, deleteEmptyDirData: true, skipWaitForDeleteSeconds: 0 },
      podSelector: undefined,
      nodes: [],
      isRolling: false,
      checkFit: false,
      gracePeriodSeconds: undefined,
      cordon: { unschedulable: true },
      disableEviction: false,
      timeoutMs: 0,
      ...choice,
    },
    deps,
  );
  return { code, stdout: io.stdoutText(), stderr: io.stderrText() };
}

export const DONE = `node/a cordoned
node/b cordoned
node/a drained
node/b drained
nodepool.nodes.lailin.xyz/worker drained (2 nodes, 2 pods)
`;
export const WARNING = `warning: deleting pods with local storage: ns/p-a, ns/p-b
warning: pods will stay Pending, because every other node is cordoned or not Ready: ns/p-a, ns/p-b
`;
export const HEADING = `Draining 2 nodes of pool worker, 1 at a time; all nodes are cordoned first. Timeout for each node: none.
`;
