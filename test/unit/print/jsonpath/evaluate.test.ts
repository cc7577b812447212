import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluate, goText } from '../../../../src/print/jsonpath/evaluate.ts';
import { parseTemplate } from '../../../../src/print/jsonpath/parse.ts';
import { JsonPathError } from '../../../../src/print/jsonpath/template.ts';

const taint = (key: string, effect: string, value?: string) => ({
  key,
  effect,
  ...(value === undefined ? {} : { value }),
});

const LIST = {
  kind: 'List',
  metadata: { resourceVersion: '' },
  items: [
    {
      metadata: { name: 'gpu', labels: { team: 'a', 'example.com/tier': 'gold' } },
      spec: { taints: [taint('x', 'NoSchedule', '1'), taint('y', 'NoExecute'), taint('z', 'NoSchedule')] },
      status: { status: 200, nodeCount: 2, allocatable: { cpu: '8', memory: '6129040Ki' }, ready: true },
    },
    { metadata: { name: 'new', labels: null }, spec: { taints: [] } },
    { metadata: { name: 'worker' }, spec: {}, status: { status: 409, nodeCount: 0, ready: false, load: 1.5 } },
  ],
};

function text(template: string, data: unknown = LIST): string {
  const parts = evaluate(parseTemplate(template), data);
  const plain = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : goText(value));
  return parts.map(values => values.map(plain).join(' ')).join('');
}

const GOOD: Record<string, string> = {
  // Text and paths
  '': '',
  'plain text }': 'plain text }',
  'a{.kind}b': 'aListb',
  '{.items[0].metadata.name}': 'gpu',
  '{$.items[0].metadata.name}': 'gpu',
  '{@.kind}': 'List',
  '{ .kind }': 'List',
  '{.items[0].status.nodeCount}': '2',
  '{.items[2].status.load}': '1.5',
  '{.items[0].status.ready}': 'true',
  '{.items[1].metadata.labels}': 'null',
  '{.items[1].metadata.labels.team}': '',
  '{.nothing.at.all}': '',
  '{.items[0].metadata.name.x}': '',
  '{.items[0].status.allocatable}': '{"cpu":"8","memory":"6129040Ki"}',
  // Keys with dots
  "{.items[0].metadata.labels['team']}": 'a',
  '{.items[0].metadata.labels.example\\.com/tier}': 'gold',
  "{.items[0].metadata.labels['example\\.com/tier']}": 'gold',
  "{.items[0].metadata.labels['example.com/tier']}": '',
  "{['kind']}": 'List',
  // Indices and slices
  '{.items[-1].metadata.name}': 'worker',
  '{.items[-3].metadata.name}': 'gpu',
  '{.items[*].metadata.name}': 'gpu new worker',
  '{.items[:].metadata.name}': 'gpu new worker',
  '{.items[].metadata.name}': 'gpu',
  '{.items[1:].metadata.name}': 'new worker',
  '{.items[:2].metadata.name}': 'gpu new',
  '{.items[:-1].metadata.name}': 'gpu new',
  '{.items[-2:].metadata.name}': 'new worker',
  '{.items[0:3:2].metadata.name}': 'gpu worker',
  '{.items[::2].metadata.name}': 'gpu worker',
  '{.items[1:1].metadata.name}': '',
  '{.items[*].spec.taints[0:0]}': '',
  '{.items[1].spec.taints[*].key}': '',
  // Unions
  "{.items[0].metadata['name','labels'].team}": 'a',
  "{.items[0].status['status', 'nodeCount']}": '200 2',
  '{.items[0,2].metadata.name}': 'gpu worker',
  '{.items[0,-1].metadata.name}': 'gpu worker',
  // Wildcards and descent
  '{.items[0].status.allocatable.*}': '8 6129040Ki',
  '{.items[*].status.*}': '{"cpu":"8","memory":"6129040Ki"} 2 true 200 1.5 0 false 409',
  '{..team}': 'a',
  '{.items..name}': 'gpu new worker',
  '{.items[0]..taints[0].key}': 'x',
  '{.items[0].metadata.labels..}': '{"team":"a","example.com/tier":"gold"} gold a',
  '{.kind.*}': '76 105 115 116',
  // Filters
  '{.items[?(@.status.status==200)].metadata.name}': 'gpu',
  '{.items[?(@.status.status!=200)].metadata.name}': 'worker',
  '{.items[?(@.status.nodeCount<1)].metadata.name}': 'worker',
  '{.items[?(@.status.nodeCount<=2)].metadata.name}': 'gpu worker',
  '{.items[?(@.status.nodeCount>0)].metadata.name}': 'gpu',
  '{.items[?(@.status.nodeCount>=0)].metadata.name}': 'gpu worker',
  '{.items[?(@.metadata.name=="new")].metadata.name}': 'new',
  "{.items[?(@.metadata.name=='new')].metadata.name}": 'new',
  '{.items[?(@.metadata.name>"h")].metadata.name}': 'new worker',
  '{.items[?(@.status.ready==true)].metadata.name}': 'gpu',
  '{.items[?(@.status.load==1.5)].metadata.name}': 'worker',
  '{.items[?(@.status)].metadata.name}': 'gpu worker',
  '{.items[?(@.status.allocatable.cpu)].metadata.name}': 'gpu',
  '{.items[?(@.metadata.labels)].metadata.name}': 'gpu new',
  '{.items[?(@.spec.taints[0])].metadata.name}': 'gpu new',
  '{.items[0].spec.taints[?(@.effect=="NoSchedule")].key}': 'x z',
  '{.items[*].spec.taints[?(@.value=="1")].key}': 'x',
  '{.items[?(@.metadata.name=="a)b")].metadata.name}': '',
  '{.items[?(@.metadata.labels[\'team\']=="a")].metadata.name}': 'gpu',
  '{.items[?(@.status.nodeCount==@.status.nodeCount)].metadata.name}': 'gpu worker',
  '{.items[?(1==1)].metadata.name}': 'gpu new worker',
  // Ranges
  '{range .items[*]}{.metadata.name}{"\\n"}{end}': 'gpu\nnew\nworker\n',
  '{range .items[*]}<{.metadata.name}>{end}!': '<gpu><new><worker>!',
  '{range .items[*]}{.metadata.name}:{range .spec.taints[*]}{.key},{end};{end}.': 'gpu:x,y,z,;new:;worker:;.',
  '{range .items[?(@.status.status==1)]}{.metadata.name}{end}none': 'none',
  '{range .items[*].spec.taints[*]}{.key}{end}': 'xyz',
  '{range .items[*]}{@.metadata.name} {end}': 'gpu new worker ',
  '{range .items[*]}{.metadata.name}': 'gpunewworker',
  '{range .items[0:1]}a{end}{range .items[1:]}b{end}c': 'abbc',
  '{range .items[*]}{range .nothing[*]}x{end}{.metadata.name}{end}': 'gpunewworker',
  '{range .nothing[*]}{range .more[*]}x{end}y{end}z': 'z',
  // Literals and quotes
  '{"a\\tb\\n"}': 'a\tb\n',
  "{'it\\'s'}": "it's",
  '{"\\u00e4\\x41\\101\\xc3\\xa4"}': 'äAAä',
  '{"say \\"hi\\" \\\\ "}': 'say "hi" \\ ',
  '{1}{-2}{1.5}{true}': '1-21.5true',
  '{.kind "," .x}': '',
  '{"{}"}': '{}',
};

test('finds what kubectl finds', () => {
  for (const [template, want] of Object.entries(GOOD)) assert.equal(text(template), want, template);
});

const BAD: Record<string, string> = {
  '{': 'unclosed action',
  '{.kind': 'unclosed action',
  '{.kind\n}': 'unclosed action',
  '{.items[0}': 'unterminated array',
  '{.items[a]}': 'invalid array index a',
  '{.items[-]}': 'array index - is not a number',
  '{.items[9223372036854775808]}': 'array index 9223372036854775808 is not a number',
  '{.items["kind"]}': 'invalid array index "kind"',
  '{"x}': 'unterminated quoted string',
  '{"\\q"}': 'unquote string "\\q" error invalid syntax',
  '{"a\\\\" b"}': 'unquote string "a\\\\" b" error invalid syntax',
  '{"\\\'"}': 'unquote string "\\\'" error invalid syntax',
  '{.items[?(@.a==1}': 'unterminated filter',
  '{.items[?(@.a==1)}': 'unclosed array expect ]',
  '{.items[?(@.a==1 && @.b==2)]}': "unrecognized character in action: U+0026 '&'",
  '{....x}': 'invalid multiple recursive descent',
  '{*}': "unrecognized character in action: U+002A '*'",
  '{.a{.b}}': "unrecognized character in action: U+007B '{'",
  '{.items\t}': 'unrecognized character in action: U+0009',
  '{1.2.3}': 'cannot parse number 1.2.3',
  '{-}': 'cannot parse number -',
  '{foo}': 'unrecognized identifier foo',
  '{end}': 'not in range, nothing to end',
  '{range .items[*]}{end}{end}': 'not in range, nothing to end',
  '{.items[3]}': 'array index out of bounds: index 3, length 3',
  '{.items[-4]}': 'array index out of bounds: index -1, length 3',
  '{.items[0:9]}': 'array index out of bounds: index 8, length 3',
  '{.items[2:1]}': 'starting index 2 is greater than ending index 1',
  '{.items[0:3:0]}': 'step must be > 0',
  '{.items[0:3:-1]}': 'step must be > 0',
  '{.kind[0]}': 'string is not array or slice',
  '{.metadata[0]}': 'map[string]interface {} is not array or slice',
  '{.kind[?(@.x)]}': 'List is not array or slice and cannot be filtered',
  '{.items[?(@.status.status=="200")]}': 'incompatible types for comparison',
  '{.items[?(@.status.status==200.0)]}': 'incompatible types for comparison',
  '{.items[?(@.status.ready<true)]}': 'invalid type for comparison',
  '{.items[?(@.status==1)]}': 'invalid type for comparison',
  '{.items[?(@.spec.taints[*].key=="x")]}': 'can only compare one element at a time',
  '{.items[?(@.metadata.name=~"x")]}': "unrecognized character in action: U+007E '~'",
  '{.items[?(@.metadata.name="x")]}': 'unrecognized filter operator =',
};

test('refuses what kubectl refuses, with the same message', () => {
  for (const [template, want] of Object.entries(BAD)) {
    assert.throws(() => text(template), new JsonPathError(want, errorOf(template)?.values), template);
  }
});

function errorOf(template: string): JsonPathError | undefined {
  try {
    text(template);
  } catch (error) {
    if (error instanceof JsonPathError) return error;
    throw error;
  }
  return undefined;
}

test('does not find members of the prototype', () => {
  assert.equal(text('{.constructor}{.toString}{.__proto__}', {}), '');
});

test('prints values as Go does', () => {
  const cases: [unknown, string][] = [
    [null, '<nil>'],
    [{ b: 1, a: ['x', null], c: {} }, 'map[a:[x <nil>] b:1 c:map[]]'],
    [[], '[]'],
    [1e6, '1000000'],
    [1234567.5, '1.2345675e+06'],
    [0.00001, '1e-05'],
    [0.5, '0.5'],
    [false, 'false'],
  ];
  for (const [value, want] of cases) assert.equal(goText(value), want);
});

test('ends a template that multiplies its results, including in a filter', () => {
  const chain = Array.from({ length: 90 }).reduce(inner => ({ a: inner, b: 1 }), {});
  const data = { items: [chain, chain], many: Array.from({ length: 100_000 }).fill(0) };
  const ended = (template: string, values: number, most?: number) =>
    assert.throws(
      () => evaluate(parseTemplate(template), data, most),
      { name: 'JsonPathError', message: `the template visits more than ${values} values` },
      template,
    );
  for (const template of [
    '{..a..a..a..a..a..a..a}',
    `${'{range .items[*]}'.repeat(30)}x`,
    '{.items[?(@..a..a..a..a..a..a)]}',
    "{['items','items']..a..a..a..a..a..a}",
  ]) {
    ended(template, 100_000, 100_000);
  }
  ended('{.many[*].a}'.repeat(50), 10_000_000);
});

test('limits nested templates and ranges', () => {
  assert.throws(() => parseTemplate('x'.repeat(65_537)), /the template has 65537 characters; the limit is 65536/);
  const nested = (depth: number) => `${'{range @}'.repeat(depth)}x${'{end}'.repeat(depth)}`;
  assert.deepEqual(evaluate(parseTemplate(nested(100)), {}), [['x']]);
  assert.throws(() => evaluate(parseTemplate(nested(101)), {}), /ranges are nested more than 100 levels deep/);
});

test('prints every part for a range over 300,000 objects', () => {
  const items = Array.from({ length: 300_000 }, (_, index) => ({ index }));
  assert.equal(evaluate(parseTemplate('{range @}{range .items[*]}{.index}{end}{end}'), { items }).length, 300_000);
});
