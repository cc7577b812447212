import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { checkCrd } from '../../../../src/commands/doctor/run.ts';
import { isObject } from '../../../../src/nodepool/json.ts';

type Json = Record<string, unknown>;

const MANIFEST = new URL('../../../../manifests/nodepools.nodes.lailin.xyz.yaml', import.meta.url);
const WANTED = load(readFileSync(MANIFEST, 'utf8')) as Json;

/** The CRD of a server with the member at that path replaced; undefined removes it. */
function installed(path: string[] = [], value?: unknown): Json {
  const crd = structuredClone(WANTED);
  crd.status = { conditions: ['NamesAccepted', 'Established'].map(type => ({ type, status: 'True' })) };
  Object.assign(crd.spec as Json, { conversion: { strategy: 'None' } });
  let at: unknown = crd;
  for (const step of path.slice(0, -1)) at = (at as Json)[step];
  const last = path.at(-1);
  if (isObject(at) && last !== undefined) at[last] = value;
  return crd;
}

const SPEC = ['spec', 'versions', '0', 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties'];

test('accepts the CRD of this version', () => {
  assert.deepEqual(checkCrd(WANTED, installed()).status, 'ok');
});

test('reports a CRD that is missing, being deleted or not served', () => {
  assert.deepEqual(checkCrd(WANTED, undefined).remedy, 'run `kubectl nodepool install`');
  const deleted = checkCrd(WANTED, installed(['metadata', 'deletionTimestamp'], 'x'));
  assert.match(deleted.message, /being deleted/);
  assert.match(deleted.remedy ?? '', /^run `kubectl nodepool reconcile`.*run `kubectl nodepool install`$/);
  const taken = { conditions: [{ type: 'NamesAccepted', status: 'False', message: 'npool is taken' }] };
  assert.match(checkCrd(WANTED, installed(['status'], taken)).message, /npool is taken/);
});

test('names the Helm command for a CRD of a release', () => {
  const old = installed([...SPEC, 'nodeSelector'], undefined);
  old.metadata = {
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': 'pools', 'meta.helm.sh/release-namespace': 'ns' },
  };
  const { remedy } = checkCrd(WANTED, old);
  assert.match(
    remedy ?? '',
    /^run `helm upgrade pools .*`, or `kubectl nodepool install` if that Helm release is gone$/,
  );
});

test('names missing fields, which the server would drop', () => {
  const cases: [path: string[], value: unknown, detail: string][] = [
    [[...SPEC, 'nodeSelector'], undefined, 'field spec.nodeSelector is missing'],
    [[...SPEC, 'taints', 'items', 'properties', 'effect'], undefined, 'field spec.taints[].effect is missing'],
    [['spec', 'versions', '0', 'served'], false, 'version v1 is not served'],
    [['spec', 'versions', '0', 'subresources'], {}, 'version v1 has no subresource status'],
  ];
  for (const [path, value, detail] of cases) {
    const { status, details } = checkCrd(WANTED, installed(path, value));
    assert.deepEqual([status, details], ['error', [detail]]);
  }
});

test('warns of different validation rules, with their path', () => {
  const cases: [path: string[], value: unknown, detail: string][] = [
    [[...SPEC, 'labels', 'maxProperties'], 7, 'spec.versions[v1].schema'],
    [[...SPEC, 'more'], { type: 'string' }, 'spec.versions[v1].schema'],
    [['spec', 'versions', '0', 'additionalPrinterColumns'], undefined, 'spec.versions[v1].additionalPrinterColumns'],
    [['spec', 'versions', '1'], { name: 'v2' }, 'spec.versions[v2]'],
    [['spec', 'names', 'shortNames'], [], 'spec.names.shortNames'],
  ];
  for (const [path, value, detail] of cases) {
    const crd = installed();
    const at = path.slice(0, -1).reduce<unknown>((object, step) => (object as Json)[step], crd);
    (at as Json)[path.at(-1) ?? ''] = value;
    const { status, details } = checkCrd(WANTED, crd);
    assert.deepEqual([status, details], ['warning', [detail]]);
  }
});

test('accepts a CRD that preserves unknown fields', () => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const { status } = checkCrd(WANTED, installed(['spec', 'versions', '0', 'schema'], { openAPIV3Schema: open }));
  assert.equal(status, 'warning');
});
