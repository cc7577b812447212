import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorthAsking } from '../../../../../src/commands/shared/impact/find-impact.ts';
import type { Impact, KeyImpact } from '../../../../../src/scheduling/impact/types.ts';

test('asks when a workload no longer fits on any node', () => {
  const key: KeyImpact = {
    change: { kind: 'taint', key: 'k', effect: 'NoSchedule', to: '' },
    nodes: ['a'],
    holders: undefined,
    drain: undefined,
    ...{ daemonSets: [], notAgain: [], evicted: [], shutOut: [], selectedBy: [] },
  };
  const impact = (keys: KeyImpact[]): Impact => ({
    ...{ keys, daemonSets: [], notAgain: [], evicted: [], budgets: [], notJudged: [] },
  });
  assert.equal(isWorthAsking(impact([key])), false);
  const shutOut = [{ kind: 'CronJob', namespace: 'shop', name: 'report' }];
  assert.equal(isWorthAsking(impact([{ ...key, shutOut }])), true);
});
