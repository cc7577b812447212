import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LabelQuery, matchesQuery } from '../../../../src/nodepool/membership/label-query.ts';

const labels = { app: 'web', tier: '' };
const where = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

for (const [query, expected] of [
  [undefined, false],
  [{}, true],
  [{ matchLabels: { app: 'web' } }, true],
  [{ matchLabels: { app: 'web', tier: '' } }, true],
  [{ matchLabels: { app: 'web', other: '' } }, false],
  [where('app', 'In', 'db', 'web'), true],
  [where('app', 'In', 'db'), false],
  [where('other', 'In', 'db'), false],
  [where('app', 'NotIn', 'web'), false],
  [where('other', 'NotIn', 'web'), true],
  [where('tier', 'Exists'), true],
  [where('other', 'Exists'), false],
  [where('tier', 'DoesNotExist'), false],
  [where('other', 'DoesNotExist'), true],
  [where('app', 'Near', 'web'), false],
  [{ matchLabels: { app: 'db' }, ...where('app', 'Exists') }, false],
] as [LabelQuery | undefined, boolean][]) {
  test(`${JSON.stringify(query)}: ${expected}`, () => assert.equal(matchesQuery(query, labels), expected));
}
