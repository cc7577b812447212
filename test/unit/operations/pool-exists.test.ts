import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takenText } from '../../../src/operations/pool-exists.ts';

const CREATED = '2026-01-01T00:00:05Z';

test('names the field manager of the creation, whatever the order of the entries', () => {
  const later = { manager: 'argocd', operation: 'Apply', time: '2026-01-02T00:00:00Z' };
  const creator = { manager: 'kubectl-create', operation: 'Update', time: CREATED };
  // The entry is made before the creation timestamp.
  const before = { ...creator, time: '2026-01-01T00:00:04Z' };
  for (const [managedFields, who] of [
    [[creator], 'kubectl-create'],
    [[later, creator], 'kubectl-create'],
    [[later, before], 'kubectl-create'],
    [[later], 'somebody else'],
    [[{ ...later, time: CREATED }, creator], 'somebody else'],
    [[{ manager: 'm' }], 'somebody else'],
    [undefined, 'somebody else'],
  ] as const) {
    const metadata = { name: 'a', creationTimestamp: CREATED, managedFields };
    assert.equal(takenText(metadata), `${who} created a pool of that name at ${CREATED}`);
  }
});
