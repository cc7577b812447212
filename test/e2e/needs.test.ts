/**
 * Runs each command as a user with exactly its permissions in src/commands/shared/permissions/needs.ts, and compares these with
 * the requests in the server's audit log. `view` needs a terminal: command-view.test.ts.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readBornInPool, readController, readPolicies } from '../../src/cli/manifests.ts';
import { commands } from '../../src/commands/index.ts';
import { needsOf, questionText } from '../../src/commands/shared/permissions/needs.ts';
import type { AccessQuestion } from '../../src/kube/api/access-reviews.ts';
import { type AuditEvent, readAudit } from '../cluster/audit.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { start } from './following.ts';
import { fillCluster } from './needs-cluster.ts';
import { runsOf } from './needs-runs.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

// Without WatchList the reflectors list, too.
const testEnv = useTestEnv({ audit: true, apiserverFlags: ['--feature-gates=WatchList=false'] });
const pods = poolsWithPods(testEnv);
const RUNS = runsOf(testEnv, pods);
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
  /^(watch |get (nodes|nodepools)|(get|create|patch|delete) runtimeclasses|\w+ controllerrevisions|(create|patch) events|patch nodepools)/;

test('needs.ts lists exactly the required permissions', { timeout: 900_000 }, async t => {
  assert.deepEqual(
    [...needs.keys()].filter(command => !command.startsWith('view')).toSorted(),
    RUNS.map(({ command }) => command).toSorted(),
  );
  await fillCluster(testEnv, pods);
  const users = new Map<string, string>();
  for (const [at, { command }] of RUNS.entries()) users.set(command, await userFor(command, `user-${at}`));
  for (const { command, lines, prepare, finish, code = 0 } of RUNS) {
    await prepare?.();
    const kubeconfig = users.get(command) ?? '';
    for (const line of lines) {
      const args = line.split(' ');
      if (line.includes('--watch')) await follow(t, kubeconfig, args);
      else {
        const result = await cliHere({ ...testEnv.cluster(), kubeconfig }, args);
        assert.doesNotMatch(result.stderr, / may not /, line);
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
  // The first watch of pools has nodes to write.
  const isWritten = args.length === 2 ? / event Normal Nodes?\w+ of / : /have synced/;
  const isThere = args.includes('--leader-elect') ? / became leader: / : args[0] === 'reconcile' ? isWritten : /\n/;
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
