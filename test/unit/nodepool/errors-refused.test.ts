import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ifRefused, NodepoolError } from '../../../src/nodepool/errors.ts';

test('ifRefused() replaces what a user can act on, and throws bugs', async () => {
  assert.equal(await Promise.reject(new NodepoolError('cluster', 'no')).catch(ifRefused('unknown')), 'unknown');
  await assert.rejects(Promise.reject(new TypeError('bug')).catch(ifRefused('unknown')), TypeError);
});
