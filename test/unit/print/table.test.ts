import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeStyle } from '../../../src/print/style.ts';
import { DESCRIBE, fit, GET, renderTable, tablePrinter, takenWidth } from '../../../src/print/table.ts';
import { widthOf } from '../../../src/print/width.ts';

test('separates columns by three spaces as kubectl does, without trailing spaces', () => {
  const text = renderTable([
    ['NAME', 'STATUS', 'AGE'],
    ['kind-worker', 'Ready', '5d'],
    ['a', 'NotReady,SchedulingDisabled', ''],
  ]);
  assert.equal(
    text,
    [
      'NAME          STATUS                        AGE',
      'kind-worker   Ready                         5d',
      'a             NotReady,SchedulingDisabled',
    ].join('\n'),
  );
});

test('without headers, keeps the minimum column width of kubectl', () => {
  assert.equal(renderTable([['w', '8', '5d']]), 'w     8     5d');
});

test('separates dense columns by two spaces, and indents every line', () => {
  const text = renderTable(
    [
      ['A', 'B'],
      ['w', '8'],
    ],
    { ...DESCRIBE, indent: '    ' },
  );
  assert.equal(text, '    A  B\n    w  8');
});

test('prints only the headers, or nothing, without rows', () => {
  assert.equal(renderTable([['NAME', 'AGE']]), 'NAME   AGE');
  assert.equal(renderTable([]), '');
});

test('does not count colours as width', () => {
  const { red, green } = makeStyle(true);
  const text = renderTable([
    ['NAME', 'STATUS', 'LAST'],
    ['a', { text: '200', paint: green }, { text: 'x', paint: red }],
    ['b', '409,Conflict', 'yy'],
  ]);
  assert.equal(
    text,
    [
      'NAME   STATUS         LAST',
      'a      \x1b[32m200\x1b[39m            \x1b[31mx\x1b[39m',
      'b      409,Conflict   yy',
    ].join('\n'),
  );
});

test('shows escapes and newlines in a cell as text', () => {
  const { red } = makeStyle(true);
  const text = renderTable([['x\x1b[31m\ny', { text: '\x1b]0;t\x07', paint: red }]]);
  assert.equal(text, 'x\\u001b[31m\\ny   \x1b[31m\\u001b]0;t\\u0007\x1b[39m');
});

test('counts wide characters and emoji as two columns, combining marks as zero', () => {
  const rows = [
    ['中文', '|'],
    ['😀', '|'],
    ['e\u0301', '|'],
    ['12345678', '|'],
  ];
  assert.deepEqual(renderTable(rows).split('\n'), [
    '中文       |',
    '😀         |',
    'e\u0301          |',
    '12345678   |',
  ]);
});

test('keeps the same widths for all rows of a long table', () => {
  const rows = Array.from({ length: 500 }, (_, i) => [`node-${i}`, i === 433 ? 'a-long-one' : 'x', 'end']);
  const lines = renderTable([['NAME', 'WHAT', 'END'], ...rows]).split('\n');
  assert.equal(lines.length, 501);
  const columns = new Set(lines.map(line => line.search(/END|end/)));
  assert.deepEqual([...columns], ['node-433   a-long-one   '.length]);
});

test('does not cut long text', () => {
  const long = 'word '.repeat(300).trim();
  assert.ok(renderTable([['x', long]]).endsWith(long));
});

test('appends rows with the first widths, and cuts nothing', () => {
  const { green } = makeStyle(true);
  const render = tablePrinter(['NAME', 'STATUS', 'LAST']);
  assert.equal(render([['worker-1', '200', 'x']]), 'NAME       STATUS   LAST\nworker-1   200      x');
  assert.equal(
    render([
      ['a', { text: '503', paint: green }, 'y'],
      ['a', '409,Conflict', 'y'],
      ['a-name-that-is-wider', '200', 'y'],
      ['b', '200', 'y'],
    ]),
    [
      'a          \x1b[32m503\x1b[39m      y',
      'a          409,Conflict   y',
      'a-name-that-is-wider   200      y',
      'b          200      y',
    ].join('\n'),
  );
});

test('appends rows without headers', () => {
  const render = tablePrinter(undefined);
  assert.equal(render([['worker-1', 'x']]), 'worker-1   x');
  assert.equal(render([['a', 'y']]), 'a          y');
});

test('takenWidth() includes the gap after the last column', () => {
  const rows = [
    ['NAME', 'A'],
    ['節点', 'b'],
  ];
  assert.equal(takenWidth(rows, GET), 'NAME   A     '.length);
  assert.equal(takenWidth(rows, DESCRIBE), 'NAME  A  '.length);
});

test('fit() returns exactly the given width for any text', () => {
  const texts = [
    '',
    'a',
    'abcdef',
    'abcdefg',
    'abcdefghij',
    '日本語日本語',
    'a\u0301b\u0301',
    '👩‍👩‍👧 family',
    '\u001b[31mred',
    'x'.repeat(100_000),
  ];
  for (const text of texts) {
    for (let width = 0; width <= 9; width++) {
      for (const align of ['left', 'right'] as const) {
        assert.equal(widthOf(fit(text, width, align)), width, JSON.stringify([text.slice(0, 20), width]));
      }
    }
  }
  assert.equal(fit('abcdef', 4), 'abc…');
  assert.equal(fit('日本語', 4), '日… ');
  assert.equal(fit('12', 4, 'right'), '  12');
  assert.equal(fit({ text: 'ab', paint: text => `<${text}>` }, 4), '<ab>  ');
});

test('fit() escapes cursor movement, colours and bidi characters', () => {
  const hostile = 'a\u001b[2Jb\u0007c\nd\u202ee\u009b5A';
  assert.equal(fit(hostile, 60).trimEnd(), 'a\\u001b[2Jb\\u0007c\\nd\\u202ee\\u009b5A');
});
