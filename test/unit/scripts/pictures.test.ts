import assert from 'node:assert/strict';
import { test } from 'node:test';
import xterm from '@xterm/headless';
import { readLines } from '../../../scripts/pictures/cells.ts';
import { drawPicture } from '../../../scripts/pictures/svg.ts';

const [COLUMNS, ROWS] = [20, 5];

async function buffer(text: string) {
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  await new Promise<void>(done => terminal.write(text, done));
  return terminal.buffer.active;
}

async function draw(text: string): Promise<string> {
  const lines = readLines(await buffer(text), ROWS);
  return drawPicture({ title: 'a <b>', description: 'c & d', columns: COLUMNS, lines });
}

test('merges cells of one style, and omits empty ones at the ends', async () => {
  const lines = readLines(await buffer('a \u001b[1;31mred\u001b[0m 日b\r\n\r\n\u001b[7m>x\u001b[0m'), ROWS);
  const plain = { bold: false, dim: false, color: 'default', ground: 'default' };
  assert.equal(lines.length, 3);
  assert.deepEqual(lines[1], []);
  assert.deepEqual(
    lines[0]?.map(({ text, ...rest }) => ({ text: text.trimEnd(), ...rest })),
    [
      { text: 'a', column: 0, ...plain },
      { text: 'red', column: 2, ...plain, bold: true, color: 1 },
      { text: ' 日b', column: 5, ...plain },
    ],
  );
  assert.deepEqual(lines[2]?.[0], { text: '>x', column: 0, ...plain, color: 0, ground: 15 });
});

test('positions escaped text at its cells, and draws block characters', async () => {
  const svg = await draw('\u001b[32m██▌░\u001b[39m  a<b  \u001b[2m日c\u001b[22m');
  assert.match(svg, /<title id="title">a &lt;b&gt;<\/title>\n<desc id="description">c &amp; d<\/desc>/);
  const [left, top] = [16, 52];
  assert.ok(svg.includes(`<rect x="${left}" y="${top + 2}" width="16.8" height="14" fill="#3fb950"/>`), svg);
  assert.ok(svg.includes(`<rect x="32.8" y="${top + 2}" width="4.2" height="14" fill="#3fb950"/>`), svg);
  assert.ok(
    svg.includes(`<rect x="41.2" y="${top + 2}" width="8.4" height="14" fill="#3fb950" fill-opacity="0.25"/>`),
    svg,
  );
  assert.match(svg, /<text x="66.4" y="65" textLength="25.2" lengthAdjust="spacingAndGlyphs">a&lt;b<\/text>/);
  assert.match(svg, /<text x="108.4" y="65" textLength="25.2" lengthAdjust="spacingAndGlyphs" class="dim">日c<\/text>/);
});

test('refuses more lines than the terminal has, and colours beyond 16', async () => {
  await assert.rejects(draw('\n'.repeat(ROWS)), /1 lines are too many/);
  await assert.rejects(draw('\u001b[38;5;100mx'), /none of the 16/);
});
