/**
 * Runs each command as a user with exactly its permissions in src/operations/doctor/needs.ts, and compares these with
 * the requests in the server's audit log. `view` needs a terminal: command-view.test.ts.
 */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readBornInPool, readController, readPolicies } from '../../src/cli/manifests.ts';
import { commands } from '../../src/commands/index.ts';
import { needsOf } from '../../src/operations/doctor/needs.ts';
import { questionText } from '../../src/operations/doctor/question.ts';
import type { AccessQuestion } from '../../src/operations/doctor-port.ts';
import { type AuditEvent, readAudit } from '../cluster/audit.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { start } from './following.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

// Without WatchList the reflectors list, too.
const testEnv = useTestEnv({ audit: true, apiserverFlags: ['--feature-gates=WatchList=false'] });
const pods = poolsWithPods(testEnv);
const root = fileURLToPath(new URL('../../', import.meta.url));
const [{ objects: policies }, { objects: bornInPool }, { objects: controller }] = await Promise.all([
  readPolicies(root),
  readBornInPool(root),
  readController(root),
]);
const installable = { policies, bornInPool, controller };
const needs = new Map(
  needsOf(Object.keys(commands), installable).map(({ command, questions }) => [command, questions]),
);
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Not seen here: in-cluster.test.ts provokes the conflicts after which a reconcile reads again. */
const ELSEWHERE =
  /^(watch |get (nodes|nodepools)|(get|create|patch|delete) runtimeclasses|(create|patch) events|patch nodepools)/;

/** For `fit -f`. */
const POD_FILE = join(tmpdir(), `nodepool-needs-${process.pid}.json`);
const POD_SPEC = { containers: [{ name: 'c', image: 'i' }] };

const OLD = { key: 'k', value: 'old', effect: 'NoExecute' as const };

interface Run {
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

const OVERLAPS = /^list node(pool)?s$/;

const RUNS: Run[] = [
  { command: 'get', lines: ['get -o name', 'get one -o name'] },
  { command: 'get with pending pools', lines: ['get'] },
  { command: 'get -o wide', lines: ['get -o wide', 'get one -o wide'] },
  { command: 'describe', lines: ['describe one'] },
  { command: 'nodes', lines: ['nodes -l grp', 'nodes --unassigned'] },
  { command: 'nodes -o wide', lines: ['nodes -o wide'] },
  { command: 'nodes --why', lines: ['nodes --why a'] },
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
  { command: 'edit with kubelet labels', lines: ['edit v --taint k=w:NoSchedule'] },
  { command: 'edit', lines: ['edit x --label a=b'] },
  { command: 'edit with NoExecute', lines: ['edit x --taint k:NoExecute'] },
  { command: 'edit with deleted RuntimeClass', lines: ['edit classy --handler='] },
  { command: 'diff with deleted RuntimeClass', lines: ['diff classy'], code: 1 },
  { command: 'reconcile with deleted RuntimeClass', lines: ['reconcile classy'] },
  { command: 'reconcile', lines: ['reconcile one'] },
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
  { command: 'rollout status', lines: ['rollout status one --timeout=1s'], code: 1 },
  { command: 'rollout status --revision', lines: ['rollout status undone --revision=1'], code: 1 },
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
  { command: 'events --watch', lines: ['events --watch'] },
  { command: 'nodes --watch', lines: ['nodes --watch'] },
  { command: 'reconcile --watch', lines: ['reconcile --watch'] },
  { command: 'reconcile --watch --pod-counts', lines: ['reconcile --watch --pod-counts'] },
  { command: 'reconcile --watch --leader-elect', lines: ['reconcile --watch --leader-elect'], unseen: /^patch leases/ },
  // The watch is not to see its rollout. in-cluster.test.ts has it keep too many, and find a name that is taken.
  {
    command: 'reconcile with rollout',
    lines: [
      'rollout resume rolled',
      ...['a', 'b', 'a'].flatMap(value => [`edit rolled --label k=${value}`, 'reconcile rolled']),
    ],
    unseen: /^(get|delete) controllerrevisions/,
  },
  { command: 'delete', lines: ['delete one --yes'] },
  { command: 'delete with RuntimeClass', lines: ['delete z --yes'] },
  { command: 'delete with NoExecute', lines: ['delete w --yes'] },
  { command: 'delete with next owners', lines: ['delete left --yes'] },
  // A patch that creates needs both.
  { command: 'install --admission', lines: ['install --admission'], unseen: /./ },
  // A patch that creates needs both; and granting a role needs its permissions.
  { command: 'install --controller', lines: ['install --controller --image r.example.com/c:1'], unseen: /./ },
  { command: 'uninstall --controller', lines: ['uninstall --controller --yes'] },
  { command: 'uninstall --cascade with RuntimeClass', lines: ['uninstall --cascade --dry-run', 'delete right --yes'] },
  { command: 'uninstall --cascade', lines: ['uninstall --cascade --yes'] },
  { command: 'install', lines: ['install'], unseen: /^create / },
  // command-admission.test.ts has it delete the policy.
  { command: 'uninstall', lines: ['uninstall --yes'], unseen: /^delete mutating/ },
];

test('the permissions in needs.ts are sufficient, and each is used', { timeout: 900_000 }, async t => {
  assert.deepEqual(
    [...needs.keys()].filter(command => !command.startsWith('view')).toSorted(),
    RUNS.map(({ command }) => command).toSorted(),
  );
  await testEnv.nodes(
    { name: 'a', labels: role('one') },
    { name: 'b', labels: role('two') },
    { name: 'c' },
    { name: 'd', labels: { own: 'd' } },
    { name: 'e' },
    { name: 'h', labels: role('drifted') },
    { name: 'j', labels: role('drains') },
    ...['f', 'g'].map(name => ({ name, taints: [OLD] })),
    { name: 'i', labels: { group: 'i' }, taints: [{ key: 'k', effect: 'NoSchedule' }] },
    ...['both', 'z'].map(grp => ({ name: grp, labels: { grp } })),
    ...['w', 'x'].map(grp => ({ name: grp, labels: { 'node-restriction.kubernetes.io/grp': grp } })),
  );
  await testEnv.pool('one', { labels: { tier: 'gold' } });
  await testEnv.pool('two');
  await testEnv.pool('drifted', { labels: { tier: 'gold' } });
  await testEnv.pool('classy', { handler: 'runc' });
  await testEnv.reconcile('drifted', 'classy');
  await testEnv.patchNode('h', { metadata: { labels: { tier: 'mine' } } });
  await stop('stopped');
  await testEnv.pool('left', { nodeSelector: { grp: 'both' } });
  await testEnv.pool('right', { nodeSelector: { grp: 'both' }, handler: 'runc' });
  await testEnv.pool('rolled', { rollout: {}, paused: true });
  await undoable();
  await fittingPods();
  await pods.daemonSet('agent');
  await pods.pod({ name: 'daemon', node: 'a', owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } });
  await pods.pod({ name: 'evicted', node: 'a' });
  await pods.pod({ name: 'deleted', node: 'b' });
  await pods.pod({ name: 'drained', node: 'j' });
  const users = new Map<string, string>();
  for (const [at, { command }] of RUNS.entries()) users.set(command, await userFor(command, `user-${at}`));
  for (const { command, lines, prepare, finish, code = 0 } of RUNS) {
    await prepare?.();
    const kubeconfig = users.get(command) ?? '';
    for (const line of lines) {
      const args = line.split(' ');
      if (line.includes('--watch')) await follow(t, kubeconfig, args);
      else {
        const result = await cli({ ...testEnv.cluster(), kubeconfig }, args);
        assert.doesNotMatch(result.stderr, /lacks the permission/, line);
        assert.equal(result.code, line === lines.at(-1) ? code : 0, `${line}: ${result.stdout}${result.stderr}`);
      }
    }
    await finish?.();
  }
  const audit = await readAudit(testEnv.cluster());
  const problems = RUNS.flatMap(({ command, unseen = /^$/, optional = /^$/ }, at) => {
    // Every user may ask who that is.
    const isCounted = (resource: string) => resource !== '' && resource !== 'selfsubjectreviews';
    const asked = audit.filter(({ user, resource }) => user === `user-${at}` && isCounted(resource));
    const questions = allOf(command);
    const isRefused = ({ verb, resource, code }: AuditEvent) => code === 403 && !optional.test(`${verb} ${resource}`);
    const beyond = asked.filter(event =>
      event.code === 403 ? isRefused(event) : !questions.some(question => isAbout(question, event)),
    );
    const idle = (needs.get(command) ?? []).filter(question => !asked.some(event => isAbout(question, event)));
    const texts = idle.map(questionText).filter(text => !ELSEWHERE.test(text) && !unseen.test(text));
    return [
      ...beyond.map(({ verb: asks, uri, code }) => `${command} asks for ${asks} ${uri} (${code})`),
      ...texts.map(text => `${command} never asks for ${text}`),
    ];
  });
  assert.deepEqual(problems, []);
});

/** On no node: one that fits, one with a claim, one that is near pods of any namespace. */
async function fittingPods(): Promise<void> {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'missing' } }];
  const term = { topologyKey: 'x', labelSelector: {}, namespaceSelector: {} };
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  for (const [name, more] of [['fitting'], ['stored', { volumes }], ['near', { affinity }]] as [string, object?][]) {
    const body = { metadata: { name }, spec: { ...POD_SPEC, ...more } };
    await raw(testEnv.cluster()).expect('POST', '/api/v1/namespaces/default/pods', body);
  }
  await writeFile(POD_FILE, JSON.stringify({ kind: 'Pod', metadata: { name: 'new' }, spec: POD_SPEC }));
  after(() => rm(POD_FILE, { force: true }));
}

/** A pool with a history and without a rollout, for which the watch would read it. */
async function undoable(): Promise<void> {
  await testEnv.nodes({ name: 'u', labels: { grp: 'u' } });
  await testEnv.pool('undone', { rollout: {}, nodeSelector: { grp: 'u' }, taints: [OLD] });
  for (const spec of [{ taints: null }, { handler: 'runc' }, { labels: { last: 'x' }, rollout: null }]) {
    await testEnv.reconcile('undone');
    await testEnv.edit('undone', { spec });
  }
  await testEnv.reconcile('undone');
}

/** A pool whose status says that its rollout is stopped. */
async function stop(name: string): Promise<void> {
  await testEnv.pool(name);
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const condition = {
    type: 'Progressing',
    status: 'False',
    reason: 'RolloutStopped',
    message: 'x',
    lastTransitionTime,
  };
  const status = { status: 200, nodeCount: 0, conditions: [condition] };
  const path = `/apis/nodes.lailin.xyz/v1/nodepools/${name}/status`;
  await raw(testEnv.cluster()).expect('PATCH', path, { status }, 'application/merge-patch+json');
}

/** `reconcile --watch --leader-elect` also needs the permissions of `reconcile --watch` and `reconcile`. */
function allOf(command: string): AccessQuestion[] {
  return [...needs].flatMap(([base, questions]) =>
    command === base || command.startsWith(`${base} `) ? questions : [],
  );
}

/** The kubeconfig of a user with these permissions, once they are in force. */
async function userFor(command: string, user: string): Promise<string> {
  const rules = allOf(command).map(({ verb: verbs, group, resource, subresource, name }) => ({
    apiGroups: [group],
    resources: [subresource === undefined ? resource : `${resource}/${subresource}`],
    verbs: [verbs],
    ...(name === undefined ? {} : { resourceNames: [name] }),
  }));
  const api = raw(testEnv.cluster());
  await api.expect('POST', `${RBAC}/clusterroles`, { metadata: { name: user }, rules });
  await api.expect('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
  });
  const resourceAttributes = allOf(command).at(-1);
  await eventually(`the role of ${user} counts`, async () => {
    const review = { spec: { user, resourceAttributes } };
    const answer = await api.expect('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    return (answer as { status: { allowed: boolean } }).status.allowed;
  });
  return kubeconfigFor(testEnv.cluster(), user);
}

/** Runs the command until it prints something. */
async function follow(t: Parameters<typeof start>[0], kubeconfig: string, args: string[]): Promise<void> {
  const [program, ...first] = productCommand();
  const following = start(t, { kubeconfig }, [program, ...first, ...args]);
  const isThere = args.includes('--leader-elect') ? / became leader: / : args[0] === 'reconcile' ? /have synced/ : /\n/;
  await eventually(args.join(' '), () => isThere.test(following.stdout() + following.stderr()));
  assert.equal(await following.end(), args[0] === 'reconcile' ? 0 : 130, following.stderr());
}

/** Whether the permission covers the request. */
function isAbout(question: AccessQuestion, { verb, resource, name, uri }: AuditEvent): boolean {
  const [, group = '', namespace] = /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+)\/)?/.exec(uri) ?? [];
  const { subresource, namespace: place = namespace, name: object = name } = question;
  const what = subresource === undefined ? question.resource : `${question.resource}/${subresource}`;
  return (
    question.verb === verb && question.group === group && what === resource && place === namespace && object === name
  );
}
