/** Keys of Object.prototype, which labels and resources may have too. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseLabelEdits, parseLabels } from '../../../src/commands/shared/spec/flag-syntax.ts';
import { mergePatch, ownValue, setOwn } from '../../../src/nodepool/json.ts';
import { matchesQuery } from '../../../src/nodepool/membership/label-query.ts';
import { patchedLabels } from '../../../src/nodepool/membership/member-labels.ts';
import { matches } from '../../../src/nodepool/membership/selector.ts';
import { applyEdits } from '../../../src/nodepool/spec/edits.ts';
import { amount } from '../../../src/view/rows.ts';

/** Parsed JSON, where `__proto__` is an ordinary key. */
const only = <T>(key: string, value: T): Record<string, T> =>
  JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`);
const NO_EDITS = {
  labels: {},
  nodeSelector: {},
  matchExpressions: [],
  annotations: {},
  setTaints: [],
  removeTaints: [],
  setStartupTaints: [],
  removeStartupTaints: [],
  handler: undefined,
  unmanaged: undefined,
  noExecute: undefined,
  rollout: {},
  paused: undefined,
};

for (const key of ['constructor', 'toString', 'hasOwnProperty', '__proto__']) {
  describe(`the key ${key}`, () => {
    const where = (operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] });
    for (const [operator, ofNone, ofSome] of [
      ['Exists', false, true],
      ['DoesNotExist', true, false],
      ['In', false, true],
      ['NotIn', true, false],
    ] as const) {
      test(`${operator} matches the key only where it is set`, () => {
        assert.equal(matchesQuery(where(operator, 'x'), {}), ofNone);
        assert.equal(matchesQuery(where(operator, 'x'), only(key, 'x')), ofSome);
      });
    }

    test('a selector matches only nodes with the label', () => {
      assert.equal(matches({ labels: only(key, 'x'), expressions: [] }, {}), false);
      assert.equal(matches({ labels: only(key, 'x'), expressions: [] }, only(key, 'x')), true);
      assert.equal(matchesQuery({ matchLabels: only(key, 'x') }, only(key, 'x')), true);
    });

    test('flags set the key, edits add and remove it, patches contain it', () => {
      if (key === '__proto__') assert.throws(() => parseLabels([`${key}=x`]), /a letter or digit first/);
      else {
        assert.deepEqual(Object.entries(parseLabels([`${key}=x`])), [[key, 'x']]);
        assert.throws(() => parseLabels([`${key}=x`, `${key}=y`]), /given twice/);
        assert.deepEqual(Object.entries(parseLabelEdits([`${key}=x`]).set), [[key, 'x']]);
      }
      const added = applyEdits({}, { ...NO_EDITS, labels: only(key, 'x') }).spec;
      assert.deepEqual(Object.entries(added.labels ?? {}), [[key, 'x']]);
      assert.deepEqual(applyEdits(added, { ...NO_EDITS, labels: only(key, null) }), { spec: {}, notFound: [] });
      const annotated = applyEdits({}, { ...NO_EDITS, annotations: only(key, 'x') }).spec;
      assert.deepEqual(Object.entries(annotated.annotations ?? {}), [[key, 'x']]);
      assert.deepEqual(applyEdits(annotated, { ...NO_EDITS, annotations: only(key, null) }).spec, {});
      assert.deepEqual(Object.entries(patchedLabels({}, only(key, 'x'))), [[key, 'x']]);
      assert.deepEqual(Object.keys(patchedLabels(only(key, 'x'), only(key, null))), []);
      assert.equal(JSON.stringify(mergePatch({}, only(key, { a: 1 }))), `{"${key}":{"a":1}}`);
      assert.equal(JSON.stringify(mergePatch(only(key, 1), {})), `{"${key}":null}`);
    });

    test('a resource that a node does not have counts as 0', () => {
      assert.equal(amount({}, key), 0);
      assert.equal(amount(only(key, '2'), key), 2);
    });

    test('setOwn() and own() access own members only', () => {
      const object: Record<string, unknown> = {};
      assert.equal(ownValue(object, key), undefined);
      setOwn(object, key, { polluted: true });
      assert.deepEqual(ownValue(object, key), { polluted: true });
      assert.equal('polluted' in object, false);
      assert.equal(Object.getPrototypeOf(object), Object.prototype);
    });
  });
}
