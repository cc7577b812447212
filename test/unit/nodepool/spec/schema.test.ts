import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { crdSchema } from '../../../../scripts/package/schema.ts';
import { SPEC_FIELDS } from '../../../../src/nodepool/spec/schema.ts';

const BORN_IN_POOL = new URL('../../../../manifests/born-in-pool.yaml', import.meta.url);
const fields = SPEC_FIELDS.toSorted();

test('the spec has the same fields as the CRD', () => {
  assert.deepEqual(Object.keys(crdSchema().properties?.spec?.properties ?? {}).toSorted(), fields);
});

test('manifests/born-in-pool.yaml checks for each spec field that it is not dropped', () => {
  const isWhole = /name: isWhole\n.*?\[(?<names>[^\]]*)\]\.all\(field,/s.exec(readFileSync(BORN_IN_POOL, 'utf8'));
  const names = [...(isWhole?.groups?.names ?? '').matchAll(/'(\w+)'/g)].map(([, name]) => name);
  assert.deepEqual(names.toSorted(), fields);
});
