import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  filterEntries,
  joinNodes,
  lastEntries,
  mergeEntries,
  NODE_WRITES,
  sortEntries,
} from '../../../../src/commands/history/entries.ts';
import type { TimelineEntry } from '../../../../src/commands/shared/describe/print-timeline.ts';
import { isNamedIn } from '../../../../src/commands/shared/reconcile/earlier-repairs.ts';

const entry = (time: string | undefined, what: string, more: Partial<TimelineEntry> = {}): TimelineEntry => ({
  ...{ time, what, who: 'kubectl-nodepool', detail: what, sources: ['managedFields'] },
  ...more,
});
const write = (time: string, node?: string) => entry(time, 'NodeWritten', { sameAs: NODE_WRITES, node });
const event = (time: string, what: string, node?: string) =>
  entry(time, what, { sources: ['Event'], who: 'nodepool-controller', node });
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();

test('orders by time, with entries without time last', () => {
  const entries = [entry(undefined, 'a'), entry(at(2), 'b'), entry('2026-01-01T00:00:01.5Z', 'c'), entry(at(1), 'd')];
  assert.deepEqual(
    sortEntries(entries).map(({ what }) => what),
    ['d', 'c', 'b', 'a'],
  );
});

test('within a second, orders creations first and drift last', () => {
  const condition = (time: string, what: string, node?: string) => entry(time, what, { sources: ['condition'], node });
  const found = sortEntries([
    condition(at(1), 'NoReadyNode'),
    entry(at(1), 'StatusWritten'),
    event(at(1.9), 'NodesUpdated'),
    event(at(1.2), 'NodeJoined'),
    entry(at(1), 'SpecChanged', { sources: ['ControllerRevision'] }),
    condition(at(1), 'NodeReady', 'a'),
    entry(at(1), 'PoolCreated', { sources: ['object', 'managedFields'] }),
    entry(at(2), 'SpecWritten'),
  ]);
  assert.deepEqual(
    found.map(({ what }) => what),
    [
      'PoolCreated',
      'SpecChanged',
      'NodeReady',
      'NodeJoined',
      'NodesUpdated',
      'NoReadyNode',
      'StatusWritten',
      'SpecWritten',
    ],
  );
  const times = found.map(({ time = '' }) => time);
  assert.deepEqual(times, times.toSorted(), 'as they are printed');
});

test('joins an Event with the write of the same node at the same time', () => {
  const sourcesOf = (entries: TimelineEntry[]) =>
    mergeEntries(entries).map(({ what, sources }) => [what, sources.join()]);
  const both = 'Event,managedFields';
  assert.deepEqual(sourcesOf([write(at(5)), event(at(5.4), 'NodeJoined')]), [['NodeJoined', both]]);
  assert.deepEqual(sourcesOf([write(at(5)), event(at(15), 'NodesUpdated')]), [['NodesUpdated', both]]);
  const apart = (other: string) => [
    ['NodeWritten', 'managedFields'],
    [other, 'Event'],
  ];
  assert.deepEqual(sourcesOf([write(at(5)), event(at(16), 'NodesUpdated')]), apart('NodesUpdated'));
  assert.deepEqual(sourcesOf([write(at(5)), event(at(3), 'NodeJoined')]), apart('NodeJoined'));
  assert.deepEqual(sourcesOf([write(at(5)), event(at(5), 'NodeConflict')]), apart('NodeConflict'));
  assert.deepEqual(sourcesOf([write(at(5), 'a'), event(at(5), 'NodeJoined', 'b')]), apart('NodeJoined'));
  // Of two the first that follows.
  assert.deepEqual(sourcesOf([write(at(5)), event(at(8), 'NodesUpdated'), event(at(5), 'NodeJoined')]), [
    ['NodesUpdated', 'Event'],
    ['NodeJoined', both],
  ]);
});

test('--since leaves out older entries, --limit all but the last ones', () => {
  const now = new Date(at(100));
  const entries = [entry(at(1), 'a'), entry(at(90), 'b'), entry('no time', 'c'), entry(undefined, 'd')];
  const whats = (sinceMs?: number, limit?: number) =>
    lastEntries(filterEntries(entries, { sinceMs, now }), limit)
      .map(({ what }) => what)
      .join('');
  assert.deepEqual(
    [whats(), whats(10_000), whats(9_000), whats(undefined, 2), whats(10_000, 9)],
    ['abcd', 'bcd', 'cd', 'cd', 'bcd'],
  );
});

test('joins equal entries of nodes within a minute on one line, with the last time', () => {
  const drift = (time: string | undefined, node: string, detail = 'tier') => entry(time, 'Drift', { node, detail });
  const lines = joinNodes([
    drift(at(0), 'early'),
    drift(at(100), 'b'),
    event(at(110), 'NodesUpdated'),
    drift(at(120), 'a'),
    drift(at(120), 'odd', 'team'),
    { ...drift(at(121), 'counted'), count: 3, firstTime: at(1) },
    drift(at(160), 'd', 'twice'),
    drift(at(165), 'd', 'twice'),
    drift(at(170), 'c'),
    entry(at(171), 'SpecWritten'),
    entry(at(172), 'SpecWritten'),
    drift(undefined, 'x'),
    drift(undefined, 'y'),
  ]);
  assert.deepEqual(
    lines.map(({ time, what, node, nodes }) => [time, what, nodes?.join() ?? node]),
    [
      [at(0), 'Drift', 'early'],
      [at(110), 'NodesUpdated', undefined],
      [at(120), 'Drift', 'odd'],
      [at(121), 'Drift', 'counted'],
      [at(160), 'Drift', 'd'],
      [at(165), 'Drift', 'd'],
      [at(170), 'Drift', 'a,b,c'],
      [at(171), 'SpecWritten', undefined],
      [at(172), 'SpecWritten', undefined],
      [undefined, 'Drift', 'x,y'],
    ],
  );
});

test('finds a node in notes that name it, but not as part of another name', () => {
  for (const note of [
    '1 node joined: a-1',
    '3 nodes joined: a, a-1, a-2 and 3 more',
    '2 nodes updated (label k changed from "x" to "y" (drift)): a-1, b',
    'node a-1 belongs to pool x but also matches pool y',
    'nodes b, a-1, c belong to pool x but also match pool y; not applied there: tier',
  ])
    assert.equal(isNamedIn(note, 'a-1'), true, note);
  for (const note of [
    '1 node joined: a-10',
    '1 node joined: xa-1',
    '2 nodes joined: a-1.b, c',
    'RuntimeClass a-1 created',
    '3 nodes updated (label a-1 set to "a-1" (spec)): b',
    '',
  ])
    assert.equal(isNamedIn(note, 'a-1'), false, note);
});
