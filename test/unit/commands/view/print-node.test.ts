import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_PODS, renderPods } from '../../../../src/commands/view/print-node.ts';

const NOW = new Date('2026-11-21T12:00:00Z');

test('mentions that there are more pods than shown', () => {
  const pod = {
    ...{ namespace: 'default', name: 'p', node: 'n', ready: '1/1', status: 'Running', restarts: 0 },
    creationTimestamp: NOW.toISOString(),
  };
  const setting = { now: NOW, width: 80, hasNode: false };
  const lines = (count: number) => renderPods(Array(count).fill(pod), setting).split('\n');
  assert.equal(lines(MAX_PODS).length, MAX_PODS + 1);
  const more = lines(MAX_PODS + 1);
  assert.deepEqual([more.length, more.at(-1)], [MAX_PODS + 2, '… and more: only the first 2,000 are shown']);
});
