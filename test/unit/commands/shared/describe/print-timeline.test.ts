import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventEntry, timelinePrinter } from '../../../../../src/commands/shared/describe/print-timeline.ts';
import type { Style } from '../../../../../src/print/style.ts';
import { EKS, GKE } from '../../../../cloud-names.ts';
import { colored, NOW, plain } from '../../../print/fixtures.ts';

const events = [
  {
    pool: 'worker',
    type: 'Normal',
    reason: 'NodeJoined',
    note: '2 nodes joined: node-1, node-2',
    lastSeen: '2026-11-21T08:55:00Z',
    firstSeen: '2026-11-21T07:00:00Z',
    count: 3,
    reporter: 'nodepool-controller',
  },
  {
    pool: 'gpu',
    type: 'Warning',
    reason: 'NodeConflict',
    note: 'first line\nsecond \x1b[2J line\n',
    lastSeen: '2026-11-21T08:59:55Z',
    firstSeen: '2026-11-21T08:59:55Z',
    count: 1,
    reporter: '',
  },
];

function eventsPrinter(headers: boolean, style: Style, terminalWidth?: number) {
  const render = timelinePrinter('Events', { wide: false, headers, terminalWidth }, style);
  return (some: typeof events, now: Date) =>
    render(
      some.map(event => eventEntry(event, { pool: event.pool })),
      now,
    );
}

test('prints the table in the given order', () => {
  assert.equal(
    eventsPrinter(true, plain)(events, NOW),
    `
TIME                TYPE      WHAT           WHO                   POOL     DETAIL
5m (x3 over 120m)   Normal    NodeJoined     nodepool-controller   worker   2 nodes joined: node-1, node-2
5s                  Warning   NodeConflict   <unknown>             gpu      first line\\nsecond \\u001b[2J line`.slice(
      1,
    ),
  );
});

test('wraps messages on a terminal', () => {
  const print = eventsPrinter(true, plain, 80);
  assert.equal(
    print(events, NOW),
    `
TIME      TYPE      WHAT           WHO                   POOL     DETAIL
5m (x3)   Normal    NodeJoined     nodepool-controller   worker
  2 nodes joined: node-1, node-2
5s        Warning   NodeConflict   <unknown>             gpu
  first line\\nsecond \\u001b[2J line`.slice(1),
  );
});

test('appends rows to a table', () => {
  const render = eventsPrinter(true, plain);
  const [, joined] = render(events, NOW).split('\n');
  assert.equal(render(events.slice(0, 1), NOW), joined);
});

test('colours warnings yellow, and omits headers', () => {
  const text = eventsPrinter(false, colored)(events, NOW);
  assert.deepEqual(text.match(/\x1b\[33m\w+/g), ['\x1b[33mWarning']);
  assert.doesNotMatch(text, /TIME/);
});

test('cuts long text of others', () => {
  const long = 'x'.repeat(1_000_000);
  const [event] = events;
  assert.ok(event);
  const print = eventsPrinter(false, plain);
  const text = print([{ ...event, type: long, reason: long, note: long, pool: long }], NOW);
  assert.ok(text.length < 2_000, `${text.length}`);
  assert.ok(text.endsWith('x…'));
});

test('shortens a long list of nodes to three lines on a terminal, and one in a pipe', () => {
  const [event] = events;
  assert.ok(event);
  const note = (names: readonly string[], more = '') => ({
    ...event,
    count: 1,
    note: `18 nodes joined: ${names.join(', ')}${more}`,
  });
  const printed = (some: typeof event, terminalWidth?: number, wide = false) =>
    timelinePrinter('Events', { wide, headers: false, terminalWidth }, plain)([eventEntry(some, { pool: 'web' })], NOW);
  const short = /18 nodes joined: ip-10-0-1-10…, ip-10-0-1-11…, ip-10-0-1-12… and 15 more$/;
  assert.match(printed(note(EKS)), short);
  assert.match(printed(note(EKS), 80), short);
  // As the recorder cuts what an Event has no room for.
  assert.match(printed(note(EKS.slice(0, 12), ', and 6 more')), short);
  assert.ok(printed(note(EKS), undefined, true).endsWith(EKS.join(', ')));
  for (const width of [80, 120]) {
    const lines = printed(note(GKE), width).split('\n');
    assert.ok(lines.length <= 3 && lines.every(line => line.length <= width), lines.join('\n'));
    assert.ok(
      lines.some(line => / and 1[567] more$/.test(line)),
      lines.join('\n'),
    );
  }
  const others = { ...event, count: 1, note: 'Ready=True: on 3 nodes: a, b' };
  assert.ok(printed(others).endsWith(others.note));
});
