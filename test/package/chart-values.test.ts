/** The values of the chart: each changes its object, and nothing else. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from 'js-yaml';
import { ROOT } from '../../scripts/root.ts';
import { readBornInPool } from '../../src/cli/manifests.ts';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';
import { VALUE_CASES, type ValueCase } from './chart-cases.ts';
import { temporaryFolder } from './copy.ts';
import { byKey, CHART, type Helm, keyOf, useHelm, withoutHelm } from './helm.ts';

interface Schema {
  properties?: Record<string, Schema | boolean>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
}
type Values = { [key: string]: unknown };

const MUTATING = ['--api-versions', 'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy'];
const home = await temporaryFolder({ after });
const schema = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')) as Schema;
const defaults = load(await readFile(join(CHART, 'values.yaml'), 'utf8')) as Values;

test('the schema has the values of values.yaml, and each has a test case', () => {
  // Helm's own: a chart gets it from one that contains it.
  const values = leavesOf(schema).filter(path => path !== 'global');
  for (const path of values) assert.notEqual(valueAt(defaults, path), undefined, `values.yaml has no ${path}`);
  const known = new Set(values.flatMap(path => path.split('.').map((_, at, keys) => keys.slice(0, at + 1).join('.'))));
  for (const path of pathsOf(defaults))
    assert.ok(known.has(path) || values.some(value => path.startsWith(`${value}.`)), `the schema has no ${path}`);
  assert.deepEqual(Object.keys(VALUE_CASES).toSorted(), values.toSorted());
});

for (const [path, valueCase] of Object.entries(VALUE_CASES)) {
  test(`${path} reaches its object`, async () => {
    const helm = await useHelm(home);
    const { value, beside = {}, changes } = valueCase;
    assert.notDeepEqual(value, valueAt(defaults, path), 'the default');
    const [before, found] = [await render(helm, beside), await render(helm, withValue(beside, path, value))];
    const expected = changed(before, changes);
    const added = Object.keys(changes).filter(key => changes[key] === 'new');
    for (const key of added) assert.ok(!before.has(key), `${key} is there without it`);
    assert.deepEqual([...found.keys()].toSorted(), [...expected.keys(), ...added].toSorted());
    for (const [key, object] of expected) assert.deepEqual(found.get(key), object, key);
  });
}

test('test cases cover every field of a toleration and of a pull secret', () => {
  for (const path of ['tolerations', 'imagePullSecrets']) {
    const property = schema.properties?.[path];
    assert.ok(typeof property === 'object');
    const [first] = (VALUE_CASES[path]?.value ?? []) as object[];
    assert.deepEqual(Object.keys(first ?? {}), Object.keys(property.items?.properties ?? {}));
  }
});

test('without a priority class, pods have none, and the quota does not require one', async () => {
  const found = await render(await useHelm(home), { priorityClassName: '' });
  assert.doesNotMatch(JSON.stringify([...found.values()]), /PriorityClass|priorityClassName/);
});

test('the birth policies equal those in manifests/, if the server supports them', async () => {
  const helm = await useHelm(home);
  const found = byKey(await helm.template('--set', 'policies.bornInPool=true', ...MUTATING));
  const { objects } = await readBornInPool(ROOT);
  assert.equal(objects.length, 2);
  for (const object of objects) {
    const rendered = found.get(keyOf(object));
    assert.ok(rendered, keyOf(object));
    assert.deepEqual(withoutHelm(rendered, object), object);
  }
  await assert.rejects(helm.template('--set', 'policies.bornInPool=true'), /Kubernetes has from 1\.36 on/);
});

test('mounts the metrics certificate only if metrics are secure', async () => {
  const found = await render(await useHelm(home), {
    metrics: { certSecret: 'tls' },
    serviceMonitor: { enabled: true },
  });
  assert.doesNotMatch(JSON.stringify([...found.values()]), /metrics-cert|tokenreviews|"scheme"/);
});

test('secure metrics add a role that may only read them', async () => {
  const found = await render(await useHelm(home), { metrics: { secure: true } });
  const { rules } = found.get('ClusterRole /nodepool-metrics-reader') as unknown as { rules: object[] };
  assert.deepEqual(rules, [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]);
});

const renders = new Map<string, Promise<Map<string, ManifestObject>>>();

/** Once for the same values. */
function render(helm: Helm, values: Values): Promise<Map<string, ManifestObject>> {
  // JSON is YAML.
  const text = JSON.stringify(values);
  const file = join(home, `values-${renders.size}.json`);
  const rendered =
    renders.get(text) ??
    writeFile(file, text).then(async () => byKey(await helm.template('--values', file, ...MUTATING)));
  renders.set(text, rendered);
  return rendered;
}

/** The objects after the changes, but for new ones. */
function changed(before: Map<string, ManifestObject>, changes: ValueCase['changes']): Map<string, ManifestObject> {
  const expected = structuredClone(before);
  for (const [key, change] of Object.entries(changes)) {
    if (change === 'new') continue;
    assert.ok(before.has(key), `there is no ${key}`);
    if (change === 'gone') expected.delete(key);
    else for (const [path, value] of Object.entries(change)) setField(expected.get(key), path.split('/'), value);
  }
  return expected;
}

function setField(object: unknown, [key = '', ...rest]: string[], value: unknown): void {
  const parent = object as Record<string, unknown>;
  if (rest.length > 0) {
    assert.ok(typeof parent[key] === 'object', `no ${key} of ${rest.join('/')}`);
    setField(parent[key], rest, value);
    return;
  }
  const before = parent[key];
  const after = typeof value === 'function' ? value(before) : value;
  assert.notDeepEqual(after, before, `${key} has this value by default`);
  parent[key] = after;
}

/** Paths of values whose parts the schema does not name. */
function leavesOf({ properties = {}, additionalProperties }: Schema, path: string[] = []): string[] {
  if (additionalProperties !== false) return [path.join('.')];
  return Object.entries(properties).flatMap(([key, property]) =>
    typeof property === 'object' ? leavesOf(property, [...path, key]) : [],
  );
}

function pathsOf(values: Values, path: string[] = []): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const own = [...path, key];
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [own.join('.'), ...(isMap ? pathsOf(value as Values, own) : [])];
  });
}

function valueAt(values: Values, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Values | undefined)?.[key], values);
}

function withValue(values: Values, path: string, value: unknown): Values {
  const [key = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? value : withValue((values[key] ?? {}) as Values, rest.join('.'), value);
  return { ...values, [key]: inner };
}
