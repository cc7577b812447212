import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResources } from '../../../src/cli/flags.ts';

test('--resources takes `all` or names, and drops duplicates', () => {
  assert.equal(parseResources('all'), 'all');
  assert.deepEqual(parseResources('cpu, nvidia.com/gpu,cpu'), ['cpu', 'nvidia.com/gpu']);
  for (const text of ['', 'cpu,', ',']) {
    const message = `--resources: "${text}" has an empty name`;
    assert.throws(() => parseResources(text), { name: 'NodepoolError', kind: 'usage', message });
  }
});
