import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/nodepool/plan/plan.ts';
import { conditionEvents, MoveRecorder, moveEvents } from '../../../src/reconciler/events.ts';
import type { NodeMove } from '../../../src/reconciler/outcome.ts';
import { FakeClock } from '../controller/fake-clock.ts';
import { aPool } from '../nodepool/fixtures.ts';

const change = { kind: 'label', key: 'tier', action: 'add', to: 'gold', reason: 'spec' } as const;

function notes(moves: NodeMove[]) {
  return Object.fromEntries(
    [...moveEvents(moves)].map(([pool, events]) => [pool, events.map(({ reason, note }) => `${reason} ${note}`)]),
  );
}

test('reports joining, moving and leaving to both pools', () => {
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

test('groups nodes with the same changes in one Event, and sends none for record changes', () => {
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

test('an Event has the number of nodes, and as many names as fit in 1,024 bytes', () => {
  const moves = Array.from({ length: 5_000 }, (_, index): NodeMove => {
    const node = `node-${String(index).padStart(4, '0')}.very-long-zone-name.example.com`;
    return { node, from: undefined, to: 'worker', changes: [] };
  });
  const [event, ...others] = moveEvents(moves).get('worker') ?? [];
  const note = event?.note ?? '';
  assert.deepEqual(others, []);
  assert.match(note, /^5000 nodes joined: node-0000\.very-long-zone-name\.example\.com, node-0001\..*, and \d+ more$/);
  assert.ok(Buffer.byteLength(note) <= 1024 && Buffer.byteLength(note) > 950);
  const named = note.match(/node-\d/g)?.length ?? 0;
  assert.ok(note.endsWith(`and ${5_000 - named} more`));
});

test('changes of many kinds do not use up the event burst of a pool', () => {
  const moves = Array.from({ length: 100 }, (_, index): NodeMove => {
    const drift: Change = { ...change, action: 'change', from: `theirs-${index}`, reason: 'drift' };
    return { node: `n${index}`, from: 'worker', to: 'worker', changes: [drift] };
  });
  const reported = notes(moves).worker ?? [];
  assert.equal(reported.length, 6);
  assert.match(reported.at(-1) ?? '', /^NodesUpdated 95 nodes updated with other changes: n10, n11, /);
});

test('reports a replaced record with its problem', () => {
  const move = (node: string, invalidRecord: string): NodeMove => ({
    node,
    from: undefined,
    to: 'worker',
    changes: [],
    invalidRecord,
  });
  const moves = [
    move('a', 'larger than 163840 characters (175000)'),
    move('b', 'larger than 163840 characters (175001)'),
    move('c', 'not JSON'),
  ];
  const events = (moveEvents(moves).get('worker') ?? []).filter(({ reason }) => reason === 'RecordInvalid');
  assert.deepEqual(
    events.map(({ type, note }) => [type, note]),
    [
      [
        'Warning',
        'the annotation nodes.lailin.xyz/applied of 2 nodes was not a valid record (larger than 163840 characters) and was replaced; its restore values are lost, and its other keys stay on the node: a, b',
      ],
      [
        'Warning',
        'the annotation nodes.lailin.xyz/applied of 1 node was not a valid record (not JSON) and was replaced; its restore values are lost, and its other keys stay on the node: c',
      ],
    ],
  );
});

test('warns of contested keys when they begin or change, not for each node', () => {
  const statusWith = (message: string) => {
    const condition = { type: 'Contested', status: 'True', reason: 'RepeatedRepairs', message } as const;
    return { status: 200, nodeCount: 1, conditions: [{ ...condition, lastTransitionTime: '' }] };
  };
  const [one, two, other] = ['label a on 1 node (x)', 'label a on 2 nodes (x)', 'label b on 2 nodes (x)'].map(
    statusWith,
  );
  assert.ok(one && two && other);
  const sent = (before: typeof one | undefined, after: typeof one) =>
    conditionEvents(aPool({}, before === undefined ? {} : { status: before }), after).map(({ type, note }) => [
      type,
      note,
    ]);
  assert.deepEqual(sent(undefined, one), [['Warning', 'label a on 1 node (x)']]);
  assert.deepEqual(sent(one, two), []);
  assert.deepEqual(sent(two, other), [['Warning', 'label b on 2 nodes (x)']]);
});

const move = (node: string, from: string | undefined, to: string): NodeMove => ({ node, from, to, changes: [] });

function create() {
  const clock = new FakeClock();
  const reported: string[] = [];
  const gone = new Set<string>();
  const recorder = new MoveRecorder({
    clock,
    poolOf: name => (gone.has(name) ? undefined : aPool({}, { name })),
    record: ({ metadata: { name } }, { note }) => reported.push(`${name}: ${note}`),
  });
  return { clock, reported, recorder, gone };
}

test('reports the effects of many reconciles on one pool at once, then once a second', async () => {
  const { clock, reported, recorder } = create();
  for (let at = 10; at < 40; at++) {
    recorder.add([move(`n${at}`, 'big', `p${at}`)]);
    await clock.advance(50);
  }
  await clock.advance(5_000);
  const ofBig = reported.filter(note => note.startsWith('big: '));
  assert.deepEqual(
    ofBig.map(note => note.slice(0, 30)),
    ['big: 1 node left: n10', 'big: 19 nodes left: n11, n12, ', 'big: 10 nodes left: n30, n31, '],
  );
  assert.equal(reported.filter(note => /^p\d\d: 1 node joined: n\d\d$/.test(note)).length, 30);
  assert.equal(clock.pending, 0);
  recorder.add([move('late', undefined, 'big')]);
  assert.equal(reported.at(-1), 'big: 1 node joined: late');
});

test('flush() reports queued Events once', async () => {
  const { clock, reported, recorder } = create();
  recorder.add([move('a', undefined, 'p')]);
  recorder.add([move('b', undefined, 'p')]);
  recorder.add([move('b', 'p', 'p'), move('c', undefined, 'p')]);
  assert.deepEqual(reported, ['p: 1 node joined: a']);
  recorder.flush();
  assert.deepEqual(reported, ['p: 1 node joined: a', 'p: 2 nodes joined: b, c']);
  await clock.advance(5_000);
  assert.equal(reported.length, 2);
});

test('reports queued Events of a pool that is deleted meanwhile, but not of one deleted before', async () => {
  const { clock, reported, recorder, gone } = create();
  recorder.add([move('a', undefined, 'p')]);
  recorder.add([move('b', undefined, 'p')]);
  gone.add('p');
  recorder.add([move('c', 'p', 'q')]);
  await clock.advance(5_000);
  assert.deepEqual(reported, ['p: 1 node joined: a', 'q: 1 node joined: c', 'p: 1 node joined: b']);
  assert.equal(clock.pending, 0);
});
