import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventEntry, timelinePrinter } from '../../../../../src/commands/shared/describe/print-timeline.ts';
import type { Style } from '../../../../../src/print/style.ts';
import { GKE } from '../../../../cloud-names.ts';
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

test('wraps a long list of nodes on a terminal, and changes no text', () => {
  const [event] = events;
  assert.ok(event);
  const printed = (note: string, terminalWidth?: number) => {
    const entry = eventEntry({ ...event, count: 1, note }, { pool: 'web' });
    return timelinePrinter('Events', { wide: false, headers: false, terminalWidth }, plain)([entry], NOW);
  };
  const joined = `18 nodes joined: ${GKE.join(', ')}`;
  for (const width of [80, 120]) {
    const lines = printed(joined, width).split('\n');
    assert.ok(
      lines.every(line => line.length <= width),
      lines.join('\n'),
    );
    assert.ok(lines.join(' ').replaceAll(/ +/g, ' ').endsWith(joined), lines.join('\n'));
  }
  for (const note of [joined, '2 nodes wait: see kubelet.log on the first, then on the second'])
    assert.ok(printed(note).endsWith(note));
});
