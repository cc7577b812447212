import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tabWriter } from '../../../src/render/tab-writer.ts';

const width = (text: string) => text.length;
const layOut = (text: string) => tabWriter(width)(text);

test('columns three apart, at least six wide; the last is not padded', () => {
  assert.equal(layOut('A\tLONGER\tC\nlong\tb\tc\n'), 'A      LONGER   C\nlong   b        c\n');
});

test('an empty last cell leaves the padding of the one before it', () => {
  assert.equal(layOut('A\tB\na\t\n'), 'A     B\na     \n');
});

test('a line of one cell ends a table; widths do not shrink after it', () => {
  assert.equal(layOut('aaaaaaaa\tb\nalone\na\tb\n'), 'aaaaaaaa   b\nalone\na          b\n');
});

test('cells that do not stand under each other are no column', () => {
  assert.equal(layOut('a\tbbbbbbbb\tc\na\tb\na\tb\tc\n'), 'a     bbbbbbbb   c\na     b\na     b          c\n');
});

test('tabs, vertical tabs and form feeds inside of a value are what they are to kubectl', () => {
  assert.equal(layOut('a\tx\ty\n'), layOut('a\vx\vy\n'));
  assert.equal(layOut('a\tb\flonger\td\n'), 'a     b\nlonger   d\n');
});

test('what comes later stays under the columns of what came first', () => {
  const write = tabWriter(width);
  assert.equal(write('NAME\tB\nsomething\tb\n'), 'NAME        B\nsomething   b\n');
  assert.equal(write('a\tb\n'), 'a           b\n');
  assert.equal(write('something-long\tb\n'), 'something-long   b\n');
  assert.equal(write('a\tb\n'), 'a                b\n');
});
