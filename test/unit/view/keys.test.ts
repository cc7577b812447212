import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Key as InkKey } from 'ink';
import { keysOf } from '../../../src/view/keys.ts';

const NONE: InkKey = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};

test('maps key events of Ink to key names', () => {
  const cases: [string, Partial<InkKey>, string[]][] = [
    ['', { upArrow: true }, ['up']],
    ['', { pageDown: true }, ['pagedown']],
    ['', { escape: true, meta: true }, ['escape']],
    ['', { delete: true }, ['backspace']],
    ['c', { ctrl: true }, ['ctrl-c']],
    ['', { tab: true }, ['tab']],
    ['x', { meta: true }, []],
    ['G', { shift: true }, ['G']],
    ['/gpu\r', {}, ['/', 'g', 'p', 'u', 'enter']],
    ['é😀\u0001', {}, ['é', '😀']],
    ['a\u007f', {}, ['a', 'backspace']],
  ];
  for (const [input, key, ours] of cases)
    assert.deepEqual(keysOf(input, { ...NONE, ...key }), ours, JSON.stringify(input));
});
