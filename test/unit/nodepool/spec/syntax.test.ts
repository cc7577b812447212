import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseLabelEdits,
  parseLabels,
  parseTaintEdits,
  parseTaints,
} from '../../../../src/commands/shared/spec/flag-syntax.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import {
  dnsLabelProblem,
  effectProblem,
  formatTaint,
  keyProblem,
  poolNameProblem,
  valueProblem,
} from '../../../../src/nodepool/spec/syntax.ts';
import { editDistance, suggest } from '../../../../src/nodepool/text.ts';

const a63 = 'a'.repeat(63);
const prefix253 = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;

const keys: [key: string, problem: RegExp | undefined][] = [
  ['app', undefined],
  ['A_b.c-9', undefined],
  ['constructor', undefined],
  [a63, undefined],
  ['example.com/app', undefined],
  [`${prefix253}/${a63}`, undefined],
  ['', /empty/],
  [`${a63}a`, /longer than 63/],
  [`${prefix253}d/app`, /longer than 253/],
  ['a/b/c', /more than one "\/"/],
  ['/app', /an empty prefix before the "\/"/],
  ['example.com/', /an empty name after the "\/"/],
  ['Example.com/app', /DNS name/],
  ['-a.com/app', /DNS name/],
  ['a..b/app', /DNS name/],
  ['a b', /letters, digits/],
  ['-a', /letters, digits/],
  ['a-', /letters, digits/],
  ['_a', /letters, digits/],
  ['__proto__', /letters, digits/],
  ['a\n', /letters, digits/],
  ['é', /letters, digits/],
];
for (const [key, problem] of keys) {
  test(`key ${JSON.stringify(key).slice(0, 40)} is ${problem ? 'refused' : 'accepted'}`, () =>
    matches(keyProblem(key), problem));
}

const values: [value: string, problem: RegExp | undefined][] = [
  ['', undefined],
  ['10', undefined],
  ['v1.2_3-x', undefined],
  [a63, undefined],
  [`${a63}a`, /longer than 63/],
  ['a b', /must be empty or/],
  ['-', /must be empty or/],
  ['a/b', /must be empty or/],
  ['a=b', /must be empty or/],
  ['a\n', /must be empty or/],
];
for (const [value, problem] of values) {
  test(`value ${JSON.stringify(value).slice(0, 40)} is ${problem ? 'refused' : 'accepted'}`, () =>
    matches(valueProblem(value), problem));
}

test('checks handlers, pool names and effects', () => {
  matches(dnsLabelProblem('runc'), undefined);
  matches(dnsLabelProblem(a63), undefined);
  matches(dnsLabelProblem(`${a63}a`), /longer than 63/);
  matches(dnsLabelProblem('a.b'), /lower case/);
  matches(dnsLabelProblem(''), /lower case/);
  matches(poolNameProblem('gpu.a100'), undefined);
  matches(poolNameProblem(`${a63}a`), /longer than 63/);
  matches(poolNameProblem('GPU'), /lower case/);
  matches(poolNameProblem('gpu\n'), /lower case/);
  matches(effectProblem('NoExecute'), undefined);
  matches(effectProblem('noexecute'), /one of NoSchedule, PreferNoSchedule, NoExecute/);
});

test('parses labels from flags', () => {
  assert.deepEqual(parseLabels(['a=b', 'example.com/c=', 'a=b']), { a: 'b', 'example.com/c': '' });
  assert.deepEqual(parseLabels([]), {});
  refuses(() => parseLabels(['']), /^--label "": the value of the flag is empty$/, /^use key=value$/);
  refuses(() => parseLabels(['gpu']), /^--label "gpu": "=" is missing/, /"gpu=" sets the empty value/);
  refuses(() => parseLabels(['=x']), /the key is empty/, KEY_FORM);
  refuses(() => parseLabels(['team-=x']), /key "team-" must consist of letters, .* first and last/, KEY_FORM);
  refuses(() => parseLabels(['a=b c']), /value "b c"/, /^write a value like gold, or leave it empty$/);
  refuses(() => parseTaints(['a b=c:NoExecute']), /key "a b" must consist of/, KEY_FORM);
  refuses(() => parseTaintEdits(['a b-']), /key "a b" must consist of/, KEY_FORM);
  refuses(() => parseLabels(['a=b=c']), /value "b=c" must be empty or/);
  refuses(() => parseLabels(['a=b', 'a=c']), /a is given twice/);
  refuses(() => parseLabels(['a b=c'], '--node-selector'), /^--node-selector "a b=c": the name of key "a b"/);
  refuses(() => parseLabels(['a-']), /"=" is missing/, /^use key=value$/);
});

test('parses label edits from flags', () => {
  assert.deepEqual(parseLabelEdits(['a=b', 'c-', 'example.com/d-', 'c-']), {
    set: { a: 'b' },
    remove: ['c', 'example.com/d'],
  });
  refuses(() => parseLabelEdits(['a=b', 'a-']), /a is both set and removed/);
  refuses(() => parseLabelEdits(['a=b-']), /value "b-"/);
  refuses(() => parseLabelEdits(['-']), /the key is empty/);
});

test('parses taints from flags', () => {
  assert.deepEqual(parseTaints(['a=b:NoSchedule', 'a:NoExecute', 'example.com/c=:PreferNoSchedule']), [
    { key: 'a', value: 'b', effect: 'NoSchedule' },
    { key: 'a', effect: 'NoExecute' },
    { key: 'example.com/c', effect: 'PreferNoSchedule' },
  ]);
  assert.equal(parseTaints(['a=b:NoSchedule', 'a=b:NoSchedule']).length, 1);
  refuses(() => parseTaints(['']), /^--taint "": the value of the flag is empty$/, /^use key/);
  refuses(() => parseTaints(['a=b']), /":Effect" is missing/, /key\[=value\]:Effect.*NoExecute/);
  refuses(() => parseTaints(['a=b:NoRun']), /effect "NoRun" must be one of/);
  refuses(() => parseTaints(['a:b:NoSchedule']), /the name of key "a:b"/);
  refuses(() => parseTaints([':NoSchedule']), /the key is empty/);
  refuses(() => parseTaints(['a=b:NoSchedule', 'a=c:NoSchedule']), /a:NoSchedule is given twice/);
});

test('parses taint edits from flags', () => {
  assert.deepEqual(parseTaintEdits(['a=b:NoSchedule', 'c:NoExecute-', 'd-']), {
    set: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
    remove: [{ key: 'c', effect: 'NoExecute' }, { key: 'd' }],
  });
  // Sets one effect of a key and removes the others, which changes the effect.
  assert.deepEqual(parseTaintEdits(['a:NoExecute', 'a:NoSchedule-']).remove, [{ key: 'a', effect: 'NoSchedule' }]);
  assert.deepEqual(parseTaintEdits(['a:NoExecute', 'a-']).set, [{ key: 'a', effect: 'NoExecute' }]);
  refuses(() => parseTaintEdits(['a:NoExecute', 'a:NoExecute-']), /a:NoExecute is both set and removed/);
  assert.deepEqual(parseTaintEdits(['a=b:NoExecute-']).remove, [{ key: 'a', effect: 'NoExecute' }]);
  refuses(() => parseTaintEdits(['a:NoRun-']), /effect "NoRun"/);
  refuses(() => parseTaintEdits(['a:-']), /effect ""/);
  refuses(() => parseTaintEdits(['-']), /the key is empty/);
});

test('formats a taint as it is parsed', () => {
  for (const text of ['a=b:NoSchedule', 'a:NoExecute', 'example.com/c:PreferNoSchedule']) {
    assert.deepEqual(parseTaints([text]).map(formatTaint), [text]);
  }
  assert.equal(formatTaint({ key: 'a', value: '', effect: 'NoSchedule' }), 'a:NoSchedule');
});

test('suggests the nearest known word, if one is near', () => {
  const known = ['labels', 'taints', 'handler', 'nodeSelector', 'unmanaged'];
  assert.equal(suggest('lables', known), 'labels');
  assert.equal(suggest('label', known), 'labels');
  assert.equal(suggest('nodeselector', known), 'nodeSelector');
  assert.equal(suggest('tains', known), 'taints');
  assert.equal(suggest('color', known), undefined);
  assert.equal(suggest('A', ['as', 'to']), undefined);
  assert.equal(editDistance('abc', 'acb'), 1);
  assert.equal(editDistance('', 'abc'), 3);
  assert.equal(editDistance('kitten', 'sitting'), 3);
});

function matches(problem: string | undefined, expected: RegExp | undefined): void {
  if (expected === undefined) assert.equal(problem, undefined);
  else assert.match(problem ?? '(none)', expected);
}

const KEY_FORM = /^write a key like team or example\.com\/team$/;

function refuses(parse: () => unknown, message: RegExp, next?: RegExp): void {
  assert.throws(parse, (error: unknown) => {
    assert.ok(error instanceof NodepoolError);
    assert.equal(error.kind, 'usage');
    assert.match(error.message, message);
    if (next !== undefined) assert.match(error.next ?? '', next);
    return true;
  });
}
