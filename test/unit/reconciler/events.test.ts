import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moveEvents } from '../../../src/reconciler/events.ts';
import type { NodeMove } from '../../../src/reconciler/node-writer.ts';

const change = { kind: 'label', key: 'tier', action: 'add', to: 'gold', reason: 'spec' } as const;

function notes(moves: NodeMove[]) {
  return Object.fromEntries(
    [...moveEvents(moves)].map(([pool, events]) => [pool, events.map(({ reason, note }) => `${reason} ${note}`)]),
  );
}

test('joining, moving and leaving are told to both pools', () => {
  assert.deepEqual(
    notes([
      { node: 'b', from: undefined, to: 'worker', changes: [change] },
      { node: 'a', from: undefined, to: 'worker', changes: [change] },
      { node: 'c', from: 'worker', to: 'gpu', changes: [] },
      { node: 'd', from: 'gpu', to: undefined, changes: [] },
    ]),
    {
      worker: ['NodeJoined 2 nodes joined: a, b', 'NodeLeft 1 node left: c'],
      gpu: ['NodeJoined 1 node joined: c', 'NodeLeft 1 node left: d'],
    },
  );
});

test('nodes that changed alike share an event; a record alone is no event', () => {
  const drift = { ...change, action: 'change', from: 'lead', reason: 'drift' } as const;
  assert.deepEqual(
    notes([
      { node: 'a', from: 'worker', to: 'worker', changes: [change] },
      { node: 'b', from: 'worker', to: 'worker', changes: [change] },
      { node: 'c', from: 'worker', to: 'worker', changes: [drift] },
      { node: 'd', from: 'worker', to: 'worker', changes: [] },
    ]),
    {
      worker: [
        'NodesUpdated 2 nodes updated (label tier set to "gold" (spec)): a, b',
        'NodesUpdated 1 node updated (label tier changed from "lead" to "gold" (drift)): c',
      ],
    },
  );
});

test('every name is told, in as many notes of 1,024 bytes as that takes', () => {
  const moves = Array.from({ length: 500 }, (_, index): NodeMove => {
    const node = `node-${String(index).padStart(4, '0')}.very-long-zone-name.example.com`;
    return { node, from: undefined, to: 'worker', changes: [] };
  });
  const events = moveEvents(moves).get('worker') ?? [];
  assert.ok(events.length > 10);
  assert.ok(events.every(event => Buffer.byteLength(event.note) <= 1024));
  const told = events.flatMap(event => event.note.replace(/^.*?: /, '').split(', '));
  assert.deepEqual(
    told,
    moves.map(move => move.node),
  );
});
