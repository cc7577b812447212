/** Command lines that cause the requests of src/commands/shared/permissions/needs.ts, one after the other on the cluster of needs-cluster.ts. */
import { raw } from '../cluster/raw.ts';
import type { Pods } from './draining.ts';
import { DEPLOYMENT_FILE, POD_FILE, SET_FILE } from './needs-cluster.ts';
import type { TestEnv } from './test-env.ts';

export interface Run {
  /** The name in needs.ts. */
  command: string;
  lines: string[];
  /** Runs before the first line. */
  prepare?: () => Promise<unknown>;
  /** Runs after the last one. */
  finish?: () => Promise<unknown>;
  /** Exit code of the last line; default 0. */
  code?: number;
  /** Permissions that these lines do not use. */
  unseen?: RegExp;
  /** What they ask for, and do without where it is refused. */
  optional?: RegExp;
}

/** Whether a controller is running. */
const LEASES = /^get leases$/;
const OVERLAPS = /^list node(pool)?s$/;

export const runsOf = (testEnv: TestEnv, pods: Pods): Run[] => [
  { command: 'get', lines: ['get -o name', 'get one -o name'] },
  { command: 'get with nodes', lines: ['get', 'get one', 'get -o wide'] },
  { command: 'describe', lines: ['describe one'] },
  { command: 'nodes', lines: ['nodes -l grp', 'nodes --unassigned'] },
  { command: 'nodes -o wide', lines: ['nodes -o wide'] },
  { command: 'nodes --why', lines: ['nodes --why a'] },
  { command: 'why', lines: ['why a'] },
  { command: 'why with short names', lines: ['why nope'], code: 1 },
  { command: 'events', lines: ['events one', 'events -l a=b'] },
  { command: 'history', lines: ['history one'] },
  { command: 'history of nodes', lines: ['history node/c', 'history drifted'] },
  { command: 'report', lines: ['report one'] },
  { command: 'report with drift', lines: ['report drifted'] },
  { command: 'top', lines: ['top'] },
  { command: 'top --pods', lines: ['top --pods'] },
  { command: 'fit', lines: ['fit fitting'] },
  { command: 'fit -f', lines: [`fit -f ${POD_FILE}`] },
  { command: 'fit with volumes', lines: ['fit stored'], code: 1 },
  { command: 'fit with namespaceSelector', lines: ['fit near'], code: 1 },
  { command: 'fit with extended resources', lines: ['fit device'], code: 1 },
  { command: 'fit -f with pod-template-hash', lines: [`fit -f ${DEPLOYMENT_FILE}`] },
  { command: 'fit -f with controller-revision-hash', lines: [`fit -f ${SET_FILE}`] },
  { command: 'wait', lines: ['wait one --for=nodes=99 --timeout=1s'], code: 1 },
  {
    command: 'create',
    lines: ['create x --node-selector node-restriction.kubernetes.io/grp=x'],
    optional: OVERLAPS,
  },
  {
    command: 'create with overlaps',
    lines: ['create d --node-selector node-restriction.kubernetes.io/grp=d --dry-run=server'],
  },
  { command: 'create --nodes', lines: ['create y --nodes c'], optional: OVERLAPS },
  { command: 'create --nodes with short names', lines: ['create short --nodes nope'], code: 1 },
  { command: 'create --reconcile', lines: ['create z --node-selector grp=z --handler runc --label a=b --reconcile'] },
  {
    command: 'create with NoExecute',
    lines: ['create w --node-selector node-restriction.kubernetes.io/grp=w --taint k=v:NoExecute'],
  },
  {
    command: 'create with kubelet labels',
    lines: ['create v --node-selector grp=v --taint k=v:NoSchedule'],
    optional: OVERLAPS,
  },
  { command: 'diff', lines: ['diff y z'] },
  { command: 'diff with drift', lines: ['diff drifted'], code: 1 },
  { command: 'diff --impact', lines: ['diff drifted --impact'], code: 1, optional: /^get nodes$/ },
  { command: 'diff --impact with NoExecute', lines: ['diff w --impact'], code: 1, optional: /^(get nodes|list \w+)$/ },
  { command: 'diff with NoExecute', lines: ['diff w'], code: 1 },
  { command: 'adopt', lines: ['adopt'] },
  { command: 'adopt --create', lines: ['adopt --label own --create'] },
  { command: 'adopt with kubelet labels', lines: ['adopt --label group'] },
  { command: 'edit with kubelet labels', lines: ['edit v --node-selector group=v'] },
  { command: 'edit', lines: ['edit x --label a=b'] },
  { command: 'edit with NoExecute', lines: ['edit x --taint k:NoExecute'] },
  { command: 'edit with deleted RuntimeClass', lines: ['edit classy --handler='] },
  { command: 'diff with deleted RuntimeClass', lines: ['diff classy'], code: 1 },
  { command: 'reconcile with deleted RuntimeClass', lines: ['reconcile classy'] },
  // in-cluster.test.ts has it keep too many revisions, and find a name that is taken.
  {
    command: 'reconcile',
    lines: [
      'reconcile one',
      'rollout resume rolled',
      ...['a', 'b', 'a'].flatMap(value => [`edit rolled --label k=${value}`, 'reconcile rolled']),
    ],
  },
  { command: 'reconcile with NoExecute', lines: ['reconcile x'] },
  {
    command: 'reconcile with noExecute: Drain',
    // Only now: beside such a pool, `create` looks for evictions, and the watch evicts.
    prepare: () => testEnv.pool('drains', { noExecute: 'Drain', taints: [{ key: 'k', effect: 'NoExecute' }] }),
    lines: ['reconcile drains --yes --timeout=1s'],
    code: 1,
    finish: () => testEnv.delete(['drains']),
  },
  { command: 'reconcile --pod-counts', lines: ['reconcile one --pod-counts'] },
  { command: 'add', lines: ['add y e'] },
  { command: 'add with NoExecute', lines: ['add w f', 'add w g'] },
  { command: 'remove', lines: ['remove y e'] },
  { command: 'remove with NoExecute', lines: ['remove w f'] },
  { command: 'move', lines: ['move c --to one'] },
  { command: 'move --dry-run', lines: ['move e --to one --dry-run'] },
  { command: 'move with NoExecute', lines: ['move c --to w'] },
  { command: 'rollout', lines: ['rollout pause one', 'rollout resume one'] },
  {
    command: 'rollout resume with NoExecute',
    lines: ['rollout pause w', 'edit w --taint waits:NoExecute', 'rollout resume w'],
    finish: () => testEnv.edit('w', { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] } }),
  },
  { command: 'rollout history', lines: ['rollout history undone', 'rollout history undone --revision=1'] },
  { command: 'rollout undo', lines: ['rollout undo undone --to-revision=3'] },
  { command: 'rollout undo with deleted RuntimeClass', lines: ['rollout undo undone --to-revision=2'] },
  {
    command: 'rollout undo with NoExecute',
    lines: ['rollout undo undone --to-revision=1'],
    // The watch may end before it has deleted the RuntimeClass.
    finish: () => testEnv.reconcile('undone'),
  },
  { command: 'rollout with NotReady nodes', lines: ['rollout resume stopped'] },
  { command: 'rollout status', lines: ['rollout status one --timeout=1s'], code: 1, optional: LEASES },
  { command: 'rollout status with nodes', lines: ['rollout status drifted --no-watch'] },
  { command: 'rollout status --revision', lines: ['rollout status undone --revision=1'], code: 1, optional: LEASES },
  { command: 'cordon', lines: ['cordon one'] },
  { command: 'uncordon', lines: ['uncordon one'] },
  // The server is older than the condition.
  {
    command: 'cordon --reason',
    lines: ['cordon one --reason=disks --until=2h'],
    unseen: /^patch nodes\/status/,
  },
  { command: 'uncordon after cordon --reason', lines: ['uncordon one --takeover'] },
  {
    command: 'drain with volumes',
    prepare: () => pods.pod({ name: 'claiming', node: 'a', claim: 'none' }),
    lines: ['drain one --dry-run --ignore-daemonsets'],
    finish: async () => {
      await raw(testEnv.cluster()).expect('DELETE', '/api/v1/namespaces/default/pods/claiming?gracePeriodSeconds=0');
    },
  },
  // Only to name the budgets of a pod that has several.
  {
    command: 'drain',
    lines: ['drain one --grace-period=0 --ignore-daemonsets'],
    unseen: /^get pods/,
  },
  { command: 'drain --check-fit', lines: ['drain two --check-fit --dry-run'] },
  { command: 'drain --disable-eviction', lines: ['drain two --disable-eviction --grace-period=0'] },
  { command: 'get --watch', lines: ['get --watch -o name'] },
  { command: 'get --watch with nodes', lines: ['get --watch'] },
  { command: 'events --watch', lines: ['events --watch'] },
  { command: 'nodes --watch', lines: ['nodes --watch'] },
  { command: 'reconcile --watch', lines: ['reconcile --watch'] },
  { command: 'reconcile --watch --pod-counts', lines: ['reconcile --watch --pod-counts'] },
  { command: 'reconcile --watch --leader-elect', lines: ['reconcile --watch --leader-elect'], unseen: /^patch leases/ },
  {
    command: 'reconcile with drift',
    prepare: () => testEnv.patchNode('h', { metadata: { labels: { tier: 'theirs' } } }),
    lines: ['reconcile drifted'],
  },
  { command: 'delete', lines: ['delete one --yes'] },
  { command: 'delete with RuntimeClass', lines: ['delete z --yes'] },
  { command: 'delete with NoExecute', lines: ['delete w --yes'] },
  { command: 'delete with next owners', lines: ['delete left --yes'] },
  // A patch that creates needs both.
  { command: 'install --policies', lines: ['install --policies'], unseen: /./ },
  { command: 'install --admission', lines: ['install --admission'], unseen: /./ },
  // A patch that creates needs both; and granting a role needs its permissions.
  { command: 'install --controller', lines: ['install --controller --image r.example.com/c:1'], unseen: /./ },
  { command: 'uninstall --controller', lines: ['uninstall --controller --yes'] },
  { command: 'uninstall --cascade with RuntimeClass', lines: ['uninstall --cascade --dry-run', 'delete right --yes'] },
  { command: 'uninstall --cascade', lines: ['uninstall --cascade --yes'] },
  { command: 'install', lines: ['install'], unseen: /^create / },
  // command-admission.test.ts has it delete the policy.
  { command: 'uninstall', lines: ['uninstall --yes'], unseen: /^delete (mutating|validating)/ },
];
