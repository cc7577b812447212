import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creatorOf, lastSetter, managedAt, readManagedFields, setterOf } from '../../../src/nodepool/managed-fields.ts';

const label = (manager: string, time: string | undefined, ...keys: string[]) => ({
  ...{ manager, operation: 'Update', time },
  fieldsV1: { 'f:metadata': { 'f:labels': Object.fromEntries(keys.map(key => [`f:${key}`, {}])) } },
});
const PATH = ['metadata', 'labels', 'tier'];

test('setterOf() returns the other manager that last wrote the field', () => {
  const fields = [
    label('old', '2026-01-01T00:00:00Z', 'tier'),
    label('new', '2026-01-02T00:00:00Z', 'tier'),
    label('elsewhere', '2026-01-03T00:00:00Z', 'tiers'),
    label('kubectl-nodepool', '2026-01-04T00:00:00Z', 'tier'),
  ];
  assert.deepEqual(setterOf(fields, PATH), { manager: 'new', operation: 'Update', time: '2026-01-02T00:00:00Z' });
  assert.deepEqual(setterOf([label('timeless', undefined, 'tier')], PATH), {
    manager: 'timeless',
    operation: 'Update',
  });
  assert.equal(setterOf(fields.slice(2), PATH), undefined);
});

test('creatorOf() returns the only manager that wrote the spec in the second of creation', () => {
  const [then, later] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'];
  const finalizer = label('kubectl-nodepool', then, 'tier');
  const spec = (manager: string, time: string) => ({
    ...{ manager, operation: 'Update', time },
    fieldsV1: { 'f:spec': { 'f:handler': {} } },
  });
  const creator = (...fields: object[]) => creatorOf(readManagedFields(fields), then)?.manager;
  assert.equal(creator(finalizer, spec('kubectl-create', then)), 'kubectl-create');
  assert.equal(creator(finalizer, spec('kubectl-edit', later)), 'kubectl-nodepool');
  assert.equal(creator(spec('kubectl-create', then), spec('kubectl-edit', then)), undefined);
  assert.equal(creator(spec('kubectl-create', later)), undefined);
});

test('skips malformed entries', () => {
  for (const wrong of [undefined, null, {}, 'x', [null, 'x', 1, {}, { manager: 1 }, [label('a', undefined, 'tier')]]])
    assert.deepEqual(readManagedFields(wrong), []);
  const [odd] = readManagedFields([{ manager: 'a', time: 1, subresource: '', fieldsV1: 'x' }]);
  assert.deepEqual(odd, { manager: 'a', operation: 'undefined', fields: 'x' });
  assert.equal(lastSetter(odd === undefined ? [] : [odd], PATH), undefined);
  assert.equal(managedAt({ fields: { 'f:a': {} } }, ['constructor']), undefined);
});
