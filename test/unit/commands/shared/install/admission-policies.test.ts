import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAsWanted } from '../../../../../src/commands/shared/install/admission-policies.ts';

const WANTED = { rules: [{ verbs: ['get'] }], on: true };

const cases: [string, unknown, { withDefaults: boolean; exactly: boolean }][] = [
  ['the same', structuredClone(WANTED), { withDefaults: true, exactly: true }],
  ['with an additional field', { ...WANTED, scope: '*' }, { withDefaults: true, exactly: false }],
  [
    'with an additional field in a list',
    { ...WANTED, rules: [{ verbs: ['get'], x: 1 }] },
    { withDefaults: true, exactly: false },
  ],
  ['with another value', { ...WANTED, on: false }, { withDefaults: false, exactly: false }],
  ['without a field', { rules: WANTED.rules }, { withDefaults: false, exactly: false }],
  ['with an additional item', { ...WANTED, rules: [...WANTED.rules, {}] }, { withDefaults: false, exactly: false }],
  ['with another type', { ...WANTED, rules: { 0: { verbs: ['get'] } } }, { withDefaults: false, exactly: false }],
  ['missing', undefined, { withDefaults: false, exactly: false }],
];

for (const [name, live, { withDefaults, exactly }] of cases) {
  test(`an object ${name}`, () => {
    assert.equal(
      isAsWanted(WANTED, live, () => true),
      withDefaults,
    );
    assert.equal(
      isAsWanted(WANTED, live, () => false),
      exactly,
    );
  });
}

test('asks for fields that the manifest leaves out, by key and value', () => {
  const mayAdd = (key: string, value: unknown) => key === 'scope' && value === '*';
  assert.equal(isAsWanted(WANTED, { ...WANTED, scope: '*' }, mayAdd), true);
  assert.equal(isAsWanted(WANTED, { ...WANTED, scope: 'Cluster' }, mayAdd), false);
});
