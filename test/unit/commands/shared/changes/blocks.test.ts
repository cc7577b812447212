import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acrossBlocks, blockKey, blocksOf } from '../../../../../src/commands/shared/changes/blocks.ts';
import type { Change } from '../../../../../src/nodepool/plan/plan.ts';

const drift: Change = { kind: 'label', key: 'tier', action: 'change', from: 'x', to: 'y', reason: 'drift' };

test('orders blocks by their first items', () => {
  const blocks = blocksOf(['a1', 'b1', 'a2', 'c1', 'b2'], ([first = '']) => first);
  assert.deepEqual(blocks, [['a1', 'a2'], ['b1', 'b2'], ['c1']]);
  assert.deepEqual(
    blocksOf([], () => ''),
    [],
  );
});

test('selects the first items from all blocks in turn', () => {
  assert.deepEqual(
    acrossBlocks(['a1', 'a2', 'a3', 'b1', 'b2', 'c1'], ([first = '']) => first),
    ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'],
  );
});

test('the block of a node depends on what is shown, not on who set a value', () => {
  const shown = { previous: 'web', owner: 'web', changes: [drift] };
  const setBy = { manager: 'kubectl-label', operation: 'Update' };
  assert.equal(blockKey(shown), blockKey({ ...shown, changes: [{ ...drift, setBy }] }));
  assert.equal(
    blockKey(shown),
    blockKey({ ...shown, changes: [Object.fromEntries(Object.entries(drift).toReversed())] as unknown as Change[] }),
  );
  for (const other of [
    { owner: 'db' },
    { previous: undefined },
    { waits: 'later' },
    { changes: [] },
    { changes: [{ ...drift, from: 'z' }] },
    { changes: [{ ...drift, reason: 'spec' as const }] },
    { drain: { changes: [drift] } },
  ])
    assert.notEqual(blockKey(shown), blockKey({ ...shown, ...other } as typeof shown));
});
