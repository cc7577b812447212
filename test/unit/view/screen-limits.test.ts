/** Any size of terminal, any text, many nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { makeStyle } from '../../../src/print/style.ts';
import { widthOf } from '../../../src/print/width.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { withMessage } from '../../../src/view/state.ts';
import { cpuMs } from '../cpu-time.ts';
import { Desk, type Fixture, fixture, node, pool, role } from './fixture.ts';

/** Screens and modes, by the keys that open them. */
const WAYS: readonly string[][] = [
  [],
  ['t'],
  [':', 'g'],
  ['G', 'enter'],
  ['d'],
  ['j'],
  ['?'],
  ['/', 'w'],
  ['e'],
  ['E', 'enter'],
  ['j', 'j', 'enter'],
  ['j', 'j', 'enter', 'c'],
  ['j', 'j', 'enter', 'enter'],
];

test('keeps the pool column of events at 60 columns', () => {
  const [[, event] = []] = fixture().events;
  assert.ok(event);
  const desk = new Desk({
    ...fixture(),
    events: [['e', { ...event, pool: 'gpu-a100', reason: 'NodesNotReconciled' }]],
  });
  desk.size = { columns: 60, rows: 15 };
  assert.match(
    desk.type('E').text(),
    /^ LAST SEEN↑ REASON +POOL +MESSAGE\n>10m +NodesNotReconciled +gpu-a100 +2 nodes join.*…$/m,
  );
});

test('shows a long message over the last lines of the screen', () => {
  const text = `error: unable to cordon node "ip-10-0-12-34.eu-central-1.compute.internal": ${'no permission '.repeat(6)}end`;
  const desk = new Desk(fixture(), { columns: 40, rows: 12 });
  desk.state = withMessage(desk.state, text, true);
  const lines = desk.text().split('\n');
  const rule = lines.indexOf('─'.repeat(40));
  assert.ok(rule > 3);
  assert.equal(
    lines
      .slice(rule + 1)
      .join('')
      .replaceAll(' ', ''),
    text.replaceAll(' ', ''),
  );
  assert.doesNotMatch(desk.type('j').text(), /unable/);
  desk.state = withMessage(desk.state, 'short', true);
  assert.match(desk.text(), /^short\n\? help/m);
});

/** Every width at two heights, and every height at three widths: all pairs would take seconds. */
const SIZES: readonly (readonly [columns: number, rows: number])[] = [
  ...[1, 2, 5, 10, 17, 30, 40, 60, 79, 80, 81, 120, 250].flatMap(columns =>
    [5, 24].map(rows => [columns, rows] as const),
  ),
  ...[1, 2, 3, 5, 9, 10, 15, 24, 60].flatMap(rows => [1, 40, 80].map(columns => [columns, rows] as const)),
];

test('fills exactly the lines of the terminal, and exceeds no width', () => {
  const shown = fixture();
  for (const keys of WAYS) {
    for (const [at, [columns, rows]] of SIZES.entries()) {
      const desk = new Desk(shown, { columns, rows }).type(...keys);
      desk.style = makeStyle(at % 2 === 1);
      const lines = desk.lines().map(stripVTControlCharacters);
      const what = `${keys.join(' ')} at ${columns}x${rows}`;
      assert.equal(lines.length, rows, what);
      for (const line of lines) assert.ok(widthOf(line) <= columns, `${what}: ${line}`);
    }
  }
});

test('pads the selected line with wide characters to the screen width', () => {
  const event = fixture().events[0]?.[1];
  assert.ok(event);
  const note = '节点池已更新 👩‍👩‍👧 '.repeat(8);
  for (const columns of [30, 79, 80, 200]) {
    const small: Fixture = { ...fixture(), events: [['e', { ...event, note }]] };
    const desk = new Desk(small, { columns, rows: 12 }).type('e');
    desk.style = makeStyle(true);
    const line = desk.lines().find(text => text.startsWith('\u001b[7m')) ?? '';
    assert.equal(widthOf(stripVTControlCharacters(line)), columns);
  }
});

test('cuts a message of a megabyte quickly', () => {
  const event = fixture().events[0]?.[1];
  assert.ok(event);
  const note = '節 '.repeat(500_000);
  const events = [['e', { ...event, note }] as const];
  const outages = [{ resource: 'nodes', message: note, since: undefined }];
  const desk = new Desk({ ...fixture(), events, outages });
  const start = cpuMs();
  assert.match(desk.type('e', 'enter').text(), /Message: +節 /);
  assert.match(desk.type('G').text(), /節…$/m);
  assert.ok(cpuMs() - start < 1_000);
});

test('shows the most important lines on a small screen', () => {
  const lines = new Desk(fixture(), { columns: 30, rows: 6 }).lines().map(line => line.trimEnd());
  assert.deepEqual(lines.slice(0, 4), [
    ' NAME↑   STATUS     READY  DUE',
    '>gpu     Ready        2/2    0',
    ' spare   Conflict     0/0    0',
    ' worker  Pending      2/3    3',
  ]);
  const narrow = new Desk(fixture(), { columns: 20, rows: 4 }).type('enter').lines();
  assert.deepEqual(narrow.slice(0, 3), [' NAME↑  STATUS      ', '>gpu-1  Ready       ', ' gpu-2  Ready,Sched…']);
  assert.match(
    new Desk(fixture(), { columns: 20, rows: 6 }).type('j', 'j', 'enter', 'c').text(),
    /Cordon node\nworker-1\?/,
  );
  assert.match(
    new Desk(fixture(), { columns: 60, rows: 2 }).type('j', 'j', 'enter', 'c').text(),
    /^Cordon node worker-1\?/,
  );
});

test('prints no escapes without colour, and inverts the selected row with colour', () => {
  for (const keys of WAYS) assert.doesNotMatch(new Desk().type(...keys).text(), /\u001b/);
  const desk = new Desk();
  desk.style = makeStyle(true);
  assert.ok(desk.lines().some(line => line.startsWith('\u001b[7m') && line.includes('>gpu')));
  assert.match(desk.text(), /\u001b\[32m█+\u001b\[39m/);
});

test('escapes hostile text of the cluster', () => {
  const evil = '\u001b[31m\u0007\u202e\u009b2J\nx\r';
  const nodes = [
    node('bad', {
      labels: { ...role('p'), [`k${evil}`]: evil },
      taints: [{ key: evil, value: evil, effect: 'NoSchedule' }],
      allocatable: { cpu: evil, memory: evil, [evil]: evil },
    }),
  ];
  const status = {
    status: 500,
    nodeCount: 1,
    conditions: [
      { type: 'Applied' as const, status: 'False' as const, reason: evil, message: evil, lastTransitionTime: evil },
    ],
  };
  const event = fixture().events[0]?.[1];
  assert.ok(event);
  const events = [
    ['e', { ...event, pool: 'p', poolUid: '', note: evil, reason: evil, type: evil, reporter: evil }] as const,
  ];
  const outages = [{ resource: 'nodes', message: evil, since: undefined }];
  const desk = new Desk({ clusterState: new ClusterState([pool('p', 500, { status })], nodes, []), events, outages });
  for (const keys of [[], ['enter'], ['enter'], ['escape', 'escape', 'e'], ['enter'], ['escape', '/'], [...evil]]) {
    const text = desk
      .type(...keys)
      .lines()
      .join('');
    assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f\u202e]/, keys.join(' '));
  }
});

test('draws thousands of nodes within the time of a key press', () => {
  const nodes = Array.from({ length: 5_000 }, (_, i) => node(`n${i}`, { labels: role(`p${i % 5}`) }));
  const pools = Array.from({ length: 5 }, (_, i) => pool(`p${i}`, 200));
  const desk = new Desk({ ...fixture(), clusterState: new ClusterState(pools, nodes, []) });
  desk.type('enter', 'C').lines();
  const start = cpuMs();
  desk.type('j').lines();
  // About 30 ms; a machine may be busy.
  assert.ok(cpuMs() - start < 1_000);
});
