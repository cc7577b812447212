import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ASCII, BLOCKS, bar, barGlyphs } from '../../../src/print/bar.ts';

test('draws blocks in eighths of a cell', () => {
  assert.equal(bar(0, 4, BLOCKS), '░░░░');
  assert.equal(bar(0.5, 4, BLOCKS), '██░░');
  assert.equal(bar(0.53, 4, BLOCKS), '██▏░');
  assert.equal(bar(0.99, 4, BLOCKS), '███▉');
  assert.equal(bar(1, 4, BLOCKS), '████');
});

test('draws ASCII', () => {
  assert.equal(bar(0.5, 4, ASCII), '##--');
  assert.equal(bar(0.3, 10, ASCII), '###-------');
});

test('shows the smallest share, shows only 100% as full, and caps there', () => {
  for (const glyphs of [BLOCKS, ASCII]) {
    assert.notEqual(bar(0.0001, 5, glyphs), bar(0, 5, glyphs));
    assert.notEqual(bar(0.9999, 5, glyphs), bar(1, 5, glyphs));
    assert.equal(bar(7, 5, glyphs), bar(1, 5, glyphs));
    assert.equal(bar(-1, 5, glyphs), bar(0, 5, glyphs));
  }
});

test('is always as wide as requested', () => {
  for (const glyphs of [BLOCKS, ASCII])
    for (let width = 0; width < 12; width++)
      for (let fraction = 0; fraction <= 1; fraction += 0.01)
        assert.equal([...bar(fraction, width, glyphs)].length, width, `${fraction} of ${width}`);
});

test('uses blocks where the locale supports them', () => {
  assert.equal(barGlyphs({ LANG: 'en_US.UTF-8', TERM: 'xterm' }), BLOCKS);
  assert.equal(barGlyphs({ LC_CTYPE: 'C.utf8' }), BLOCKS);
  assert.equal(barGlyphs({ LC_ALL: 'C', LANG: 'en_US.UTF-8' }), ASCII);
  assert.equal(barGlyphs({ LC_ALL: '', LC_CTYPE: '', LANG: 'de_DE.UTF-8' }), BLOCKS);
  assert.equal(barGlyphs({ LANG: 'en_US.ISO-8859-1' }), ASCII);
  assert.equal(barGlyphs({ LANG: 'en_US.UTF-8', TERM: 'dumb' }), ASCII);
  assert.equal(barGlyphs({ WT_SESSION: '5f0a' }), BLOCKS);
  assert.equal(barGlyphs({}), ASCII);
});
