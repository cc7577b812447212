import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, fitColumns } from '../../../src/print/fit-columns.ts';
import { cut } from '../../../src/print/width.ts';
import { NOW } from './fixtures.ts';

type Row = Record<string, string>;

const list = (header: string, rank?: number): Column<Row> => ({
  header,
  cell: (row, _, width) => cut(row[header] ?? '', width),
  cutFrom: rank === undefined ? 0 : Infinity,
  ...(rank === undefined ? {} : { rank }),
});
const COLUMNS: Column<Row>[] = [
  { header: 'NAME', cell: row => row.NAME ?? '' },
  list('DRIFT'),
  list('TAINTS', 1),
  { header: 'AGE', cell: () => '3d', rank: 2 },
  list('APPLIED', 3),
];
const row: Row = { NAME: 'n'.repeat(10), DRIFT: 'd'.repeat(10), TAINTS: 't'.repeat(40), APPLIED: 'a'.repeat(20) };

/** The widths of the cells of the row in a terminal. */
function fitted(terminalWidth: number, shown = row): [string, number][] {
  const columns = fitColumns(COLUMNS, [row], NOW, terminalWidth);
  return columns.map(({ header, cell }) => [header, String(cell(shown, NOW, Infinity)).length]);
}

test('cuts lists equally, drops the least important columns, then cuts the others', () => {
  const age: [string, number] = ['AGE', 2];
  assert.deepEqual(fitted(95), [['NAME', 10], ['DRIFT', 10], ['TAINTS', 40], age, ['APPLIED', 20]]);
  assert.deepEqual(fitted(94), [['NAME', 10], ['DRIFT', 10], ['TAINTS', 39], age, ['APPLIED', 20]]);
  assert.deepEqual(fitted(60), [['NAME', 10], ['DRIFT', 10], ['TAINTS', 12], age, ['APPLIED', 12]]);
  // The last header says that columns are left out.
  assert.deepEqual(fitted(58), [
    ['NAME', 10],
    ['DRIFT', 10],
    ['TAINTS', 24],
    ['AGE …', 2],
  ]);
  assert.deepEqual(fitted(40), [
    ['NAME', 10],
    ['DRIFT', 10],
    ['TAINTS …', 14],
  ]);
  assert.deepEqual(fitted(37), [
    ['NAME', 10],
    ['DRIFT …', 10],
  ]);
  assert.deepEqual(fitted(10), fitted(37));
});

test('drops a column with one known value before columns without values', () => {
  const columns: Column<Row>[] = [
    { header: 'NAME', cell: () => 'n'.repeat(10) },
    { header: 'POOL', cell: ({ POOL = '' }) => POOL, rank: 1, known: 'gpu' },
    { header: 'DUE', cell: () => '<none>', rank: 2 },
  ];
  const headers = (pool: string) => fitColumns(columns, [{ POOL: pool }], NOW, 24).map(({ header }) => header);
  assert.deepEqual(headers('gpu'), ['NAME', 'DUE …']);
  assert.deepEqual(headers('web'), ['NAME', 'POOL …']);
});

test('cuts the lists of later rows to the same widths', () => {
  const later = { ...row, DRIFT: 'd'.repeat(50), TAINTS: 't'.repeat(60), APPLIED: 'a'.repeat(60) };
  assert.deepEqual(
    fitted(60, later).map(([, width]) => width),
    [10, 50, 12, 2, 12],
  );
  assert.deepEqual(
    fitted(26, later).map(([, width]) => width),
    [10, 13],
  );
});
