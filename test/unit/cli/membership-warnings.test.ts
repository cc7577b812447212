import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deletingWarning } from '../../../src/cli/membership-warnings.ts';
import { aPool } from '../nodepool/fixtures.ts';

test('warns about a pool that is being deleted', () => {
  assert.equal(deletingWarning(aPool({})), undefined);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  assert.match(
    deletingWarning(aPool({}, { deletionTimestamp })) ?? '',
    /^warning: nodepool worker is being deleted since 2026-01-01T00:00:00Z: its nodes are released, .*delete worker`$/,
  );
});
