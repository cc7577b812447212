import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultsTable } from '../../../scripts/faults-table.ts';
import type { RowResult } from '../../fault/row.ts';

const result = (how: string, passed = true, more: Partial<RowResult> = {}): RowResult => ({
  fault: 'killed',
  how,
  holds: 'h',
  passed,
  seconds: 1.5,
  facts: { kills: 2 },
  ...more,
});
const HEAD = ['| fault | how it is made | what holds | passed | date |', '| --- | --- | --- | --- | --- |'];

test('counts how often each row passed', () => {
  const rounds = [
    [result('b', false), result('a')],
    [result('a'), result('b'), result('c')],
  ];
  assert.deepEqual(faultsTable(rounds, '', '2026-11-24'), [
    ...HEAD,
    '| killed | a | h | 2/2 | 2026-11-24 |',
    '| killed | b | h | 1/2 | 2026-11-24 |',
    // It was recorded in one of the rounds only.
    '| killed | c | h | 1/2 | 2026-11-24 |',
  ]);
});

test('replaces the measured rows and keeps the others, including rows with a bar in a cell', () => {
  const first = faultsTable([[result('a|b'), result('a', false), result('z')]], '', '2026-11-20');
  const text = ['Node v1', '', ...first].join('\n');
  assert.deepEqual(faultsTable([[result('a'), result('new')]], text, '2026-11-24'), [
    ...HEAD,
    '| killed | a | h | 1/1 | 2026-11-24 |',
    '| killed | a\\|b | h | 1/1 | 2026-11-20 |',
    '| killed | new | h | 1/1 | 2026-11-24 |',
    '| killed | z | h | 1/1 | 2026-11-20 |',
  ]);
  assert.deepEqual(faultsTable([[result('a|b')]], text, '2026-11-24')[3], first[3]?.replace('20 |', '24 |'));
});
