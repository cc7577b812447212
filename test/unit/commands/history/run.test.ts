import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poolEntries, readTimeline } from '../../../../src/commands/history/run.ts';
import type { RawPool } from '../../../../src/kube/cluster.ts';
import { ForbiddenError } from '../../../../src/nodepool/errors.ts';
import type { ControllerRevision } from '../../../../src/nodepool/rollout/revisions.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';

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

test('prints what a revision changed, and which revision an undo restored', () => {
  const [gold, silver] = [{ labels: { tier: 'gold' } }, { labels: { tier: 'silver' }, handler: 'runc' }];
  assert.deepEqual(
    detailsOf([revision(2, silver, '2026-01-02T00:00:00Z'), revision(3, gold, '2026-01-01T00:00:00Z')]),
    [
      'SpecChanged: saved the spec that was restored later as revision 3',
      'SpecChanged: revision 2: the earliest spec that `rollout undo` can restore',
      'SpecRestored: revision 3: - spec.handler: runc, ~ spec.labels[tier]: silver -> gold',
    ],
  );
});

test('detects an undo among revisions of the same second', () => {
  const [created, written] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z'];
  const silver = revision(2, { labels: { tier: 'silver' } }, created);
  const gold = (number: number, time: string): ControllerRevision => {
    const { metadata, ...rest } = revision(number, { labels: { tier: 'gold' } }, created);
    return { ...rest, metadata: { ...metadata, managedFields: [{ manager: 'a', time }] } as typeof metadata };
  };
  assert.equal(
    detailsOf([silver, gold(3, written)]).at(-1),
    'SpecRestored: revision 3: ~ spec.labels[tier]: silver -> gold',
  );
  assert.equal(
    detailsOf([silver, gold(3, created)]).at(-1),
    'SpecChanged: revision 3: ~ spec.labels[tier]: silver -> gold',
  );
  // Another cause was written: no number is free.
  const first = { ...silver, revision: 1 };
  assert.equal(
    detailsOf([first, gold(2, written)]).at(-1),
    'SpecChanged: revision 2: ~ spec.labels[tier]: silver -> gold',
  );
});

test('skips the comparison of a spec with thousands of levels', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`);
  const [, last] = detailsOf([
    revision(1, { x: deep }, '2026-01-01T00:00:00Z'),
    revision(2, { x: 1 }, '2026-01-02T00:00:00Z'),
  ]);
  assert.equal(last, 'SpecChanged: revision 2: nested too deeply to compare');
});

test('names the fields of each manager, and those of the creation for the creator', () => {
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
      ['PoolCreated', 'kubectl-create', 'last wrote spec.handler, spec.labels[a], spec.labels[b]'],
      ['MetadataWritten', 'kubectl-annotate', 'last wrote metadata.annotations'],
    ],
  );
});

test('resolves a name to a pool, also a deleted one, before the short name of a node', async () => {
  const event = { pool: 'gpu', reason: 'NodeJoined', note: '1 node joined: a', type: 'Normal', lastSeen: '', count: 1 };
  const nodes = ['gpu.a', 'gpu.b', 'lone.example.com'].map(name => aNode({ name }));
  const deps = {
    cluster: { pools: { list: async () => [] }, nodes: { list: async () => nodes } },
    events: { list: async () => [event], listAboutNode: async () => [] },
    datedNode: async (name: string) => {
      const node = nodes.find(each => each.name === name);
      return node && { node, managedFields: [], conditions: [] };
    },
  } as unknown as Parameters<typeof readTimeline>[1];
  const subjectOf = async (kind: 'Node' | undefined, name: string) =>
    (await readTimeline({ kind, name }, deps)).subject;
  assert.deepEqual(await subjectOf(undefined, 'gpu'), { kind: 'NodePool', name: 'gpu' });
  assert.deepEqual(await subjectOf(undefined, 'lone'), { kind: 'Node', name: 'lone.example.com' });
  await assert.rejects(subjectOf('Node', 'gpu'), /^\w*Error: node "gpu" is ambiguous: gpu\.a, gpu\.b/);
});

test('reports each refusal of a pool, the same one once', async () => {
  const refuse = (message: string) => () => Promise.reject(new ForbiddenError(message, [message]));
  const forbiddenOf = async (list: () => Promise<never[]>, listAboutNodes: () => Promise<never[]>) => {
    const deps = {
      cluster: {
        pools: { list: async () => [pool()] },
        nodes: { list: async () => [] },
        revisions: { list: async () => [] },
      },
      events: { list, listAboutNodes },
    } as unknown as Parameters<typeof readTimeline>[1];
    const { forbidden } = await readTimeline({ kind: 'NodePool', name: aPool().metadata.name }, deps);
    return forbidden.map(({ message }) => message);
  };
  assert.deepEqual(await forbiddenOf(async () => [], refuse('no events about nodes')), ['no events about nodes']);
  assert.deepEqual(await forbiddenOf(refuse('no events'), refuse('no events')), ['no events']);
});

test('shows the start of an ended maintenance, and equal texts for all nodes of an uncordon', async () => {
  const ended = (node: string, second: number) => ({
    ...{ node, reason: 'MaintenanceEnded', type: 'Normal', count: 1, reporter: 'kubectl-nodepool' },
    ...{ firstSeen: `2026-01-01T01:00:0${second}Z`, lastSeen: `2026-01-01T01:00:0${second}Z` },
    note: `bob ended the maintenance by alice (by a kubeconfig) since 2026-01-01T00:00:0${second}Z, planned until 2026-01-01T02:00:00Z: new: kernel`,
  });
  const deps = {
    cluster: { pools: { list: async () => [] } },
    events: { list: async () => [], listAboutNode: async () => [ended('a', 1), ended('a', 2)] },
    datedNode: async () => undefined,
  } as unknown as Parameters<typeof readTimeline>[1];
  const { entries } = await readTimeline({ kind: 'Node', name: 'a' }, deps);
  assert.deepEqual(
    entries.map(({ time, what, who, detail }) => [time, what, who, detail]),
    [1, 2]
      .map(second => [
        `2026-01-01T00:00:0${second}Z`,
        'Maintenance',
        'alice (by a kubeconfig)',
        'cordoned by alice (by a kubeconfig) until 2026-01-01T02:00:00Z: new: kernel',
      ])
      .concat(
        [1, 2].map(second => [
          `2026-01-01T01:00:0${second}Z`,
          'MaintenanceEnded',
          'kubectl-nodepool',
          'bob ended the maintenance by alice (by a kubeconfig): new: kernel',
        ]),
      ),
  );
});
