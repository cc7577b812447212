import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTemplate } from '../../../src/print/jsonpath/parse.ts';
import { columnsTemplate, jsonPathTemplate, parseColumns } from '../../../src/print/object-template.ts';

const POOL = {
  metadata: {
    name: 'gpu',
    labels: { b: '<1>', a: '日本' },
    annotations: { bad: 'x\x1b[31m\r\u202e', lines: 'a\n\tb\n' },
  },
  spec: { taints: [{ key: 'x' }, { key: 'y' }], none: null },
  status: { status: 200, load: 1234567.5, ready: true, list: [] },
};
const LIST = { kind: 'List', items: [POOL, { metadata: { name: 'new' } }] };

const jsonPath = (template: string, object: object = POOL, isTerminal = false) =>
  jsonPathTemplate(parseTemplate(template), false, isTerminal)()([object]);
const columns = (spec: string, object: object = LIST, isTerminal = false) =>
  columnsTemplate(parseColumns(spec), true, isTerminal)()([object]);

test('jsonpath: prints maps and lists as one line of JSON, everything else as text', () => {
  assert.equal(jsonPath('{.metadata.labels}'), '{"a":"日本","b":"\\u003c1\\u003e"}');
  assert.equal(jsonPath('{.spec.taints}'), '[{"key":"x"},{"key":"y"}]');
  assert.equal(jsonPath('{.spec.taints[*]}'), '{"key":"x"} {"key":"y"}');
  assert.equal(jsonPath('{.spec.none}{.status.list}{.metadata.labels.b}'), 'null[]<1>');
  assert.equal(jsonPath('{.status.status} {.status.load} {.status.ready}'), '200 1.2345675e+06 true');
});

test('jsonpath-as-json: prints a list for each part', () => {
  const print = (template: string) => jsonPathTemplate(parseTemplate(template), true, false)()([POOL]);
  assert.equal(print('{.spec.taints[*].key}'), '[\n    "x",\n    "y"\n]\n');
  assert.equal(print('{.status.status}{"-"}{.nothing}'), '[\n    200\n]\n[\n    "-"\n]\n[]\n');
});

test('jsonpath: writes raw bytes to a pipe, and escapes control characters on a terminal', () => {
  assert.equal(jsonPath('{.metadata.annotations.bad}'), 'x\x1b[31m\r\u202e');
  assert.equal(jsonPath('{.metadata.annotations.bad}{"\\t\\n"}', POOL, true), 'x\\u001b[31m\\r\\u202e\t\n');
});

test('columns: joins values with commas, prints <none>, and formats types as Go does', () => {
  assert.equal(
    columns(
      'NAME:.metadata.name,TAINTS:.spec.taints[*].key,LABELS:.metadata.labels,NONE:.spec.none,READY:status.ready',
    ),
    `
NAME   TAINTS   LABELS            NONE     READY
gpu    x,y      map[a:日本 b:<1>]   <nil>    true
new    <none>   <none>            <none>   <none>
`.slice(1),
  );
});

test('columns: prints one object, no object, no headers', () => {
  assert.equal(columns('N:{.metadata.name},EMPTY:', POOL), 'N     EMPTY\ngpu   <none>\n');
  assert.equal(columns('A:.a,B:.b', { items: [] }), 'A     B\n');
  assert.equal(columnsTemplate(parseColumns('A:.a,B:.metadata.name'), false, false)()([POOL]), '<none>   gpu\n');
});

test('columns: aligns as kubectl in a pipe, and by display width with escapes on a terminal', () => {
  assert.equal(columns('A:.metadata.annotations.bad,B:.kind', POOL), `A            B\nx^[[31m\\r\u202e   <none>\n`);
  assert.equal(columns('A:.metadata.annotations.lines,B:.kind', POOL), 'A     B\na\n      b\n      <none>\n');
  const shown = columns('A:.metadata.annotations.*,L:.metadata.labels.a,B:.kind', POOL, true);
  assert.equal(
    shown,
    `
A                              L      B
x\\u001b[31m\\r\\u202e,a\\n\\tb\\n   日本   <none>
`.slice(1),
  );
});

test('columns: prints the header once', () => {
  const print = columnsTemplate(parseColumns('NAME:.metadata.name,KIND:.kind'), true, false)();
  assert.equal(
    print([POOL, { metadata: { name: 'longer' } }]) + print([{ metadata: { name: 'a-longer-name' } }]) + print([POOL]),
    `
NAME     KIND
gpu      <none>
longer   <none>
a-longer-name   <none>
gpu             <none>
`.slice(1),
  );
});
