import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControllerRevision } from '../../../../src/nodepool/revisions.ts';
import { poolEntries } from '../../../../src/operations/history/pool-entries.ts';
import type { RawPool } from '../../../../src/operations/ports.ts';
import { aPool } from '../../nodepool/fixtures.ts';

const pool = (managedFields?: unknown) => {
  const { metadata, ...rest } = aPool();
  return { ...rest, metadata: { ...metadata, managedFields } } as unknown as RawPool;
};
const revision = (number: number, spec: unknown, creationTimestamp: string): ControllerRevision => ({
  metadata: { name: `r${number}`, creationTimestamp },
  data: { spec },
  revision: number,
});
const detailsOf = (revisions: ControllerRevision[]) =>
  poolEntries(pool(), revisions)
    .filter(({ what }) => what.startsWith('Spec'))
    .map(({ what, detail }) => `${what}: ${detail}`);

test('says what a revision changed, and which one an undo brought back', () => {
  const [gold, silver] = [{ labels: { tier: 'gold' } }, { labels: { tier: 'silver' }, handler: 'runc' }];
  assert.deepEqual(
    detailsOf([revision(2, silver, '2026-01-02T00:00:00Z'), revision(3, gold, '2026-01-01T00:00:00Z')]),
    [
      'SpecChanged: revision 2: the oldest spec that is kept',
      'SpecChanged: the spec of revision 3 was kept first',
      'SpecRestored: revision 3: - spec.handler: runc, ~ spec.labels[tier]: silver -> gold',
    ],
  );
});

test('compares no spec of thousands of levels', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`);
  const [, last] = detailsOf([
    revision(1, { x: deep }, '2026-01-01T00:00:00Z'),
    revision(2, { x: 1 }, '2026-01-02T00:00:00Z'),
  ]);
  assert.equal(last, 'SpecChanged: revision 2: too many levels to compare');
});

test('names the fields of each manager, and of the creator those of the creation', () => {
  const manager = (name: string, time: string, fields: object) => ({
    manager: name,
    operation: 'Update',
    time,
    fieldsV1: fields,
  });
  const found = poolEntries(
    pool([
      manager('kubectl-create', '2026-01-01T00:00:00Z', {
        'f:spec': { '.': {}, 'f:handler': {}, 'f:labels': { 'f:a': {}, 'f:b': {} } },
      }),
      manager('kubectl-annotate', '2026-01-02T00:00:00Z', { 'f:metadata': { 'f:annotations': { 'f:x': {} } } }),
      manager('nobody', '2026-01-03T00:00:00Z', {}),
    ]),
    [],
  );
  assert.deepEqual(
    found.map(({ what, who, detail }) => [what, who, detail]),
    [
      ['PoolCreated', 'kubectl-create', 'manages spec.handler, spec.labels[a], spec.labels[b]'],
      ['MetadataWritten', 'kubectl-annotate', 'manages metadata.annotations'],
    ],
  );
});
