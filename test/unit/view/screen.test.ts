/** The lists and the lines around them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodePool } from '../../../src/nodepool/types.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { EKS, GKE } from '../../cloud-names.ts';
import { demandOf } from '../commands/shared/top/top-cluster.ts';
import { Desk, fixture, node, pool, role } from './fixture.ts';

const TAINT = { key: 'dedicated', value: 'payments', effect: 'NoSchedule' } as const;

test('shows pools', () => {
  const [title, totals, ...rest] = new Desk(fixture(), { columns: 80, rows: 12 }).text().split('\n');
  assert.equal(title, `nodepool · demo${' '.repeat(61)}live`);
  assert.equal(totals, '██████▒▒░░  6 nodes  1 not ready  1 cordoned  1 in no pool  cpu 80  memory 320Gi');
  assert.equal(
    rest.join('\n'),
    `Pools (3)
 NAME↑   STATUS    NODES        READY  CORDONED  DUE  CPU  MEMORY  PODS  GPUS
>gpu     Ready     █████▒▒▒▒▒     2/2         1    0   64   256Gi   220    16
 spare   Conflict                 0/0         0    0    0       0     0     0
 worker  Pending   ███████░░░     2/3         0    3   12    48Gi   330     0
 <none>            ██████████     1/1         0    0    4    16Gi   110     0



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
  assert.match(body('j', 'enter')[2] ?? '', /^>gpu-1 +Ready +owned by gpu/);
});

test('shows unassigned nodes', () => {
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

test('shows which rows of a long list are visible', () => {
  const nodes = Array.from({ length: 60 }, (_, i) => node(`n${String(i).padStart(2, '0')}`, { labels: role('big') }));
  const desk = new Desk({ ...fixture(), clusterState: new ClusterState([pool('big', 200)], nodes, []) });
  assert.match(desk.type('enter').text(), /^Pools > big > Nodes \(1-18 of 60\)$/m);
  assert.match(desk.type('G').text(), /Nodes \(43-60 of 60\)$/m);
  assert.match(desk.type('/', 'n', 'enter').text(), /Nodes \(43-60 of 60\) {2}\/n$/m);
  assert.match(desk.type('/', '!', '0', 'home').text(), /Nodes \(\d+-\d+ of \d+, 60 in all\)|Nodes \(\d+ of 60\)/);
});

test('shows requested and used resources after t, or why they are missing', () => {
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
  assert.match(gpu, / █▎░░░ {2}25% +█▎░░░ {2}25% +█▎░░░ {2}25% +█▎░░░ {2}25% +█▉░░░ {2}37%/);
  assert.match(desk.type('enter').text(), /^>gpu-1 .*█/m);
  desk.usage = { kind: 'failed', message: 'cannot list pods' };
  assert.match(desk.text(), /^usage: cannot list pods$/m);
  assert.match(desk.type('t').text(), /MEMORY/);
});

test('shows the problem of the selected pool below the list', () => {
  const desk = new Desk();
  assert.doesNotMatch(desk.text(), /NodeConflict/);
  assert.match(desk.type('j').text(), /^spare: NodeConflict: node gpu-1 belongs to pool gpu$/m);
});

test('counts cordoned nodes, Ready or not, and shows Ready nodes in the bar', () => {
  const nodes = [node('a', { labels: role('p'), ready: false, unschedulable: true }), node('b', { labels: role('p') })];
  const desk = new Desk(
    { ...fixture(), clusterState: new ClusterState([pool('p', 200)], nodes, []) },
    { columns: 120, rows: 12 },
  );
  assert.match(desk.text(), /2 nodes {2}1 not ready {2}1 cordoned /);
  assert.match(desk.text(), /^>p +Ready +█{10}░{10} +1\/2 +1 /m);
});

test('counts drifted nodes in a column that appears only with drift', () => {
  const nodes = [node('a', { labels: role('p') }), node('b', { labels: role('p') })];
  const shown = (spec: NodePool['spec']) =>
    new Desk({ ...fixture(), clusterState: new ClusterState([pool('p', 200, { spec })], nodes, []) });
  assert.match(
    shown({ labels: { tier: 'gold' } }).text(),
    /READY +CORDONED +DUE +CPU[\s\S]*^>p +Pending .* 2\/2 +0 +2 +8 /m,
  );
  assert.doesNotMatch(shown({}).text(), /DUE|DRIFT/);
});

test('shows a lost connection with the age of the data and the reason', () => {
  const desk = new Desk();
  const since = Date.parse('2026-11-21T11:59:48Z');
  desk.fixture.outages.push({ resource: 'events', message: 'no permission', since: undefined });
  assert.match(desk.lines()[0] ?? '', / live$/);
  assert.match(desk.type('e').text(), /^events: no permission$/m);
  desk.fixture.outages.unshift({ resource: 'nodes', message: 'connect ECONNREFUSED', since });
  assert.match(desk.lines()[0] ?? '', / data 12s old: nodes: connect ECONNREFUSED$/);
  const message = 'cannot reach the server https://127.0.0.1:6443: connection refused';
  desk.fixture.outages[0] = { resource: 'nodes', message, since };
  assert.match(desk.lines()[0] ?? '', / data 12s old: nodes: connection refused$/);
});

for (const [cloud, names] of Object.entries({ EKS, GKE })) {
  test(`18 names of ${cloud} differ on every screen, even beside a cordoned node`, () => {
    const nodes = names.map((name, i) =>
      node(name, { labels: role('backend'), unschedulable: i === 3, ready: i !== 4, taints: [TAINT] }),
    );
    const clusterState = new ClusterState([pool('backend', 200)], nodes, []);
    for (const columns of [60, 80, 120, 200]) {
      for (const keys of [['enter'], ['enter', 't'], [':', ...'nodes', 'enter']]) {
        const desk = new Desk({ ...fixture(), clusterState }, { columns, rows: 30 }).type(...keys);
        const shown = desk
          .lines()
          .filter(line => /^[> ](ip-|gke-)/.test(line))
          .map(line => line.slice(1).split(' ')[0]);
        assert.equal(shown.length, 18, `${columns} ${keys}\n${desk.text()}`);
        assert.equal(new Set(shown).size, 18, `${columns} ${keys}\n${desk.text()}`);
        if (columns >= 80) assert.match(desk.text(), / Ready,SchedulingDisabled /);
      }
    }
    const question = new Desk({ ...fixture(), clusterState }).type('enter', 'c').text();
    assert.match(question, new RegExp(`^Cordon node ${names[0]?.replaceAll('.', '\\.')}\\?`, 'm'));
  });
}

const MAINTENANCE = JSON.stringify({
  ...{ owner: 'admin-of-the-platform', since: '2026-11-21T11:00:00Z' },
  ...{ until: '2026-11-21T14:00:00Z', reason: 'disk swap', uid: `uid-${EKS[1]}` },
});

test('cuts names and the owner of a maintenance before columns with facts go, and keeps the sorted column', () => {
  const nodes = EKS.map((name, i) =>
    node(name, { labels: role('p'), ...(i === 1 ? { unschedulable: true, maintenance: MAINTENANCE } : {}) }),
  );
  const desk = new Desk({ ...fixture(), clusterState: new ClusterState([pool('p', 200)], nodes, []) }).type('enter');
  assert.match(desk.text(), /^ NAME↑ +STATUS +MAINTENANCE +CPU +MEMORY/m);
  assert.match(desk.text(), /^ ip-10-0-1-11… +Ready,SchedulingDisabled +120m-left:disk_/m);
  assert.match(desk.type('T').text(), /^ NAME +STATUS +STATE↑ +MAINTENANCE/m);
});

test('shows taints, zones and types of pools from 110 columns on, and cuts them', () => {
  const nodes = EKS.map((name, i) => {
    const [zone, type] = [`europe-west4-${'abc'[i % 3]}`, `n2-standard-${i}`];
    const labels = { 'topology.kubernetes.io/zone': zone, 'node.kubernetes.io/instance-type': type };
    return node(name, { labels: { ...role('p'), ...labels }, unschedulable: i === 1 });
  });
  const pools = [pool('p', 200, { spec: { taints: [{ ...TAINT, value: 'payments-team-1' }] } }), pool('web', 200)];
  const clusterState = new ClusterState(pools, nodes, []);
  for (const columns of [110, 120, 160, 200]) {
    const shown = new Desk({ ...fixture(), clusterState }, { columns, rows: 20 }).text();
    assert.match(shown, /STATUS +TAINTS +ZONES +TYPES +NODES /, shown);
  }
});
