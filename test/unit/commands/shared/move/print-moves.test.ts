import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderMoved } from '../../../../../src/commands/shared/move/print-moves.ts';

const gone = (key: string, from = '') => ({ key, action: 'remove' as const, reason: 'membership' as const, from });
const removed = (...changes: ReturnType<typeof gone>[]) =>
  renderMoved({ kind: 'remove', pool: 'p' }, { node: 'n', from: 'p', to: undefined, changes });

test('names a removed label, unless it is the role of a pool', () => {
  assert.equal(removed(gone('node-role.kubernetes.io/p')), 'node/n removed from pool p');
  assert.equal(removed(gone('rack', 'r1')), 'node/n removed from pool p (label rack=r1 removed)');
});

test('names a removed role of the control plane', () => {
  for (const role of ['control-plane', 'master', 'etcd']) {
    const key = `node-role.kubernetes.io/${role}`;
    assert.equal(removed(gone(key)), `node/n removed from pool p (label ${key}= removed)`);
  }
});
