/** Output of any text: no control characters, CSV reads back, nothing exceeds its width. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { cutBytes, ellipsize } from '../../../src/nodepool/text.ts';
import { renderCsv } from '../../../src/print/printers.ts';
import { sanitizeLine, sanitizeScreen, sanitizeText } from '../../../src/print/sanitize.ts';
import { fit, renderTable, tablePrinter } from '../../../src/print/table.ts';
import { cut, widthOf, wrap } from '../../../src/print/width.ts';
import { hostileText, property } from './property.ts';

/** Controls, lone surrogates, line and paragraph separators, bidirectional controls, byte order marks. */
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u;
const BUT_LINES = /[\n\t]/g;

property(
  'escapes control characters in any line, and keeps safe text',
  fc.property(hostileText, text => {
    const line = sanitizeLine(text);
    assert.doesNotMatch(line, UNSAFE);
    assert.equal(sanitizeLine(line), line);
    assert.doesNotMatch(sanitizeText(text).replace(BUT_LINES, ''), UNSAFE);
    assert.equal(sanitizeText(sanitizeText(text)), sanitizeText(text));
    assert.doesNotMatch(
      sanitizeScreen(text)
        .replaceAll(/\u001b\[[\d;]*m/g, '')
        .replace(BUT_LINES, ''),
      UNSAFE,
    );
  }),
  1_000,
);

/** RFC 4180. */
function readCsv(csv: string): string[][] {
  return csv.split('\n').map(line => {
    const cells: string[] = [];
    for (let rest = `,${line}`; rest !== ''; ) {
      const [cell = '', quoted, plain = ''] = /^,(?:"((?:[^"]|"")*)"(?=,|$)|([^,"]*))/.exec(rest) ?? [];
      assert.notEqual(cell, '', rest);
      cells.push(quoted?.replaceAll('""', '"') ?? plain);
      rest = rest.slice(cell.length);
    }
    return cells;
  });
}

const rows = fc
  .integer({ min: 1, max: 4 })
  .chain(width =>
    fc.array(fc.array(hostileText, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
  );

property(
  'CSV reads back as the same cells, with unsafe characters escaped',
  fc.property(rows, cells => {
    const read = readCsv(renderCsv(cells));
    assert.equal(read.length, cells.length);
    for (const [y, row] of cells.entries()) {
      assert.equal(read[y]?.length, row.length);
      // A cell that a spreadsheet would run has a prefix.
      for (const [x, text] of row.entries())
        assert.ok(read[y]?.[x]?.endsWith(sanitizeLine(text)), JSON.stringify(read[y]?.[x]));
    }
  }),
  500,
);

property(
  'a table has one line per row, and no control characters',
  fc.property(rows, cells => {
    const columns = (cells[0] ?? []).map((_, index) => `COLUMN${index}`);
    const grow = tablePrinter(columns);
    for (const table of [renderTable([columns, ...cells]), grow(cells)]) {
      const lines = table.split('\n');
      assert.equal(lines.length, cells.length + 1);
      for (const line of lines) assert.doesNotMatch(line, UNSAFE);
    }
  }),
);

property(
  'fits any text into its width',
  fc.property(hostileText, fc.integer({ min: 1, max: 30 }), (text, width) => {
    const line = sanitizeLine(text);
    assert.ok(widthOf(cut(line, width)) <= width);
    assert.equal(widthOf(fit(text, width)), width);
    // A character of two columns does not fit in one.
    for (const part of wrap(text, Math.max(width, 2)))
      assert.ok(widthOf(part) <= Math.max(width, 2), JSON.stringify(part));
  }),
  300,
);

property(
  'cuts any text to at most the bytes, as a prefix of the text',
  fc.property(hostileText, fc.integer({ min: 3, max: 60 }), (text, limit) => {
    const whole = text.toWellFormed();
    assert.ok(Buffer.byteLength(cutBytes(whole, limit)) <= limit);
    assert.ok(whole.startsWith(cutBytes(whole, limit)));
    assert.ok(Buffer.byteLength(ellipsize(whole, limit)) <= limit);
  }),
);
