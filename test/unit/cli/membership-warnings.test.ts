import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deletingWarning, warnOfOthersKeys } from '../../../src/cli/membership-warnings.ts';
import { aPool } from '../nodepool/fixtures.ts';
import { testIo } from './test-io.ts';

test('warns once for each provider whose keys a pool sets', async () => {
  const io = testIo();
  const labels = { 'karpenter.sh/a': '', 'karpenter.sh/b': '', 'cloud.google.com/x': '', tier: 'gold' };
  await warnOfOthersKeys([aPool({ labels }, { name: 'web' }), aPool({})], io);
  const end = 'sets itself: the last writer wins; next: choose a key of your own';
  assert.deepEqual(io.stderrText().trimEnd().split('\n'), [
    `warning: pool web sets cloud.google.com/x, which GKE ${end}`,
    `warning: pool web sets karpenter.sh/a, karpenter.sh/b, which Karpenter ${end}`,
  ]);
});

test('warns about a pool that is being deleted', () => {
  assert.equal(deletingWarning(aPool({})), undefined);
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  assert.match(
    deletingWarning(aPool({}, { deletionTimestamp })) ?? '',
    /^nodepool worker is being deleted since 2026-01-01T00:00:00Z: its nodes are released, .*delete worker`$/,
  );
});
