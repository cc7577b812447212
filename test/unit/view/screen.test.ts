import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { NodePool } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/cluster-state.ts';
import { makeStyle } from '../../../src/render/style.ts';
import { widthOf } from '../../../src/render/width.ts';
import { withMessage, withText } from '../../../src/view/state.ts';
import { demandOf } from '../operations/top-cluster.ts';
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

test('shows pools', () => {
  const [title, totals, ...rest] = new Desk(fixture(), { columns: 80, rows: 12 }).text().split('\n');
  assert.equal(title, `nodepool · demo${' '.repeat(61)}live`);
  assert.equal(totals, '██████▒▒░░  6 nodes  1 not ready  1 cordoned  1 in no pool  cpu 80  memory 320Gi');
  assert.equal(
    rest.join('\n'),
    `Pools (3)
 NAME↑   STATUS        NODES        READY  CORDONED  DRIFT  CPU  MEMORY  GPUS
>gpu     200           █████▒▒▒▒▒     2/2         1      0   64   256Gi    16
 spare   409,Conflict                 0/0         0      0    0       0     0
 worker  200           ███████░░░     2/3         0      3   12    48Gi     0
 <none>                ██████████     1/1         0      0    4    16Gi     0



? help  q quit  enter nodes  d describe  t usage  / filter  : jump  e events
`,
  );
});

test('shows members, due changes, and matching nodes of other pools', () => {
  const body = (...keys: string[]) =>
    new Desk()
      .type(...keys)
      .lines()
      .slice(2, 7)
      .map(line => line.trimEnd());
  assert.deepEqual(body('j', 'j', 'enter'), [
    'Pools > worker > Nodes (3)',
    ' NAME↑     STATUS    STATE          CPU  MEMORY  PODS  AGE',
    '>worker-1  Ready     1 change due     4    16Gi   110   3d',
    ' worker-2  NotReady  1 change due     4    16Gi   110   3d',
    ' worker-3  Ready     1 change due     4    16Gi   110   3d',
  ]);
  assert.match(body('j', 'enter')[2] ?? '', /^>gpu-1 +Ready +held by gpu/);
});

test('shows the nodes of no pool', () => {
  const lines = new Desk().type('G', 'enter').lines();
  assert.deepEqual(
    lines.slice(2, 5).map(line => line.trimEnd()),
    [
      'Pools > <none> > Nodes (1)',
      ' NAME↑  STATUS  STATE   CPU  MEMORY  PODS  AGE',
      '>other  Ready             4    16Gi   110   3d',
    ],
  );
  assert.match(new Desk().type('G', 'd').text(), /^<none> is not a pool/m);
  assert.deepEqual(new Desk().type('G', 'D').effects, []);
});

test('shows which rows of a long list are on the screen', () => {
  const nodes = Array.from({ length: 60 }, (_, i) => node(`n${String(i).padStart(2, '0')}`, { labels: role('big') }));
  const desk = new Desk({ ...fixture(), clusterState: new ClusterState([pool('big', 200)], nodes, []) });
  assert.match(desk.type('enter').text(), /^Pools > big > Nodes \(1-18 of 60\)$/m);
  assert.match(desk.type('G').text(), /Nodes \(43-60 of 60\)$/m);
  assert.match(desk.type('/', 'n', 'enter').text(), /Nodes \(43-60 of 60\) {2}\/n$/m);
  assert.match(desk.type('/', '!', '0', 'home').text(), /Nodes \(\d+-\d+ of \d+, 60 in all\)|Nodes \(\d+ of 60\)/);
});

test('shows requested and used resources after t, and why they are missing', () => {
  const desk = new Desk(fixture(), { columns: 100, rows: 12 }).type('t');
  assert.match(desk.text(), /^Reading pods …$/m);
  assert.doesNotMatch(desk.text(), /MEMORY/);
  const { requests, limits } = demandOf(2, { cpu: '16', memory: '64Gi', 'nvidia.com/gpu': '6' });
  const byNode = new Map([['gpu-1', { pods: 2, requests, limits }]]);
  const used = { kind: 'served' as const, byNode: new Map([['gpu-1', { cpu: '8', memory: '32Gi' }]]) };
  desk.usage = { kind: 'read', demand: { byNode, problems: [] }, used };
  const [header = '', gpu = ''] = desk.lines().slice(3, 5);
  assert.deepEqual(header.trim().split(/ {2,}/).slice(-5), [
    'READY CPU REQ',
    'CPU USED',
    'MEM REQ',
    'MEM USED',
    'GPU REQ',
  ]);
  assert.match(gpu, / █▎░░░ {2}25% +▋░░░░ {2}12% +█▎░░░ {2}25% +▋░░░░ {2}12% +█▉░░░ {2}37%/);
  assert.match(desk.type('enter').text(), /^>gpu-1 .*█/m);
  desk.usage = { kind: 'failed', message: 'cannot list pods' };
  assert.match(desk.text(), /^usage: cannot list pods$/m);
  assert.match(desk.type('t').text(), /MEMORY/);
});

test('shows the text of describe and YAML once it is read', () => {
  const desk = new Desk().type('d');
  const place = { kind: 'describe', pool: 'gpu', subject: undefined } as const;
  assert.deepEqual(desk.effects, [{ kind: 'read', place }]);
  assert.match(desk.text(), /^Pools > gpu > Describe\nReading …$/m);
  desk.state = withText(desk.state, place, `Name:  gpu\nLabels:  ${'x'.repeat(100)}`);
  assert.match(desk.text(), /^Name: {2}gpu\nLabels:\nx{80}\nx{20}$/m);
  const yaml = desk.type('y');
  assert.equal(yaml.effects.length, 2);
  assert.match(yaml.text(), /^Pools > gpu > YAML$/m);
  assert.match(yaml.type('q').text(), /^Name: {2}gpu$/m);
  const ofNode = new Desk().type('enter', 'y');
  assert.deepEqual(ofNode.effects, [{ kind: 'read', place: { kind: 'yaml', pool: 'gpu', subject: 'gpu-1' } }]);
});

test('shows a node', () => {
  const lines = new Desk().type('j', 'j', 'enter', 'enter').lines().slice(2, 15);
  assert.deepEqual(
    lines.map(line => line.trimEnd()),
    [
      'Pools > worker > worker-1',
      'Name:         worker-1',
      'Pool:         worker',
      'Status:       Ready',
      'Created:      2026-11-18T12:00:00Z (3d ago)',
      'Changes due:  + label tier=gold',
      'Taints:       dedicated=a:NoSchedule',
      'Allocatable:  cpu: 4',
      '              memory: 16Gi',
      '              pods: 110',
      'Labels:       node-role.kubernetes.io/worker=',
      '',
      '',
    ],
  );
});

test('cuts no title of the details, and no line of the help', () => {
  const details = new Desk().type('enter', 'enter');
  assert.match(details.text(), /^Also matched by: {2}spare$/m);
  details.size = { columns: 40, rows: 40 };
  assert.match(details.text(), /^Also matched by:\n {13}spare$/m);
  const help = new Desk(fixture(), { columns: 30, rows: 60 }).type('?');
  assert.doesNotMatch(help.text(), /…/);
});

test('events of all pools keep the pool at 60 columns', () => {
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

test('shows the problem of the selected pool below the list', () => {
  const desk = new Desk();
  assert.doesNotMatch(desk.text(), /NodeConflict/);
  assert.match(desk.type('j').text(), /^spare: NodeConflict: node gpu-1 belongs to pool gpu$/m);
});

test('shows a message that is too long for its line over the last lines', () => {
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

test('counts cordoned nodes, Ready or not; the bar shows Ready ones', () => {
  const nodes = [node('a', { labels: role('p'), ready: false, unschedulable: true }), node('b', { labels: role('p') })];
  const desk = new Desk(
    { ...fixture(), clusterState: new ClusterState([pool('p', 200)], nodes, []) },
    { columns: 120, rows: 12 },
  );
  assert.match(desk.text(), /2 nodes {2}1 not ready {2}1 cordoned /);
  assert.match(desk.text(), /^>p +200 +█{10}░{10} +1\/2 +1 /m);
});

test('counts nodes that differ from their pool, in a column that is there while some do', () => {
  const nodes = [node('a', { labels: role('p') }), node('b', { labels: role('p') })];
  const shown = (spec: NodePool['spec']) =>
    new Desk({ ...fixture(), clusterState: new ClusterState([pool('p', 200, { spec })], nodes, []) });
  assert.match(
    shown({ labels: { tier: 'gold' } }).text(),
    /READY +CORDONED +DRIFT +CPU[\s\S]*^>p +200 .* 2\/2 +0 +2 +8 /m,
  );
  assert.doesNotMatch(shown({}).text(), /DRIFT/);
});

test('shows a lost connection with the age of the data and the reason; events show their own', () => {
  const desk = new Desk();
  const since = Date.parse('2026-11-21T11:59:48Z');
  desk.fixture.outages.push({ resource: 'events', message: 'no permission', since: undefined });
  assert.match(desk.lines()[0] ?? '', / live$/);
  assert.match(desk.type('e').text(), /^events: no permission$/m);
  desk.fixture.outages.unshift({ resource: 'nodes', message: 'connect ECONNREFUSED', since });
  assert.match(desk.lines()[0] ?? '', / data 12s old: nodes: connect ECONNREFUSED$/);
});

test("fills exactly the terminal's lines, and no line is too wide", () => {
  const shown = fixture();
  for (const colored of [false, true]) {
    for (const keys of WAYS) {
      for (const columns of [1, 2, 5, 10, 17, 30, 40, 60, 79, 80, 81, 120, 250]) {
        for (const rows of [1, 2, 3, 5, 9, 10, 15, 24, 60]) {
          const desk = new Desk(shown, { columns, rows }).type(...keys);
          desk.style = makeStyle(colored);
          const lines = desk.lines().map(stripVTControlCharacters);
          const what = `${keys.join(' ')} at ${columns}x${rows}`;
          assert.equal(lines.length, rows, what);
          for (const line of lines) assert.ok(widthOf(line) <= columns, `${what}: ${line}`);
        }
      }
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

test('cuts a message of a megabyte in time', () => {
  const event = fixture().events[0]?.[1];
  assert.ok(event);
  const note = '節 '.repeat(500_000);
  const events = [['e', { ...event, note }] as const];
  const outages = [{ resource: 'nodes', message: note, since: undefined }];
  const desk = new Desk({ ...fixture(), events, outages });
  const start = performance.now();
  assert.match(desk.type('e', 'enter').text(), /Message: +節 /);
  assert.match(desk.type('G').text(), /節…$/m);
  assert.ok(performance.now() - start < 1_000);
});

test('shows the most important lines on a small screen', () => {
  const lines = new Desk(fixture(), { columns: 30, rows: 6 }).lines().map(line => line.trimEnd());
  assert.deepEqual(lines.slice(0, 4), [
    ' NAME↑   STATUS         READY',
    '>gpu     200              2/2',
    ' spare   409,Conflict     0/0',
    ' worker  200              2/3',
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

test('prints no escapes without colour; inverts the selected row with colour', () => {
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
  const start = performance.now();
  desk.type('j').lines();
  // About 30 ms; a machine may be busy.
  assert.ok(performance.now() - start < 1_000);
});
