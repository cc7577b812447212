import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { andMore, decodeText, firstFew, firstWarnings, noun, plural, resourceOf } from '../../../src/nodepool/text.ts';

test('forms plurals of counted nouns', () => {
  assert.deepEqual(
    [0, 1, 2].map(count => plural(count, 'node')),
    ['0 nodes', '1 node', '2 nodes'],
  );
  assert.deepEqual(
    [plural(2, 'RuntimeClass'), plural(1, 'policy'), noun(3, 'policy')],
    ['2 RuntimeClasses', '1 policy', 'policies'],
  );
  assert.equal(noun(2, 'constructor'), 'constructors');
});

test('lists the first names and counts the rest', () => {
  assert.deepEqual(
    [[], ['a', 'b'], ['a', 'b', 'c', 'd']].map(names => firstFew(names, 2)),
    ['', 'a, b', 'a, b and 2 more'],
  );
  assert.equal(firstFew(['a', 'b', 'c'], 2, '; ', '; '), 'a; b; and 1 more');
  assert.deepEqual([andMore(-1), andMore(0, ', '), andMore(2, ' (', ')')], ['', '', ' (and 2 more)']);
});

test('forms the resource name of a kind', () => {
  for (const [kind, resource] of [
    ['Deployment', 'deployments'],
    ['NetworkPolicy', 'networkpolicies'],
    ['MutatingAdmissionPolicy', 'mutatingadmissionpolicies'],
    ['MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings'],
    ['ValidatingAdmissionPolicy', 'validatingadmissionpolicies'],
    ['ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings'],
    ['PriorityClass', 'priorityclasses'],
    ['RuntimeClass', 'runtimeclasses'],
  ] as const) {
    assert.equal(resourceOf(kind), resource);
  }
});

test('no other file forms plurals by hand', () => {
  const byHand = /=== 1 \? '(\w+)' : '\1s'|=== 1 \? '' : 's'|toLowerCase\(\)\}s\b/;
  const files = globSync('src/**/*.ts').filter(file => byHand.test(readFileSync(file, 'utf8')));
  assert.deepEqual(files, []);
});

test('reads UTF-16 with a byte order mark, and UTF-8 with and without one', () => {
  const little = Buffer.from('\uFEFFß: 1', 'utf16le');
  const texts = [little, Buffer.from(little).swap16(), Buffer.from('\uFEFFß: 1'), Buffer.from('ß: 1')];
  assert.deepEqual(texts.map(decodeText), Array(4).fill('ß: 1'));
  assert.equal(decodeText(Buffer.of()), '');
});

test('keeps ten warnings and counts the others', () => {
  const warnings = Array.from({ length: 12 }, (_, i) => `${i}`);
  assert.deepEqual(firstWarnings(warnings), [...warnings.slice(0, 10), 'and 2 more']);
  assert.deepEqual(firstWarnings(warnings.slice(0, 10)), warnings.slice(0, 10));
});
