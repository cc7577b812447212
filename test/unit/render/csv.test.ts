import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderCsv } from '../../../src/render/csv.ts';

test('quotes only where they must be, and nothing that a terminal obeys', () => {
  assert.equal(
    renderCsv([
      ['a', 'b c', ''],
      ['x,y', 'say "hi"', '\u001b[2J\n'],
    ]),
    'a,b c,\n"x,y","say ""hi""",\\u001b[2J\\n',
  );
  assert.equal(renderCsv([]), '');
});
