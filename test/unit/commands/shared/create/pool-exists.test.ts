import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alreadyExists, takenText } from '../../../../../src/commands/shared/create/pool-exists.ts';
import { aPool } from '../../../nodepool/fixtures.ts';

test('names the command that changes an existing pool, with its file if any', () => {
  const next = (files?: string[]) => alreadyExists(aPool({}, { name: 'web' }), files).next;
  const edit = 'change the pool with `kubectl nodepool edit web`';
  const by = (file: string) =>
    `${edit}, or from its file with \`kubectl replace -f ${file}\` (\`kubectl apply -f ${file}\` would keep fields that are not in the file), then \`kubectl nodepool reconcile web\``;
  assert.deepEqual([next(), next(['a.yaml']), next(['-'])], [edit, by('a.yaml'), by('FILE')]);
});

const CREATED = '2026-01-01T00:00:05Z';

test('names the field manager that created the pool, in any order of entries', () => {
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
    assert.equal(takenText(metadata), `${who} created a pool of the same name at ${CREATED}`);
  }
});

test('suggests kubectl apply for a pool that kubectl apply created', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
  const existing = { metadata: { ...aPool().metadata, annotations } };
  assert.match(
    alreadyExists(aPool(), ['a.yaml'], existing).next ?? '',
    /from its file with `kubectl apply -f a\.yaml`, then /,
  );
});
