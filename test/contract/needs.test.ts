/** Compares documented roles with src/operations/doctor/needs.ts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadAll } from 'js-yaml';
import { readBornInPool, readController } from '../../src/cli/manifests.ts';
import { commands } from '../../src/commands/index.ts';
import { boundGrantsOf, grantsOf } from '../../src/operations/doctor/manifest-access.ts';
import { needsOf } from '../../src/operations/doctor/needs.ts';
import { questionText } from '../../src/operations/doctor/question.ts';
import type { AccessQuestion } from '../../src/operations/doctor-port.ts';
import type { ManifestObject } from '../../src/operations/ports.ts';

const ROOT = new URL('../../', import.meta.url);
const { objects: controller } = await readController(fileURLToPath(ROOT));
const { objects: bornInPool } = await readBornInPool(fileURLToPath(ROOT));
const needs = needsOf(Object.keys(commands), { policies: [], bornInPool, controller });

const CLASS_USERS =
  'list pods, list deployments.apps, list statefulsets.apps, list daemonsets.apps, list cronjobs.batch';
const PROTECTION = ['policies', 'policies', 'policybindings', 'policybindings']
  .map(resource => `get validatingadmission${resource}.admissionregistration.k8s.io`)
  .join(', ');

/** As granted by a role without namespaces and resourceNames. */
const anywhere = ({ namespace: _namespace, name: _name, ...question }: AccessQuestion) => questionText(question);

const page = readFileSync(new URL('docs/permissions.md', ROOT), 'utf8');
const [, yaml = ''] = /^```yaml\n# nodepool-operator\.yaml\n(.*?)^```$/ms.exec(page) ?? [];
const operator = (loadAll(yaml) as ManifestObject[]).flatMap(grantsOf);

test('the role in docs/permissions.md grants what is needed in one namespace there alone', () => {
  const needed = needs.flatMap(({ questions }) => questions);
  const wider = operator.filter(({ namespace, ...granted }) => {
    const same = needed.filter(question => anywhere(question) === questionText(granted));
    return namespace === undefined && same.length > 0 && same.every(question => question.namespace !== undefined);
  });
  assert.deepEqual(wider.map(questionText), []);
  assert.ok(operator.some(({ resource, namespace }) => resource === 'controllerrevisions' && namespace === 'default'));
});

test('lists the commands that need more than the role in docs/permissions.md', () => {
  const granted = new Set(operator.map(anywhere));
  const lacking = needs.flatMap(({ command, questions }) => {
    const beyond = questions.filter(question => !granted.has(anywhere(question)));
    return beyond.length === 0 ? [] : [`${command}: ${beyond.map(anywhere).join(', ')}`];
  });
  const others = lacking.filter(text => !/^(install|uninstall|drain)\b/.test(text));
  assert.deepEqual(others, [
    'get --watch: watch nodepools.nodes.lailin.xyz',
    'nodes --watch: watch nodepools.nodes.lailin.xyz, watch nodes',
    'events --watch: watch events.events.k8s.io',
    'view: watch nodepools.nodes.lailin.xyz, watch nodes, watch events.events.k8s.io',
    'view with usage: list pods, list nodes.metrics.k8s.io',
    'top: list pods, list nodes.metrics.k8s.io',
    'top --pods: list pods.metrics.k8s.io',
    'report: list pods, list nodes.metrics.k8s.io',
    'fit: list pods, get pods',
    'fit -f: list pods, create pods',
    'fit with volumes: list persistentvolumeclaims, list persistentvolumes, list storageclasses.storage.k8s.io',
    'fit with namespaceSelector: list namespaces',
    `diff --impact: list pods, list replicationcontrollers, ${['daemonsets', 'deployments', 'statefulsets', 'replicasets'].map(kind => `list ${kind}.apps`).join(', ')}, list jobs.batch, list cronjobs.batch, list persistentvolumes, list storageclasses.storage.k8s.io`,
    'diff --impact with NoExecute: list poddisruptionbudgets.policy',
    'diff with NoExecute: list pods',
    `diff with deleted RuntimeClass: ${CLASS_USERS}`,
    'create with NoExecute: list pods',
    `create with kubelet labels: ${PROTECTION}`,
    `adopt with kubelet labels: ${PROTECTION}`,
    'edit with NoExecute: list pods',
    `edit with deleted RuntimeClass: ${CLASS_USERS}`,
    `edit with kubelet labels: ${PROTECTION}`,
    'add with NoExecute: list pods',
    'remove with NoExecute: list pods',
    'move with NoExecute: list pods',
    `move --dry-run: list pods, list replicationcontrollers, ${['daemonsets', 'deployments', 'statefulsets', 'replicasets'].map(kind => `list ${kind}.apps`).join(', ')}, list jobs.batch, list cronjobs.batch, list persistentvolumes, list storageclasses.storage.k8s.io`,
    'reconcile with NoExecute: list pods',
    'reconcile with noExecute: Drain: list pods, create pods/eviction',
    `reconcile with deleted RuntimeClass: ${CLASS_USERS}`,
    'reconcile --pod-counts: list pods',
    'reconcile --watch: watch nodepools.nodes.lailin.xyz, watch nodes, watch runtimeclasses.node.k8s.io, patch events.events.k8s.io',
    'reconcile --watch --pod-counts: list pods, watch pods',
    'reconcile --watch --leader-elect: create leases.coordination.k8s.io, get leases.coordination.k8s.io, patch leases.coordination.k8s.io',
    'rollout undo with NoExecute: list pods',
    `rollout undo with deleted RuntimeClass: ${CLASS_USERS}`,
    'rollout status: watch nodepools.nodes.lailin.xyz',
    'delete with NoExecute: list pods',
    `delete with RuntimeClass: ${CLASS_USERS}`,
    'cordon --reason: patch nodes/status',
    'wait: watch nodepools.nodes.lailin.xyz',
  ]);
});

test('`uninstall --cascade` needs what `delete` needs', () => {
  const permissions = (command: string) =>
    needs.flatMap(need => (need.command === command ? need.questions.map(questionText) : []));
  for (const when of ['', ' with RuntimeClass']) {
    assert.deepEqual(permissions(`uninstall --cascade${when}`), permissions(`delete${when}`));
  }
});

test("the controller's roles grant what `reconcile --watch` needs, with the lease in its own namespace", () => {
  const inCluster = ['reconcile with rollout', 'reconcile --watch', 'reconcile --watch --leader-elect'];
  const needed = needs
    .filter(({ command }) => inCluster.includes(command))
    .flatMap(({ questions }) => questions)
    .map(question => questionText(question).replace(/ in kube-system$/, ' in nodepool-system'));
  // An admission plugin checks this permission; no request shows it.
  const granted = boundGrantsOf(controller).map(questionText);
  assert.deepEqual(
    [...new Set([...needed, 'update nodepools.nodes.lailin.xyz/finalizers'])].toSorted(),
    granted.toSorted(),
  );
});
