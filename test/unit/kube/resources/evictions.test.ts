/** Responses of a kube-apiserver 1.36 to evictions, verbatim (pkg/registry/core/pod/storage/eviction.go). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from '../../../../src/kube/api/api.ts';
import { evictionOf, evictionsClient, toBudget } from '../../../../src/kube/resources/evictions.ts';
import type { Request } from '../../../../src/kube/transport/request.ts';
import type { Transport } from '../../../../src/kube/transport/transport.ts';
import { makePod } from '../../commands/drain/fake-drain-cluster.ts';

const failure = (code: number, more: object = {}) => ({
  kind: 'Status',
  status: 'Failure',
  code,
  message: 'no',
  ...more,
});
const answer = (status: number, body: object, headers: Record<string, string> = {}) => ({
  status,
  headers,
  text: JSON.stringify(body),
});
const WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget.";
const held = (message: string) => {
  const details = { causes: [{ reason: 'DisruptionBudget', message }] };
  return answer(429, failure(429, { message: WOULD_VIOLATE, reason: 'TooManyRequests', details }));
};
const MANY = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';

for (const [name, given, expected] of [
  ['accepted', answer(201, { kind: 'Status', status: 'Success', code: 201 }), { kind: 'accepted' }],
  [
    'a budget blocks',
    held('The disruption budget web needs 2 healthy pods and has 2 currently'),
    { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods and has 2 currently' },
  ],
  [
    'a budget that the server has not processed yet',
    held('The disruption budget web is still being processed by the server.'),
    { kind: 'budget', budget: 'web', message: 'still being processed by the server' },
  ],
  ['a message of another server', held('no way'), { kind: 'budget', budget: undefined, message: 'no way' }],
  [
    'no cause',
    answer(429, failure(429, { message: WOULD_VIOLATE })),
    { kind: 'budget', budget: undefined, message: WOULD_VIOLATE },
  ],
  [
    'a busy server',
    answer(429, failure(429, { message: 'too many requests' }), { 'retry-after': '7' }),
    { kind: 'busy', afterMs: 7000, message: 'too many requests' },
  ],
  [
    'a busy server that returns no Status',
    { status: 429, headers: { 'retry-after': '1' }, text: 'Too many requests, please try again later.\n' },
    { kind: 'busy', afterMs: 1000, message: 'Too many requests, please try again later.' },
  ],
  [
    'a proxy without a server behind it',
    { status: 503, headers: {}, text: 'no backend\n<p>' },
    { kind: 'busy', afterMs: undefined, message: 'no backend' },
  ],
  ['a slow one', answer(504, failure(504)), { kind: 'busy', afterMs: undefined, message: 'no' }],
  ['gone', answer(404, failure(404, { reason: 'NotFound', details: { name: 'p', kind: 'pods' } })), { kind: 'gone' }],
  [
    'a budget that was deleted meanwhile',
    answer(
      404,
      failure(404, { reason: 'NotFound', details: { name: 'web', group: 'policy', kind: 'poddisruptionbudgets' } }),
    ),
    { kind: 'changed' },
  ],
  ['another pod', answer(409, failure(409)), { kind: 'changed' }],
  [
    'a namespace that is being deleted',
    answer(403, failure(403, { details: { causes: [{ reason: 'NamespaceTerminating' }] } })),
    { kind: 'namespace ends', message: 'no' },
  ],
  ['two budgets: a 500 inside a 201 response', answer(201, failure(500, { message: MANY })), 'many budgets'],
  ['forbidden', answer(403, failure(403)), undefined],
  ['no such resource', { status: 404, headers: {}, text: '404 page not found' }, undefined],
  ['another failure inside a 201 response', answer(201, failure(500)), undefined],
] as const) {
  test(name, () => assert.deepEqual(evictionOf(given), expected));
}

test('sets dryRun for registry and webhooks, and the UID as precondition of each removal', async () => {
  const asked: Request[] = [];
  const request = async (given: Request) => {
    asked.push(given);
    return { status: 201, headers: {}, text: '' };
  };
  const pod = makePod({ namespace: 'ns', name: 'p', uid: 'u' });
  const run = async (dryRun: boolean, gracePeriodSeconds?: number) => {
    asked.length = 0;
    for (const disableEviction of [false, true]) {
      const removal = { gracePeriodSeconds, disableEviction };
      const api = new Api({ request } as unknown as Transport, () => new Date(), dryRun);
      await evictionsClient(api, removal).evict(pod);
    }
    return asked.map(({ method, path, query, body }) => ({ method, path, query, body }));
  };
  const path = '/api/v1/namespaces/ns/pods/p';
  const preconditions = { uid: 'u' };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p', namespace: 'ns' } };
  const options = { apiVersion: 'v1', kind: 'DeleteOptions' };
  const dryRun = ['All'];
  assert.deepEqual(await run(true), [
    {
      method: 'POST',
      path: `${path}/eviction`,
      query: { dryRun: 'All' },
      body: { ...eviction, deleteOptions: { preconditions, dryRun } },
    },
    // The server ignores the query of a DELETE with a body.
    { method: 'DELETE', path, query: undefined, body: { ...options, preconditions, dryRun } },
  ]);
  const deleteOptions = { gracePeriodSeconds: 0, preconditions };
  assert.deepEqual(await run(false, 0), [
    { method: 'POST', path: `${path}/eviction`, query: undefined, body: { ...eviction, deleteOptions } },
    { method: 'DELETE', path, query: undefined, body: { ...options, ...deleteOptions } },
  ]);
});

test('reads a budget, and its status only if it is current', () => {
  const spec = { selector: {}, maxUnavailable: '10%', unhealthyPodEvictionPolicy: 'AlwaysAllow' };
  const counts = { disruptionsAllowed: 1, currentHealthy: 9, desiredHealthy: 8, expectedPods: 10 };
  const metadata = { namespace: 'ns', name: 'web', generation: 2 };
  const read = {
    namespace: 'ns',
    name: 'web',
    selector: {},
    minAvailable: undefined,
    maxUnavailable: '10%',
    alwaysAllowsUnhealthy: true,
  };
  assert.deepEqual(toBudget({ metadata, spec, status: { observedGeneration: 2, ...counts } }), {
    ...read,
    status: counts,
  });
  assert.deepEqual(toBudget({ metadata, spec, status: { observedGeneration: 1, ...counts } }), {
    ...read,
    status: undefined,
  });
  const [type, message] = ['DisruptionAllowed', 'replicasets.apps does not implement the scale subresource'];
  const failed = { observedGeneration: 2, ...counts, conditions: [{ type, reason: 'SyncFailed', message }] };
  assert.deepEqual(toBudget({ metadata, spec, status: failed }), { ...read, status: undefined, syncError: message });
  const synced = { ...failed, conditions: [{ type, reason: 'SufficientPods', message: '' }] };
  assert.deepEqual(toBudget({ metadata, spec, status: synced }), { ...read, status: counts });
  assert.deepEqual(toBudget({ metadata, spec: { minAvailable: 1 } }), {
    ...read,
    selector: undefined,
    minAvailable: 1,
    maxUnavailable: undefined,
    alwaysAllowsUnhealthy: false,
    status: undefined,
  });
});
