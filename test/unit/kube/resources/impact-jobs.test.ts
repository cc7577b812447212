import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api } from '../../../../src/kube/api/api.ts';
import { impactPort } from '../../../../src/kube/resources/impact.ts';

const DISRUPTED = [{ type: 'DisruptionTarget', status: 'True' }];
const byCode = { action: 'FailJob', onExitCodes: { operator: 'In', values: [143] } };
const onEviction = (action: string) => ({ action, onPodConditions: DISRUPTED });
const policy = (...rules: object[]) => ({ podFailurePolicy: { rules } });
const CODES = 'podFailurePolicy with exit codes';
const INDEXES = 'failures of single indexes (backoffLimitPerIndex, maxFailedIndexes)';

const CASES: [what: string, spec: object, failuresLeft: number, active: number | undefined, notJudged: string[]][] = [
  ['by default', {}, 5, 3, []],
  ['with a limit', { backoffLimit: 0 }, 0, 3, []],
  ['that ignores evictions', policy(onEviction('Ignore'), byCode), Infinity, 3, []],
  ['that fails on evictions', policy(onEviction('FailJob')), 0, 3, []],
  ['with a rule by exit code first', policy(byCode, onEviction('Ignore')), Infinity, 3, [CODES]],
  ['with rules by exit code alone', policy(byCode), 5, 3, [CODES]],
  ['with a limit for each index', { backoffLimitPerIndex: 0 }, 0, undefined, [INDEXES]],
  ['with a limit for each index and one for all', { backoffLimitPerIndex: 1, backoffLimit: 2 }, 1, 3, [INDEXES]],
  ['with a limit for each index and none for all', { backoffLimitPerIndex: 1 }, Infinity, 3, [INDEXES]],
  ['whose index fails on evictions', policy(onEviction('FailIndex')), 0, undefined, [INDEXES]],
];

for (const [what, spec, failuresLeft, active, notJudged] of CASES) {
  test(`a Job ${what}: how many more failures it allows`, async () => {
    const job = { metadata: { namespace: 'shop', name: 'batch' }, spec, status: { active: 3, failed: 1 } };
    const api = { list: async (_: unknown, map: (item: unknown) => unknown) => [map(job)] } as unknown as Api;
    const facts = { failuresLeft, ...(active === undefined ? {} : { active }), notJudged };
    assert.deepEqual([...(await impactPort(api).jobs())], [['shop/batch', facts]]);
  });
}

test('a Job without completions creates no more pods after the first success', async () => {
  const jobs = [
    { name: 'queue', spec: { parallelism: 2, completions: null }, status: { succeeded: 1 } },
    { name: 'begun', spec: { parallelism: 2 }, status: {} },
    { name: 'fixed', spec: { completions: 3 }, status: { succeeded: 1 } },
  ].map(({ name, ...job }) => ({ metadata: { namespace: 'shop', name }, ...job }));
  const api = { list: async (_: unknown, map: (item: unknown) => unknown) => jobs.map(map) } as unknown as Api;
  const found = await impactPort(api).jobs();
  assert.deepEqual(
    [...found].flatMap(([name, { createsNoMore }]) => (createsNoMore ? name : [])),
    ['shop/queue'],
  );
});
