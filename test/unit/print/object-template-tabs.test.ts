import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tabWriter } from '../../../src/print/object-template.ts';

const width = (text: string) => text.length;
const layOut = (text: string) => tabWriter(width)(text);

test('separates columns by three spaces, at least six wide, without padding the last', () => {
  assert.equal(layOut('A\tLONGER\tC\nlong\tb\tc\n'), 'A      LONGER   C\nlong   b        c\n');
});

test('keeps the padding before an empty last cell', () => {
  assert.equal(layOut('A\tB\na\t\n'), 'A     B\na     \n');
});

test('ends a table at a line of one cell, and never shrinks widths within a table', () => {
  assert.equal(layOut('aaaaaaaa\tb\nalone\na\tb\n'), 'aaaaaaaa   b\nalone\na          b\n');
});

test('aligns each column separately', () => {
  assert.equal(layOut('a\tbbbbbbbb\tc\na\tb\na\tb\tc\n'), 'a     bbbbbbbb   c\na     b\na     b          c\n');
});

test('treats tabs, vertical tabs and form feeds in values as kubectl does', () => {
  assert.equal(layOut('a\tx\ty\n'), layOut('a\vx\vy\n'));
  assert.equal(layOut('a\tb\flonger\td\n'), 'a     b\nlonger   d\n');
});

test('keeps later lines under the first columns', () => {
  const write = tabWriter(width);
  assert.equal(write('NAME\tB\nsomething\tb\n'), 'NAME        B\nsomething   b\n');
  assert.equal(write('a\tb\n'), 'a           b\n');
  assert.equal(write('something-long\tb\n'), 'something-long   b\n');
  assert.equal(write('a\tb\n'), 'a                b\n');
});
