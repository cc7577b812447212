/** The roles in docs/ and manifests/ are those of src/commands/shared/permissions/needs.ts, which test/e2e/needs.test.ts tests on a server. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadAll } from 'js-yaml';
import { readBornInPool, readController } from '../../src/cli/manifests.ts';
import { commands } from '../../src/commands/index.ts';
import { boundGrantsOf, grantsOf, needsOf, questionText } from '../../src/commands/shared/permissions/needs.ts';
import type { AccessQuestion } from '../../src/kube/api/access-reviews.ts';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';

const ROOT = new URL('../../', import.meta.url);
const { objects: controller } = await readController(fileURLToPath(ROOT));
const { objects: bornInPool } = await readBornInPool(fileURLToPath(ROOT));
const needs = needsOf(Object.keys(commands), { policies: [], bornInPool, controller });

/** As granted by a role without namespaces and resourceNames. */
const anywhere = ({ namespace: _namespace, name: _name, ...question }: AccessQuestion) => questionText(question);

const page = readFileSync(new URL('docs/permissions.md', ROOT), 'utf8');
const [, yaml = ''] = /^```yaml\n# nodepool-operator\.yaml\n(.*?)^```$/ms.exec(page) ?? [];
const operator = (loadAll(yaml) as ManifestObject[]).flatMap(grantsOf);

test('the role in docs/permissions.md grants namespaced needs only in the namespace', () => {
  const needed = needs.flatMap(({ questions }) => questions);
  const wider = operator.filter(({ namespace, ...granted }) => {
    const same = needed.filter(question => anywhere(question) === questionText(granted));
    return namespace === undefined && same.length > 0 && same.every(question => question.namespace !== undefined);
  });
  assert.deepEqual(wider.map(questionText), []);
  assert.ok(operator.some(({ resource, namespace }) => resource === 'controllerrevisions' && namespace === 'default'));
});

test('the role in docs/permissions.md covers every command that does not say otherwise', () => {
  const granted = new Set(operator.map(anywhere));
  const lacking = needs.filter(({ questions }) => questions.some(question => !granted.has(anywhere(question))));
  const plain = lacking.map(({ command }) => command).filter(command => !/ (-|with )/.test(command));
  assert.deepEqual(plain, ['view', 'top', 'report', 'fit', 'rollout status', 'drain', 'wait', 'install', 'uninstall']);
});

test("the controller's roles grant what `reconcile --watch` needs, with its lease namespaced", () => {
  const inCluster = ['reconcile --watch', 'reconcile --watch --leader-elect'];
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
