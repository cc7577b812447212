import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeStyle } from '../../../src/print/style.ts';
import { nodesBar, paintBar, proportions } from '../../../src/view/rows.ts';

test('splits the width into proportional shares, with at least one cell for each kind', () => {
  const cases: [number[], number, number[]][] = [
    [[1, 1], 10, [5, 5]],
    [[2, 1, 0], 10, [7, 3, 0]],
    [[1, 1, 1], 10, [4, 3, 3]],
    [[1000, 1, 0], 10, [9, 1, 0]],
    [[1000, 1, 1], 3, [1, 1, 1]],
    [[5, 1, 1], 2, [2, 0, 0]],
    [[0, 0, 0], 10, [0, 0, 0]],
    [[0, 3, 0], 10, [0, 10, 0]],
    [[1, 2, 3], 0, [0, 0, 0]],
  ];
  for (const [counts, width, parts] of cases)
    assert.deepEqual(proportions(counts, width), parts, JSON.stringify([counts, width]));
  for (let a = 0; a < 20; a++) {
    for (let b = 0; b < 20; b++) {
      const sum = proportions([a, b, 3], 7).reduce((x, y) => x + y);
      assert.equal(sum, 7, `${a} ${b}`);
    }
  }
});

test('draws a character and colour per kind of node', () => {
  const plain = nodesBar({ schedulable: 2, cordoned: 1, notReady: 1 }, 8, makeStyle(false));
  assert.equal(plain.text, '████▒▒░░');
  assert.equal(nodesBar({ schedulable: 0, cordoned: 0, notReady: 0 }, 4, makeStyle(false)).text, '    ');
  const style = makeStyle(true);
  assert.equal(paintBar('██▒░ 1', style), `${style.green('██')}${style.yellow('▒')}${style.red('░')} 1`);
});
