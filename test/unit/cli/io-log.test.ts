import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../../src/cli/io.ts';
import { testIo } from './test-io.ts';

test('writes one line per entry, with debug from -v 4 on', () => {
  for (const [verbosity, debug] of [
    [3, ''],
    [4, '2026-01-01T00:00:00.000Z debug   a\n'],
  ] as const) {
    const io = testIo();
    const log = createLog(io, 'text', verbosity);
    log('debug', 'a');
    log('warning', 'b\nc \u001b[2J');
    assert.equal(io.stderrText(), `${debug}2026-01-01T00:00:00.000Z warning b c \\u001b[2J\n`);
  }
});

test('cuts long lines in text format', () => {
  const io = testIo();
  createLog(io, 'text', 0)('warning', 'x\t'.repeat(500_000));
  assert.ok(io.stderrText().length < 2_100);
  assert.match(io.stderrText(), /^\S+ warning \S+… \(cut\)\n$/);
});

test('writes one JSON object per line', () => {
  const io = testIo();
  createLog(io, 'json', 0)('info', 'b\nc\u007f\u009b\u202e', { field: '\u009b' });
  const [line = '', ...rest] = io.stderrText().split('\n');
  assert.deepEqual(JSON.parse(line), {
    time: '2026-01-01T00:00:00.000Z',
    level: 'info',
    message: 'b\nc\u007f\u009b\u202e',
    field: '\u009b',
  });
  assert.doesNotMatch(line, /[\u007f-\u009f\u202e]/);
  assert.deepEqual(rest, ['']);
});

test('cuts long strings in JSON format', () => {
  const io = testIo();
  const long = 'x'.repeat(1_000_000);
  createLog(io, 'json', 0)('warning', long, { key: long, nested: { list: [long, 5] } });
  const cut = `${'x'.repeat(2_000)}… (cut)`;
  const { time: _time, ...entry } = JSON.parse(io.stderrText());
  assert.deepEqual(entry, { level: 'warning', message: cut, key: cut, nested: { list: [cut, 5] } });
});
