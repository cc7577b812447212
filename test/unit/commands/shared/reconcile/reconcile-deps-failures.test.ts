import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureLines } from '../../../../../src/commands/shared/reconcile/reconcile-deps.ts';

const ASK = 'ask for a role with verb patch on nodes';
const denied = (node: string) => ({
  message: `user "u" may not patch Node "${node}"`,
  next: ASK,
  node,
});

test('joins nodes that failed for the same reason, and prints the next step once', () => {
  const said = new Set<string>();
  const failures = [
    ...['n', 'no'].map(denied),
    { message: 'cannot patch Node "x": held', node: 'x' },
    ...['y', 'z'].map(node => ({ message: `node ${node} was not tried`, node })),
    ...['k', 'l', 'm'].map(node => ({ message: 'cannot reach the server', node })),
  ];
  assert.deepEqual(failureLines(failures, 'w', said), [
    `error: w: user "u" may not patch 2 nodes (first: n); next: ${ASK}`,
    'error: w: cannot patch Node "x": held',
    'error: w: 2 nodes were not tried (first: y)',
    'error: w: cannot reach the server (3 nodes, first: k)',
  ]);
  assert.deepEqual(failureLines([denied('a')], 'v', said), ['error: v: user "u" may not patch Node "a"']);
});

test('prints ten different failures and counts the others', () => {
  const failures = Array.from({ length: 12 }, (_, at) => ({ message: `no ${at}` }));
  const lines = failureLines([...failures, { message: 'no 11' }]);
  assert.deepEqual([lines.length, lines[9], lines[10]], [11, 'error: no 9', 'error: and 3 more']);
});
